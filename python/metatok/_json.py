"""Dicts as JSON, with the numbers, arrays and paths of other libraries in them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from metatok.errors import UsageError


def text(value: Any, what: str) -> str:
    """A value as one line of JSON.

    Args:
        value: Mappings, lists, tuples, strings, numbers, NumPy's numbers and arrays, and paths.
        what: Where it was given, for errors.

    Raises:
        TypeError: names the type of anything else.
        UsageError: for a number that is infinite or NaN.
    """
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except ValueError as error:
        if "circular" in str(error).lower():
            raise
        why = "a number must be neither infinite nor NaN; use None for a value that is missing"
        raise UsageError(f"{what}: {why}", kind="usage") from None
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"expected dicts, lists, strings, numbers, booleans or None, not {type(value).__qualname__}")
