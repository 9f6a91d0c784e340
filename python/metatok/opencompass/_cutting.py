"""Ids that are cut to a length, where OpenCompass's classes cut them: anywhere, also in the template."""

from __future__ import annotations

from collections.abc import Callable

from metatok import Prompt, PromptBuilder
from metatok.errors import UsageError


def at_side(ids: list[int], most: int, side: str, added: tuple[int, int]) -> list[int]:
    """As a tokenizer of transformers cuts.

    Args:
        ids: The ids of a prompt.
        most: How many it may have.
        side: Where ids are dropped, ``left`` or ``right``.
        added: How many of the first and of the last ids the tokenizer adds, which stay.
    """
    if len(ids) <= most:
        return ids
    head, tail = ids[: added[0]], ids[len(ids) - added[1] :]
    said = ids[added[0] : len(ids) - added[1]]
    kept = max(most - sum(added), 0)
    return [*head, *(said[:kept] if side == "right" else said[len(said) - kept :]), *tail]


def in_the_middle(ids: list[int], most: int) -> list[int]:
    """The two halves of what fits; of an odd number, one id less."""
    half = most // 2
    return ids if len(ids) <= most else [*ids[:half], *ids[len(ids) - half :]]


def room(max_seq_len: int, max_out_len: int) -> int:
    """How many ids a prompt may have that leaves room for its answer.

    Raises:
        UsageError: there is no room for a prompt.
    """
    if max_out_len >= max_seq_len:
        what = f"max_out_len is {max_out_len}, which leaves no room for a prompt in a max_seq_len of {max_seq_len}"
        raise UsageError(f"{what}; make max_seq_len larger", kind="usage")
    return max_seq_len - max_out_len


class Cuttable:
    """A prompt that may be too long.

    Args:
        prompt: The prompt.
        without_added: The same builder without the special tokens that the tokenizer adds.
    """

    def __init__(self, prompt: Prompt, without_added: Callable[[], PromptBuilder]) -> None:
        self._prompt, self._without_added = prompt, without_added
        self.ids = prompt.tolist()

    def at(self, side: str, most: int) -> list[int]:
        """Its ids, cut at a side."""
        return self.ids if len(self.ids) <= most else at_side(self.ids, most, side, self._added())

    def _added(self) -> tuple[int, int]:
        """How many of the first and of the last ids the tokenizer adds."""
        said = self._without_added().build(self._prompt._said).tolist()
        starts = range(len(self.ids) - len(said) + 1)
        first = next((start for start in starts if self.ids[start : start + len(said)] == said), 0)
        return first, max(len(self.ids) - len(said) - first, 0)
