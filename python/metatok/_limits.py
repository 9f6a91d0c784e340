"""Numbers that people give: the limits of prompts and their answers, and others with a least value."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from metatok.errors import UsageError

#: The keyword arguments that limit prompts and answers.
LIMITS = ("max_seq_len", "max_out_len", "truncation")


def budget(given: Mapping[str, Any], max_out_len: int | None = None) -> dict[str, Any] | None:
    """The limits as the library takes them; None if prompts may have any length. A limit of None was not given.

    Args:
        given: Keyword arguments of :data:`LIMITS`.
        max_out_len: How many tokens an answer may have, where that is an argument of its own: without a context it is
            no limit of prompts.

    Raises:
        TypeError: for another keyword, or a value of another type.
        UsageError: for a number that is too small, and for a limit that does nothing without ``max_seq_len``.
    """
    for name in given:
        if name not in LIMITS:
            raise TypeError(f"{name!r} is not a keyword argument here; limits are {', '.join(LIMITS)}")
    limits = {name: value for name, value in given.items() if value is not None}
    for name in ("max_seq_len", "max_out_len"):
        if name in limits:
            limits[name] = whole(name, limits[name])
    if not isinstance(limits.get("truncation", ""), str):
        raise TypeError(f"truncation must be a name such as 'left', not {limits['truncation']!r}")
    if limits and "max_seq_len" not in limits:
        name = next(iter(limits))
        raise UsageError(f"{name} is {limits[name]!r}, but does nothing without max_seq_len; give that too", kind="usage")
    if limits and max_out_len is not None:
        limits["max_out_len"] = whole("max_out_len", max_out_len)
    return limits or None


def whole(name: str, number: Any, least: int = 0) -> int:
    """A whole number, as Python or NumPy has it.

    Raises:
        TypeError: for anything else.
        UsageError: if it is less than ``least``, or larger than any table or array.
    """
    try:
        value = operator.index(number)
    except TypeError:
        value = None
    if value is None or isinstance(number, bool):
        raise TypeError(f"{name} must be a whole number, not {number!r}")
    if value < least:
        raise UsageError(f"{name} is {value}, but must be at least {least}", kind="usage")
    if value >= 1 << 63:
        raise UsageError(f"{name} is {value}, but must be less than 2**63", kind="usage")
    return value
