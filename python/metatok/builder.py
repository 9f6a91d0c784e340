"""Prompts of one model: load once, build per conversation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from metatok import _metatok
from metatok.answers import Completion, Stream
from metatok.batch import Batch
from metatok.checks import Diff, Finding
from metatok.dialogue import Dialogue
from metatok.prompt import Prompt
from metatok.stop import Stop
from metatok.task import Task
from metatok.tokenizer import Tokenizer, _as_ids, _loaded, chat_template_of
from metatok.view import View

if TYPE_CHECKING:
    from metatok.engines import VllmInputs

__all__ = ["PromptBuilder"]


class PromptBuilder:
    """Turns conversations into token ids, for one model.

    A conversation is a list of messages (dicts with ``role`` and ``content``), a string, a prompt list of OpenCompass,
    or a dict with ``messages`` and perhaps ``tools``, ``documents``, ``chat_template_kwargs``.

    Args:
        model: A built-in model (``metatok models`` lists them), a repository that belongs to one, the path of a model
            file, or a dict with the keys of one, or of a model in OpenCompass's configurations (with names of classes).
        tokenizer: A name as for :class:`Tokenizer`, or a loaded tokenizer of ``transformers`` or ``tokenizers``. By
            default the model's own. Without a model, its chat template is used.
        meta_template: A dict as in OpenCompass's ``meta_template``, of strings and ids; or a model dict that has one.
        chat_template: Jinja, the path of a file of it, or the name of one of the tokenizer's chat templates.
        conversation_template: The name of one of FastChat's templates, or the path of a file.
        template_kwargs: Variables of the chat template, such as ``{"enable_thinking": False}``.
        options: ``mode`` (``"gen"`` or ``"ppl"``), ``special_tokens`` (``"auto"``, ``"always"``, ``"never"``),
            ``content`` (``"data"`` or ``"trusted"``), ``reserve``, ``unreserve``, ``stop_token_ids``, ``stop_strings``,
            ``round_fallback``, ``each_message``, ``chat_wrapper``, ``continue_final_message``, ``always_render``,
            ``spans``, ``offsets``, ``text``.

    Raises:
        MetatokError: says what of the model does not fit the tokenizer, and where it is written.

    >>> builder = PromptBuilder("demo")
    >>> prompt = builder.build([{"role": "user", "content": "Which planet is red?"}])
    >>> prompt.input_ids[:5]
    array([1051,  375,  263,  198,  338], dtype=uint32)
    """

    __slots__ = ("_core",)
    _core: _metatok.Builder

    def __init__(
        self,
        model: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        tokenizer: Any = None,
        meta_template: Mapping[str, Any] | None = None,
        chat_template: str | None = None,
        conversation_template: str | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if isinstance(model, Mapping):
            model, meta_template = None, model
        loaded: str | _metatok.Tokenizer | None
        if tokenizer is None or isinstance(tokenizer, (str, os.PathLike)):
            loaded = None if tokenizer is None else os.fspath(tokenizer)
        else:
            loaded = _loaded(tokenizer)
        template: tuple[str | None, str | None] | None = (chat_template, None) if chat_template is not None else None
        is_named = model is not None or meta_template is not None or template is not None or conversation_template
        if not is_named and isinstance(loaded, _metatok.Tokenizer) and not isinstance(tokenizer, Tokenizer):
            template = chat_template_of(tokenizer)
        self._core = _metatok.Builder.open(
            None if model is None else os.fspath(model),
            None if meta_template is None else json.dumps(_plain(meta_template)),
            loaded,
            template,
            conversation_template,
            template_kwargs,
            options,
        )

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, *, chat_template: str | None = None, **options: Any) -> PromptBuilder:
        """With a loaded tokenizer's own chat template, as ``apply_chat_template`` renders it.

        Args:
            tokenizer: A tokenizer of ``transformers``, or any that :class:`Tokenizer` takes.
            chat_template: Another one, as for the class.
            options: As for the class.

        >>> PromptBuilder.from_tokenizer("demo").build([{"role": "user", "content": "Hi!"}]).tolist()[:4]
        [1051, 375, 263, 198]
        """
        return cls(tokenizer=tokenizer, chat_template=chat_template, **options)

    def build(self, conversation: object, **budget: Any) -> Prompt:
        """Builds one prompt.

        Args:
            conversation: As described for the class.
            budget: ``max_seq_len`` (the model's context in tokens), ``max_out_len`` (of these for the answer) and
                ``truncation`` (what is dropped if it is too long: ``"refuse"``, ``"left"``, ``"middle"``,
                ``"oldest-turns"``, ...).

        Raises:
            InputError: names the message that the template has no place for.
        """
        ids, known = self._core.build(conversation, budget or None)
        return Prompt(ids, self, conversation, known)

    def build_all(self, conversations: Iterable[object], *, threads: int | None = None, **budget: Any) -> list[Prompt]:
        """Builds a prompt of each conversation, on all cores, in order.

        Args:
            conversations: Any iterable.
            threads: How many threads; by default and at most one per core.
            budget: As for :meth:`build`.

        Raises:
            InputError: of the first conversation that fails; ``error.place["conversation"]`` is its number.

        >>> builder = PromptBuilder("demo")
        >>> [len(prompt) for prompt in builder.build_all([[{"role": "user", "content": "Hi!"}]] * 3)]
        [14, 14, 14]
        """
        said = conversations if isinstance(conversations, (list, tuple)) else list(conversations)
        built = self._core.build_all(said, threads, budget or None)
        return [Prompt(ids, self, of, known) for (ids, known), of in zip(built, said)]

    def build_batch(
        self,
        conversations: Iterable[object],
        *,
        padding_side: str = "left",
        pad_to_multiple_of: int = 1,
        return_tensors: str = "np",
        dtype: str = "int64",
        threads: int | None = None,
        **budget: Any,
    ) -> Batch:
        """Builds prompts on all cores and puts them side by side, as ``model.generate(**batch)`` takes them.

        Args:
            conversations: Any iterable.
            padding_side: ``"left"``, so that all prompts end where the model goes on, or ``"right"``.
            pad_to_multiple_of: Rows are as long as the longest prompt, rounded up to a multiple of this.
            return_tensors: ``"np"`` for arrays, ``"pt"`` for tensors of torch, which share the arrays' memory.
            dtype: ``"int64"`` or ``"uint32"``.
            threads: As for :meth:`build_all`.
            budget: As for :meth:`build`.

        Raises:
            InputError: as for :meth:`build_all`.
            UsageError: if the tokenizer has no padding token.
        """
        if return_tensors not in ("np", "pt"):
            raise ValueError(f'return_tensors must be "np" or "pt", not {return_tensors!r}')
        ids, mask = self._core.build_padded(
            conversations, padding_side, pad_to_multiple_of, dtype, threads, budget or None
        )
        if return_tensors == "np":
            return Batch(input_ids=ids, attention_mask=mask)
        import torch

        return Batch(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))

    def iter_batches(self, conversations: Iterable[object], batch_size: int, **options: Any) -> Iterator[Batch]:
        """Batches of an iterable of any length, one after the other; only one is in memory.

        Args:
            conversations: Any iterable.
            batch_size: How many prompts a batch has; the last may have fewer.
            options: As for :meth:`build_batch`.

        >>> chats = ([{"role": "user", "content": f"{i}+1=?"}] for i in range(5))
        >>> [batch.input_ids.shape[0] for batch in PromptBuilder("demo").iter_batches(chats, 2)]
        [2, 2, 1]
        """
        if batch_size < 1:
            raise ValueError("batch_size must be at least 1")
        rest = iter(conversations)
        while chunk := list(islice(rest, batch_size)):
            yield self.build_batch(chunk, **options)

    def map(self, column: str = "messages", **budget: Any) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """A function for ``datasets.Dataset.map(..., batched=True)``, which adds ``input_ids``. It can be pickled.

        >>> add_ids = PromptBuilder("demo").map()
        >>> len(add_ids({"messages": [[{"role": "user", "content": "Hi!"}]]})["input_ids"][0])
        14
        """
        return _Map(self, column, budget)

    def build_arrow(
        self,
        table: Any,
        column: str = "messages",
        *,
        ids_column: str = "input_ids",
        keep: Sequence[str] = (),
        first_row: int = 0,
        threads: int | None = None,
        **budget: Any,
    ) -> Any:
        """Builds a column of a table of Arrow, and returns a table with the schema of ``metatok build --format parquet``:
        ``id``, ``repeat``, ``turn``, ``max_out_len`` and the ids, a list of int64. Nothing is copied on the way in or out.

        Args:
            table: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``: of pyarrow, polars, duckdb, ...
            column: Lists of structs with ``role`` and ``content``, or strings.
            ids_column: The name of the column of ids.
            keep: Columns that are added behind it, as they are.
            first_row: The number of the first row, for rows without an ``id``.
            threads: As for :meth:`build_all`.
            budget: As for :meth:`build`.

        Returns:
            A table with ``__arrow_c_stream__``, which ``pyarrow.table(...)`` and ``polars.DataFrame(...)`` take. The
            metadata of its schema have the stops and the fingerprint, under the key ``metatok``.

        Raises:
            TypeError: for a column of another type, such as messages with tool calls; ``build_all(column.to_pylist())``
                takes those.
        """
        return _metatok.build_arrow(
            self._core, table, column, ids_column, list(keep), first_row, threads, budget or None
        )

    def requests(
        self,
        conversations: Iterable[object],
        form: str = "vllm",
        *,
        max_out_len: int | None = None,
        sampling: Mapping[str, Any] | None = None,
        threads: int | None = None,
        **budget: Any,
    ) -> list[dict[str, Any]]:
        """Requests to an engine's server, as ``metatok build --format`` writes them: ids, limits, sampling and stops.

        Args:
            conversations: Any iterable.
            form: ``"vllm"``, ``"vllm-generate"``, ``"sglang"``, ``"llama-cpp"``, ``"lmdeploy"``, ``"openai"``,
                ``"trtllm"``, ``"dynamo"``, ``"triton"`` or ``"ids"``.
            max_out_len: How many tokens an answer may have.
            sampling: ``temperature``, ``top_p``, ``top_k``, ``seed``, ``model`` (its name on the server), ``run_id``;
                other keys are added to requests as they are. By default the likeliest token is always chosen.
            threads: As for :meth:`build_all`.
            budget: As for :meth:`build`.

        Raises:
            UsageError: for an unknown form, or one that is no list of requests.

        >>> request, = PromptBuilder("demo").requests([[{"role": "user", "content": "Hi!"}]], "sglang", max_out_len=9)
        >>> request["sampling_params"]["max_new_tokens"], request["sampling_params"]["stop_token_ids"]
        (9, [1052, 1050])
        """
        if max_out_len is not None and "max_seq_len" in budget:
            budget["max_out_len"] = max_out_len
        lines = _metatok.requests(
            self._core, conversations, form, max_out_len, dict(sampling or {}), threads, budget or None
        )
        return [json.loads(line) for line in lines]

    def complete(
        self, ids: Iterable[int], *, prompt: Any = None, include_stop: bool = False, skip_special_tokens: bool = True
    ) -> Completion:
        """A model's output, trimmed to where it should have ended.

        Args:
            ids: The generated ids. If the engine returns the prompt before them, perhaps padded on the left, give it too.
            prompt: A :class:`Prompt` or its ids.
            include_stop: Whether the stop is kept.
            skip_special_tokens: Whether special tokens before the stop are left out of the text.

        Raises:
            MetatokError: names an id before the stop that the tokenizer does not have.

        >>> PromptBuilder("demo").complete([44, 695, 1052, 1053])
        Completion(token_ids=[44, 695], text='Mars', finish_reason='stop', stop={...}, tail=[1052, 1053])
        """
        prompts = None if prompt is None else [prompt]
        options = {"include_stop": include_stop, "skip_special_tokens": skip_special_tokens}
        return self.complete_all([ids], prompts=prompts, **options)[0]

    def complete_all(
        self,
        ids: Iterable[Iterable[int]],
        *,
        prompts: Iterable[Any] | None = None,
        include_stop: bool = False,
        skip_special_tokens: bool = True,
    ) -> list[Completion]:
        """The same for many, such as the rows of ``model.generate(**batch)``.

        >>> builder = PromptBuilder("demo")
        >>> prompt = builder.build([{"role": "user", "content": "Which planet is red?"}])
        >>> [done.text for done in builder.complete_all([[1053, *prompt.tolist(), 44, 695, 1052]], prompts=[prompt])]
        ['Mars']
        """
        answers = [_as_ids(answer) for answer in ids]
        before = None if prompts is None else [_as_ids(getattr(prompt, "input_ids", prompt)) for prompt in prompts]
        if before is not None and len(before) != len(answers):
            raise ValueError(f"there are {len(answers)} answers, but {len(before)} prompts")
        done = _metatok.complete(self._core, answers, before, include_stop, skip_special_tokens)
        return [Completion(**completion) for completion in done]

    def stream(self, **options: Any) -> Stream:
        """An answer while it is generated: ids go in, text comes out, up to the stop.

        Args:
            options: ``include_stop`` and ``skip_special_tokens``, as for :meth:`complete`.
        """
        return Stream(self, **options)

    def dialogue(self, *, strip_thoughts: bool = False, **budget: Any) -> Dialogue:
        """A dialogue that grows turn by turn.

        Args:
            strip_thoughts: Whether a model's thoughts, up to ``</think>``, are left out of later prompts.
            budget: As for :meth:`build`.
        """
        return Dialogue(self, strip_thoughts=strip_thoughts, **budget)

    def view(self, conversation: object) -> View:
        """A prompt to look at, each token with its origin: a page in a notebook, text in a terminal."""
        return View(self, conversation)

    def check(self, conversations: Iterable[object] = ()) -> list[Finding]:
        """What is likely a mistake in the meta template, its tokenizer, or these conversations; the worst first.

        Raises:
            UsageError: for chat templates, in which nothing is checked.

        >>> PromptBuilder("demo").check()
        []
        """
        return [Finding(**finding) for finding in _metatok.check(self._core, conversations)]

    def diff(self, other: PromptBuilder, conversations: Iterable[object] | None = None) -> Diff:
        """How the prompts of two builders differ, on these conversations, or on generated ones.

        >>> diff = PromptBuilder("demo").diff(PromptBuilder("demo", special_tokens="never"))
        >>> diff.different
        0
        """
        return Diff(**_metatok.diff(self._core, other._core, conversations))

    def vllm_inputs(self, conversations: Iterable[object], **sampling: Any) -> VllmInputs:
        """What vLLM's ``LLM.generate`` takes: prompts, and the arguments of ``SamplingParams``.

        Other engines are in :mod:`metatok.engines`.

        Args:
            conversations: Any iterable.
            sampling: As for :func:`metatok.engines.sampling`.

        >>> inputs = PromptBuilder("demo").vllm_inputs([[{"role": "user", "content": "Hi!"}]], max_tokens=8)
        >>> inputs.prompts[0]["prompt_token_ids"][:3], inputs.sampling_params["stop_token_ids"]
        ([1051, 375, 263], [1052, 1050])
        """
        from metatok.engines import vllm_inputs

        return vllm_inputs(self, conversations, **sampling)

    def task(
        self,
        dataset: str | os.PathLike[str] | Mapping[str, Any],
        train: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> Task:
        """A dataset whose rows become prompts.

        Args:
            dataset: A file, a built-in dataset (``metatok datasets`` lists them), or a dict as in OpenCompass's
                configurations, with ``reader_cfg`` and ``infer_cfg`` and the names of classes as strings.
            train: The rows of in-context examples: a file, or dicts.
            options: ``num_fewshot``, ``layout``, ``infer_mode``, ``neighbours``, ``id_column``, ``keep``, ``max_seq_len``,
                ``max_out_len``, ``arrow_compat``, ``compat``, ``strict``, as for ``metatok build --dataset``.

        Raises:
            DatasetError: names what in the dataset is wrong.
        """
        return Task(self, dataset, train, **options)

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
        """The options, with their defaults."""
        return self._core.options

    @property
    def fingerprint(self) -> str:
        """What determines the ids, as JSON: the same as ``metatok build`` writes into its files."""
        return self._core.fingerprint

    @property
    def warnings(self) -> list[str]:
        """What is likely a mistake in the model file."""
        return self._core.warnings

    def __repr__(self) -> str:
        return f"PromptBuilder({self.model!r}, tokenizer={self.tokenizer.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_core, (self._core,)


def _of_core(core: _metatok.Builder) -> PromptBuilder:
    """A builder that was pickled."""
    builder = PromptBuilder.__new__(PromptBuilder)
    builder._core = core
    return builder


class _Map:
    """Adds ids to batches of rows."""

    def __init__(self, builder: PromptBuilder, column: str, budget: dict[str, Any]) -> None:
        self.builder, self.column, self.budget = builder, column, budget

    def __call__(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        ids, ends = self.builder._core.build_flat(rows[self.column], None, self.budget or None)
        return {"input_ids": [ids[start:end] for start, end in zip(ends, ends[1:])]}


def _plain(template: Any) -> Any:
    """Dicts of other libraries as plain ones."""
    if isinstance(template, Mapping):
        return {key: _plain(value) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [_plain(item) for item in template]
    return template
