"""A prompt: its ids, and what is known of them."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from metatok import _metatok
from metatok.errors import InputError
from metatok.stop import Stop
from metatok.view import View

if TYPE_CHECKING:
    from metatok.building import Building

__all__ = ["Prompt"]


class Prompt:
    """A prompt of :meth:`PromptBuilder.build`: a sequence of ids, which ``len(prompt)`` counts.

    >>> import metatok
    >>> prompt = metatok.PromptBuilder("demo").build([{"role": "user", "content": "Hi!"}])
    >>> prompt.text
    '<|im_start|>user\\nHi!<|im_end|>\\n<|im_start|>assistant\\n'
    >>> len(prompt) == len(prompt.tolist()) == prompt.input_ids.size
    True
    """

    __slots__ = ("_builder", "_ids", "_known", "_said", "_stop")

    def __init__(
        self,
        ids: _metatok.Ids,
        builder: Building,
        said: object = None,
        known: dict[str, Any] | None = None,
        stop: Stop | None = None,
    ) -> None:
        self._ids, self._builder, self._said, self._known, self._stop = ids, builder, said, known, stop

    @property
    def input_ids(self) -> npt.NDArray[np.uint32]:
        """The token ids, of shape (tokens,). They are not copied from where they were built."""
        return self._ids.array

    def tolist(self) -> list[int]:
        """The ids as integers."""
        return self._ids.tolist()

    @property
    def attention_mask(self) -> npt.NDArray[np.int64]:
        """Ones, of shape (tokens,)."""
        return np.ones(len(self), np.int64)

    @property
    def text(self) -> str:
        """The text of all ids, also of those that the tokenizer adds, with control tokens as they are written.

        The text that was encoded is ``details["text"]``, if the builder has ``text=True``.
        """
        return self._builder.tokenizer.decode(self.input_ids)

    @property
    def details(self) -> dict[str, Any]:
        """Everything else that is known of it, by the keys of ``metatok build``'s lines."""
        return {key: value for key, value in (self._known or {}).items() if key != "labels"}

    @property
    def label(self) -> Any:
        """Of a text to score: which answer it is for."""
        return (self._known or {}).get("label")

    @property
    def labels(self) -> npt.NDArray[np.int64] | None:
        """Of a text to score: the ids that are scored, and -100 for all others, of shape (tokens,). Of a conversation they
        are known if its record has a prompt and a completion."""
        return (self._known or {}).get("labels")

    @property
    def spans(self) -> list[dict[str, Any]] | None:
        """Where each token comes from, if the builder has ``spans=True``: ``start`` and ``end`` (tokens), and a part."""
        return (self._known or {}).get("spans")

    @property
    def offsets(self) -> list[tuple[int, int]] | None:
        """The bytes of each token in the text, if the builder has ``offsets=True``."""
        offsets = (self._known or {}).get("offsets")
        return None if offsets is None else [(range["start"], range["end"]) for range in offsets]

    @property
    def media(self) -> list[dict[str, Any]]:
        """The images, audio and video: ``kind``, ``source``, where they are (``message``, ``content_part``), and their
        tokens, from ``start`` up to ``end``."""
        media: list[dict[str, Any]] = (self._known or {}).get("media", [])
        return media

    @property
    def answer_omitted(self) -> bool:
        """Whether the last message is an answer, which was left out because the model is to give it."""
        return bool((self._known or {}).get("answer_omitted"))

    @property
    def truncated(self) -> dict[str, Any] | None:
        """What was dropped so that it fits: ``from`` and ``to`` (tokens), ``tokens`` and ``messages``."""
        return (self._known or {}).get("truncated")

    @property
    def stop(self) -> Stop:
        """Where its answer ends."""
        return self._builder.stop if self._stop is None else self._stop

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, at: Any) -> Any:
        found = self.input_ids[at]
        return int(found) if np.ndim(found) == 0 else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        ids = self.input_ids if dtype is None else self.input_ids.astype(dtype, copy=False)
        if copy is False and ids is not self.input_ids:
            raise ValueError(f"the ids are {self.input_ids.dtype}: as {ids.dtype} they are a copy, which copy=False forbids")
        return ids.copy() if copy and ids is self.input_ids else ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prompt) and np.array_equal(self.input_ids, other.input_ids)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Prompt({len(self)} token{'' if len(self) == 1 else 's'})"

    def _repr_html_(self) -> str:
        """The page of :meth:`PromptBuilder.view`; only the text if something was dropped, or the conversation is not known."""
        if self._said is not None:
            try:
                view = View(self._builder, self._messages)
            except InputError:
                # Answers of a dialogue that are ids have no text to be viewed.
                view = None
            if view is not None and view._core.input_ids == self.tolist():
                return view._repr_html_()
        text = self._builder.tokenizer.decode(self.tolist(), skip_special_tokens=False)
        return f"<p>{html.escape(repr(self))}</p><pre>{html.escape(text)}</pre>"

    @property
    def _messages(self) -> object:
        """What was said, of a dialogue as far as it is now."""
        return getattr(self._said, "messages", self._said)

    def __reduce__(self) -> tuple[Any, ...]:
        return Prompt, (self._ids, self._builder, self._messages, self._known, self._stop)
