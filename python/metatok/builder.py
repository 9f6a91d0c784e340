"""Prompts of one model: load once, build per conversation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from metatok import _metatok
from metatok.batch import Batch
from metatok.prompt import Prompt
from metatok.stop import Stop
from metatok.tokenizer import Tokenizer, _loaded, chat_template_of

__all__ = ["PromptBuilder"]


class PromptBuilder:
    """Turns conversations into token ids, for one model.

    A conversation is a list of messages (dicts with ``role`` and ``content``), a string, a prompt list of OpenCompass,
    or a dict with ``messages`` and perhaps ``tools``, ``documents``, ``chat_template_kwargs``.

    Args:
        model: A built-in model (``metatok models`` lists them), a repository that belongs to one, or the path of a model
            file.
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
        model: str | os.PathLike[str] | None = None,
        *,
        tokenizer: Any = None,
        meta_template: Mapping[str, Any] | None = None,
        chat_template: str | None = None,
        conversation_template: str | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        loaded: str | _metatok.Tokenizer | None
        if tokenizer is None or isinstance(tokenizer, (str, os.PathLike)):
            loaded = None if tokenizer is None else os.fspath(tokenizer)
        else:
            loaded = _loaded(tokenizer)
        template: tuple[str | None, str | None] | None = (chat_template, None) if chat_template is not None else None
        is_named = model is not None or meta_template is not None or template is not None or conversation_template
        if not is_named and isinstance(loaded, _metatok.Tokenizer):
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
