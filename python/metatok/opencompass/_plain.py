"""A configuration of Python objects as JSON has it: classes and functions by their names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """The same value with only dicts with string keys, lists, strings, numbers, booleans and None.

    Classes and functions become their full names, and objects the names of their classes. What mmengine loads
    lazily is not imported for this.

    >>> plain({"type": dict, "labels": {0: "A"}, "ids": (1, 2)})
    {'type': 'builtins.dict', 'labels': {'0': 'A'}, 'ids': [1, 2]}
    """
    # mmengine's Config and ConfigDict import each class on access, except here.
    if type(value).__module__.startswith("mmengine.") and hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    named = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    return f"{named.__module__}.{named.__qualname__}"
