"""What is likely a mistake in a model, and how two builders differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Diff", "Finding"]


@dataclass(frozen=True)
class Finding:
    """What a lint found; from :meth:`PromptBuilder.check`."""

    code: str
    """The lint, such as ``double-bos``. ``metatok check --list`` explains all."""
    level: str
    """``"error"``, ``"warning"`` or ``"note"``."""
    place: str
    """A key of the model file, a file of the tokenizer, or a conversation."""
    message: str
    """What is wrong there."""
    help: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.level}[{self.code}]: {self.message}\n  at   {self.place}\n  help {self.help}"


@dataclass(frozen=True)
class Diff:
    """How the prompts of two builders differ; from :meth:`PromptBuilder.diff`."""

    equal: int
    """How many conversations have the same ids with both."""
    different: int
    """How many have not."""
    refused_by_both: int
    """How many neither builds."""
    causes: dict[str, int]
    """How many differ for each cause."""
    first: list[dict[str, Any]]
    """The first of each cause: its ``place``, and the ``difference`` with the tokens around it."""

    def __bool__(self) -> bool:
        return self.different > 0
