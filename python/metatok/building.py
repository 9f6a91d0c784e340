"""Building prompts: one, many, batches, streams, tables and requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from metatok import _metatok
from metatok._columns import columns_of, conversations, readable, with_column
from metatok._limits import budget as limits_of
from metatok._limits import whole
from metatok._several import several
from metatok.batch import Batch
from metatok.prompt import Prompt
from metatok.stop import Stop
from metatok.tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from metatok._keywords import BatchOptions, ContextLimits, Limits

__all__ = ["Building"]


class Building:
    """What a :class:`metatok.PromptBuilder` builds, and what it builds it with."""

    __slots__ = ("_core",)
    _core: _metatok.Builder

    def build(self, conversation: object, **budget: Unpack[Limits]) -> Prompt:
        """Builds one prompt.

        Args:
            conversation: As described for the class.
            budget: ``max_seq_len`` (the model's context in tokens), ``max_out_len`` (of these for the answer) and
                ``truncation`` (what is dropped if it is too long: ``"refuse"``, ``"left"``, ``"middle"``,
                ``"oldest-turns"``, ...).

        Raises:
            InputError: names the message that the template has no place for.
            TypeError: for what is not a conversation.

        Warns:
            MetatokWarning: of what the prompt leaves out, such as tools that the chat template does not read; once for
                each kind.
        """
        ids, known = self._core.build(conversation, limits_of(budget))
        return Prompt(ids, self, conversation, known)

    def build_all(self, conversations: Iterable[object], *, threads: int | None = None, **budget: Unpack[Limits]) -> list[Prompt]:
        """Builds a prompt of each conversation, on all cores, in order.

        Args:
            conversations: Any iterable.
            threads: How many threads; by default and at most one per core.
            budget: As for :meth:`build`.

        Raises:
            InputError: of the first conversation that fails; ``error.place["conversation"]`` is its number.
            TypeError: for what is not a conversation, with its number.

        >>> import metatok
        >>> builder = metatok.PromptBuilder("demo")
        >>> [len(prompt) for prompt in builder.build_all([[{"role": "user", "content": "Hi!"}]] * 3)]
        [14, 14, 14]
        """
        said = several(conversations)
        said = said if isinstance(said, (list, tuple)) else list(said)
        built, known = self._core.build_all(said, threads, limits_of(budget))
        return [Prompt(ids, self, of, more) for ids, of, more in zip(built, said, known or repeat(None))]

    def build_batch(
        self,
        conversations: Iterable[object],
        *,
        padding_side: str = "left",
        pad_to_multiple_of: SupportsIndex | None = None,
        return_tensors: str = "np",
        dtype: Any = "int64",
        threads: int | None = None,
        _first: int = 0,
        **budget: Unpack[Limits],
    ) -> Batch:
        """Builds prompts on all cores and puts them side by side, as ``model.generate(**batch)`` takes them.

        With ``mode="ppl"``, the batch also has ``labels``: the ids that are scored, and -100 for all others. Of a prompt with
        a completion that is the completion; otherwise it is everything.

        Args:
            conversations: Any iterable.
            padding_side: ``"left"``, so that all prompts end where the model goes on, or ``"right"``.
            pad_to_multiple_of: Rows are as long as the longest prompt, rounded up to a multiple of this, if given.
            return_tensors: ``"np"`` for arrays, ``"pt"`` for tensors of torch, which share the arrays' memory.
            dtype: ``"int64"`` or ``"uint32"``, or these types of NumPy.
            threads: As for :meth:`build_all`.
            budget: As for :meth:`build`.

        Raises:
            InputError: as for :meth:`build_all`.
            UsageError: if the tokenizer has no padding token.
        """
        if return_tensors not in ("np", "pt"):
            raise ValueError(f'return_tensors must be "np" or "pt", not {return_tensors!r}')
        if not isinstance(dtype, str):
            dtype = np.dtype(dtype).name
        multiple = 1 if pad_to_multiple_of is None else whole("pad_to_multiple_of", pad_to_multiple_of, 1)
        ids, mask, labels = self._core.build_padded(
            several(conversations), padding_side, multiple, dtype, threads, limits_of(budget), _first
        )
        batch = Batch(input_ids=ids, attention_mask=mask)
        if labels is not None:
            batch["labels"] = labels
        if return_tensors == "np":
            return batch
        import torch

        return Batch({name: torch.from_numpy(array) for name, array in batch.items()})

    def iter_batches(self, conversations: Iterable[object], batch_size: int, **options: Unpack[BatchOptions]) -> Iterator[Batch]:
        """Batches of an iterable of any length, one after the other; only one is in memory.

        Args:
            conversations: Any iterable.
            batch_size: How many prompts a batch has; the last may have fewer.
            options: As for :meth:`build_batch`.

        >>> import metatok
        >>> chats = ([{"role": "user", "content": f"{i}+1=?"}] for i in range(5))
        >>> [batch.input_ids.shape[0] for batch in metatok.PromptBuilder("demo").iter_batches(chats, 2)]
        [2, 2, 1]
        """
        batch_size = whole("batch_size", batch_size, 1)
        return self._batches(iter(several(conversations)), batch_size, options)

    def _batches(self, rest: Iterator[object], batch_size: int, options: BatchOptions) -> Iterator[Batch]:
        built = 0
        while chunk := list(islice(rest, batch_size)):
            yield self.build_batch(chunk, _first=built, **options)
            built += len(chunk)

    def map(self, column: str = "messages", **budget: Unpack[Limits]) -> Callable[..., Any]:
        """A function for ``datasets.Dataset.map(..., batched=True)``, which adds ``input_ids``. It can be pickled.

        Of a batch as a dict of columns it gives a dict with this column: lists in a dict of Python's own, otherwise arrays. Of
        a table of pyarrow, polars or pandas, which the dataset's format may be, it gives the table with one more column. With
        ``input_columns``, only ``column`` can be given.

        >>> import metatok
        >>> add_ids = metatok.PromptBuilder("demo").map()
        >>> len(add_ids({"messages": [[{"role": "user", "content": "Hi!"}]]})["input_ids"][0])
        14
        """
        return _Map(self, column, limits_of(budget))

    def build_arrow(
        self,
        table: Any,
        column: str = "messages",
        *,
        id_column: str | None = None,
        ids_column: str = "input_ids",
        error_column: str | None = None,
        keep: str | Sequence[str] = (),
        first_row: int = 0,
        max_out_len: int | None = None,
        threads: int | None = None,
        **budget: Unpack[ContextLimits],
    ) -> Any:
        """Builds a column of a table of Arrow, and returns a table with the schema of ``metatok build --format parquet``:
        ``id``, ``repeat``, ``turn``, ``max_out_len`` and the ids, a list of int64. Kept columns are normally not copied.

        Args:
            table: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: of pyarrow, polars, duckdb, ...
            column: What :meth:`build` takes: lists of messages, strings, or structs with these. Fastest are messages
                with nothing but a ``role`` and a ``content``.
            id_column: The prompts' ids: strings or dates, or values that are written as JSON. By default ``id``, if the table has
                it.
            ids_column: The name of the column of ids.
            error_column: The name of a further column, with what is wrong with a row that cannot be built; its ids are null.
                By default, the first such row is raised.
            keep: A column, or several, that are added after it as they are.
            first_row: The number of the first row, for rows without an id.
            max_out_len: How many tokens an answer may have: for rows that say nothing in a column ``max_out_len``.
            threads: As for :meth:`build_all`.
            budget: As for :meth:`build`.

        Returns:
            A table with ``__arrow_c_stream__``, which ``pyarrow.table(...)`` and ``polars.DataFrame(...)`` take. The
            metadata of its schema have the stops and the fingerprint, under the key ``metatok``.

        Raises:
            InputError: of the first conversation that the template does not take, or for a column that is missing;
                ``error.place`` has the row's ``id``, if the table has a column of them.
            TypeError: for what is not a table, and for a column whose values are not conversations.
        """
        keep = [keep] if isinstance(keep, str) else list(keep)
        first_row = whole("first_row", first_row)
        if max_out_len is not None:
            max_out_len = whole("max_out_len", max_out_len, 1)
        limits = limits_of(budget, max_out_len)
        read = readable(table, column, id_column, keep)
        return _metatok.build_arrow(
            self._core, read, column, id_column, ids_column, error_column, keep, first_row, max_out_len, threads, limits
        )

    def requests(
        self,
        conversations: Iterable[object],
        form: str = "vllm",
        *,
        max_out_len: int | None = None,
        sampling: Mapping[str, Any] | None = None,
        threads: int | None = None,
        **budget: Unpack[ContextLimits],
    ) -> list[dict[str, Any]]:
        """Requests to an engine's server, as ``metatok build --format`` writes them: ids, limits, sampling and stops.

        Args:
            conversations: Any iterable. A request has the ``id`` of its record, or its number.
            form: ``"vllm"``, ``"vllm-generate"``, ``"sglang"``, ``"llama-cpp"``, ``"lmdeploy"``, ``"openai"``,
                ``"trtllm"``, ``"dynamo"``, ``"triton"`` or ``"ids"``.
            max_out_len: How many tokens an answer may have, 1 or more.
            sampling: ``temperature``, ``top_p``, ``top_k``, ``seed``, ``model`` (its name on the server), ``run_id``;
                other keys are added to requests as they are. By default the likeliest token is always chosen.
            threads: As for :meth:`build_all`.
            budget: As for :meth:`build`.

        Raises:
            UsageError: for an unknown form, or one that is not a list of requests.

        >>> import metatok
        >>> request, = metatok.PromptBuilder("demo").requests([[{"role": "user", "content": "Hi!"}]], "sglang", max_out_len=9)
        >>> request["sampling_params"]["max_new_tokens"], request["sampling_params"]["stop_token_ids"]
        (9, [1052, 1050])
        """
        if max_out_len is not None:
            max_out_len = whole("max_out_len", max_out_len, 1)
        limits = limits_of(budget, max_out_len)
        lines = _metatok.requests(
            self._core, several(conversations), form, max_out_len, dict(sampling or {}), threads, limits
        )
        return [json.loads(line) for line in lines]

    @property
    def stop(self) -> Stop:
        """Where the model's output ends."""
        return Stop._of(self._core.stop)

    @property
    def pad_token_id(self) -> int | None:
        """The id for padding: the model file's, or the tokenizer's, or its eos."""
        return self._core.pad_token_id

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
        return Tokenizer(self._core.tokenizer)

    @property
    def model(self) -> str:
        """The model's name, or its file."""
        return self._core.model

    @property
    def options(self) -> dict[str, Any]:
        """The options that change prompts, with their defaults."""
        unset = dict.fromkeys(("allow_empty_prompts", "offsets", "open_answer", "spans", "text"), False)
        return {**unset, **self._core.options}

    @property
    def fingerprint(self) -> str:
        """What determines the ids, as JSON: the same as ``metatok build`` writes into its files."""
        return self._core.fingerprint

    @property
    def warnings(self) -> list[str]:
        """What is likely a mistake in the model file or the options. They are issued as warnings, too."""
        return self._core.warnings


class _Map:
    """Adds ids to batches of rows."""

    def __init__(self, builder: Building, column: str, budget: dict[str, Any] | None) -> None:
        self.builder, self.column, self.budget = builder, column, budget

    def __call__(self, rows: Any, *others: Any) -> Any:
        """The same batch with its ids.

        Args:
            rows: The batch, or its one column with ``input_columns``.
            others: The numbers of its rows and of the process, with ``with_indices`` and ``with_rank``; the only process has
                none.
        """
        if columns := [other for other in others if not isinstance(other, (int, type(None))) and not _are_numbers(other)]:
            what = f"map() was given {len(columns) + 1} columns without their names"
            raise TypeError(f"{what}; leave out input_columns, or name only {self.column!r} there: others are found by their names")
        if not isinstance(rows, Mapping) and not hasattr(rows, "columns"):
            rows = {self.column: rows}
        said = conversations(columns_of(rows, self.column), self.column)
        ids, ends = self.builder._core.build_flat(said, None, self.budget)
        # As `datasets` has the ids of tokenizers, whatever the format of a dataset is.
        ids = ids.astype(np.int32)
        built = [ids[start:end] for start, end in zip(ends, ends[1:])]
        # Streams compare and print what they are given as it is.
        return with_column(rows, "input_ids", [one.tolist() for one in built] if type(rows) is dict else built)

    def __repr__(self) -> str:
        return f"{self.builder!r}.map({self.column!r})"


def _are_numbers(indices: Any) -> bool:
    return isinstance(indices, list) and all(isinstance(index, int) for index in indices)
