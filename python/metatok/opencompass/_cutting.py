"""Ids that are cut to a length, where OpenCompass's classes cut them: anywhere, also in the template."""

from __future__ import annotations

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
