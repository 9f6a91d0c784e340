"""A dialogue that grows turn by turn, and fits into the model's context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metatok import _metatok
from metatok._limits import budget as limits_of
from metatok._limits import whole
from metatok.prompt import Prompt
from metatok.tokenizer import _answer_ids

if TYPE_CHECKING:
    from metatok.builder import PromptBuilder

__all__ = ["Dialogue"]


class Dialogue:
    """A dialogue with a model; from :meth:`PromptBuilder.dialogue`.

    Answers that are given as ids are written as these ids, so that the next prompt begins with what the engine has in
    its cache.

    >>> import metatok
    >>> dialogue = metatok.PromptBuilder("demo").dialogue()
    >>> dialogue.push("user", "Which planet is red?")
    >>> first = dialogue.next_prompt()
    >>> dialogue.answer_ids([44, 695, 1052])
    >>> dialogue.push("user", "How many moons does it have?")
    >>> second = dialogue.next_prompt()
    >>> dialogue.prefix_tokens == len(first) + 3
    True
    """

    __slots__ = ("_builder", "_core", "dropped", "prefix_break", "prefix_tokens")

    prefix_tokens: int
    """How many first tokens of the last prompt the engine has seen."""
    prefix_break: str | None
    """Why it has seen more than these, if it has."""
    dropped: list[dict[str, Any]]
    """The messages that the last prompt dropped, so that it fits; no later one has them."""

    def __init__(
        self,
        builder: PromptBuilder,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        headroom: int = 0,
        strip_thoughts: bool = False,
        _core: Any = None,
        **budget: Any,
    ) -> None:
        self._builder = builder
        given = {"tools": tools, "documents": documents, "chat_template_kwargs": chat_template_kwargs}
        chat = {"messages": [], **{name: value for name, value in given.items() if value is not None}}
        limits, headroom = limits_of(budget), whole("headroom", headroom)
        self._core = _core or _metatok.Dialogue(builder._core, chat, limits, headroom, strip_thoughts)
        self.prefix_tokens, self.prefix_break, self.dropped = 0, None, []

    def push(self, role: str | Mapping[str, Any], content: str | Sequence[Mapping[str, Any]] | None = None) -> None:
        """Adds a message: a role and a content, which is a text or a list of parts, or a dict with both."""
        self._core.push({"role": role, "content": content} if isinstance(role, str) else role)

    def pop(self) -> dict[str, Any] | None:
        """Takes back the last message, for example one that :meth:`next_prompt` refuses; None if it was in a prompt.

        >>> import metatok
        >>> dialogue = metatok.PromptBuilder("demo").dialogue()
        >>> dialogue.push("tool", "3")
        >>> dialogue.pop()
        {'role': 'tool', 'content': '3'}
        """
        return self._core.pop()

    def answer_ids(self, ids: Iterable[int]) -> None:
        """Adds the model's answer as the engine's ids, up to the first stop. A chat template is given their text.

        The answer comes before messages that arrived after its prompt. A second answer to the same prompt replaces the
        first.

        Raises:
            MetatokError: names an id that the tokenizer does not have.
        """
        self._core.answer_ids(_answer_ids(ids))

    def answer_text(self, text: str) -> None:
        """Adds the model's answer as text, in the same place as :meth:`answer_ids`.

        It ends at the first stop string, or the text of a stop token.
        """
        self._core.answer_text(text)

    def next_prompt(self) -> Prompt:
        """The prompt of the next turn.

        Raises:
            InputError: as for :meth:`PromptBuilder.build`. The dialogue is then unchanged.
            UsageError: if the last message is an answer, which the template leaves out.
        """
        (ids, known), self.prefix_tokens, self.prefix_break, self.dropped = self._core.next_prompt()
        return Prompt(ids, self._builder, self, known)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages so far. Answers that are ids have no text."""
        return self._core.messages

    def __repr__(self) -> str:
        return f"Dialogue(messages={len(self.messages)}, builder={self._builder!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        last = {"prefix_tokens": self.prefix_tokens, "prefix_break": self.prefix_break, "dropped": self.dropped}
        return _resumed, (self._builder, self._core.state()), (None, last)


def _resumed(builder: PromptBuilder, state: str) -> Dialogue:
    return Dialogue(builder, _core=_metatok.Dialogue.resume(builder._core, state))
