"""Answers: trimmed when they are complete, or token by token while they are generated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex

from metatok import _metatok
from metatok.tokenizer import _as_ids

if TYPE_CHECKING:
    from metatok.builder import PromptBuilder

__all__ = ["Completion", "Stream"]


@dataclass(frozen=True)
class Completion:
    """A model's output, trimmed to where it should have ended; from :meth:`PromptBuilder.complete`."""

    token_ids: list[int]
    """The tokens before the stop."""
    text: str
    """The text before the stop, without special tokens. It continues the prompt: a space at its beginning stays, which
    ``decode`` drops where a SentencePiece tokenizer (Llama 2, InternLM2) adds one to every text."""
    finish_reason: str
    """``"stop"`` at a stop; otherwise ``"length"``, or what the engine reported, such as ``"abort"``."""
    stop: dict[str, Any] | None = None
    """The stop: ``token_id``, ``token`` and ``sources`` of an id, or ``string``."""
    tail: list[int] = field(default_factory=list)
    """The ids after ``token_ids``: the stop, and everything after it."""


class Stream:
    """An answer while it is generated; from :meth:`PromptBuilder.stream`.

    >>> import metatok
    >>> stream = metatok.PromptBuilder("demo").stream()
    >>> [stream.push(id) for id in (44, 695, 1052)], stream.finish_reason
    (['M', 'ars', ''], 'stop')
    >>> stream.token_ids
    [44, 695]
    """

    __slots__ = ("_core",)

    def __init__(
        self, builder: PromptBuilder, *, include_stop: bool = False, skip_special_tokens: bool = True
    ) -> None:
        self._core = _metatok.Stream(builder._core, include_stop, skip_special_tokens)

    def push(self, id: SupportsIndex) -> str:
        """Takes the next id, and returns the whole characters that can no longer be part of a stop.

        Raises:
            MetatokError: names an id that the tokenizer does not have.
        """
        return self._core.push(*_as_ids((id,)))

    def finish(self) -> str:
        """Ends the stream, and returns the text that was held back because it might have become a stop."""
        return self._core.finish()

    @property
    def finish_reason(self) -> str | None:
        """``"stop"`` or ``"length"``; None while it goes on. What is pushed after a stop is ignored."""
        return self._core.finish_reason

    @property
    def stop(self) -> dict[str, Any] | None:
        """The stop at which it ended, as that of a :class:`Completion`."""
        return self._core.stop

    @property
    def token_ids(self) -> list[int]:
        """The tokens before the stop."""
        return self._core.token_ids

    def __copy__(self) -> Stream:
        raise TypeError("a stream cannot be copied; push its ids into a new one")

    def __deepcopy__(self, memo: object) -> Stream:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"Stream(tokens={len(self.token_ids)}, finish_reason={self.finish_reason!r})"
