"""Lists of conversations or rows, as opposed to one of them, and to tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def several(given: Iterable[Any], what: str = "conversations", takes_one: str = "build()") -> Iterable[Any]:
    """The same, unless it is one conversation or row, or a table: its keys, its characters or the names of its columns
    would be taken for several.

    Args:
        given: Any iterable.
        what: What it has, for the error.
        takes_one: What takes one of them.

    Raises:
        TypeError: says what to give.
    """
    kind = type(given).__name__
    if isinstance(given, (str, bytes, Mapping)):
        raise TypeError(f"expected a list of {what}, not one of them ({kind}); {takes_one} takes one")
    if hasattr(type(given), "columns"):
        way_out = 'give its rows, such as table.to_dict("records")'
        if what == "conversations":
            way_out += ", or a column; build_arrow() takes a table"
        raise TypeError(f"expected a list of {what}, not a table ({kind}); {way_out}")
    if not hasattr(type(given), "__iter__") and not hasattr(type(given), "__getitem__"):
        raise TypeError(f"expected a list of {what}, not {kind}")
    return given
