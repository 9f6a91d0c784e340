"""What can go wrong: whose fault it is, and where it is.

All are ``ValueError``, so a program that expects one of a bad argument need not know metatok's.

>>> import metatok
>>> builder = metatok.PromptBuilder("demo")
>>> try:
...     builder.build_batch([[{"role": "user", "content": "Hi"}], [{"role": "tool", "content": "3"}]])
... except metatok.InputError as error:
...     print(error.kind, error.place)
unknown-role {'conversation': 1, 'message': 0}
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = ["DatasetError", "InputError", "MachineError", "MetatokError", "MetatokWarning", "ModelError", "UsageError"]


class MetatokError(ValueError):
    """An error of metatok. ``str(error)`` says what is wrong, where, and what to do about it.

    Attributes:
        kind: A stable name, such as ``unknown-role``.
        fault: Whose fault it is: ``input``, ``model``, ``dataset``, ``usage`` or ``system``.
        place: Where it is. Keys are those that are known of ``file``, ``line`` (from 1), ``key`` (a path in a file),
            ``column`` of a row, ``conversation``, ``message`` and ``answer`` (all from 0), and ``id`` of a table's row.
        way_out: What to do about it, or None.
    """

    kind: str
    fault: str
    place: dict[str, str | int]
    way_out: str | None

    def __init__(
        self,
        message: str,
        kind: str = "other",
        fault: str = "usage",
        place: dict[str, str | int] | None = None,
        way_out: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.fault, self.place, self.way_out = kind, fault, dict(place or {}), way_out

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.kind, self.fault, self.place, self.way_out)

    def _at_conversation(self, number: int) -> MetatokError:
        """The same error, of this conversation of a batch."""
        place: dict[str, str | int] = {"conversation": number, **self.place}
        return type(self)(f"conversation {number}: {self}", self.kind, self.fault, place, self.way_out)

    def _at_answer(self, number: int) -> MetatokError:
        """The same error, of this answer of several."""
        place: dict[str, str | int] = {"answer": number, **self.place}
        return type(self)(f"answer {number}: {self}", self.kind, self.fault, place, self.way_out)

    def _at_row(self, number: int, row: str) -> MetatokError:
        """The same error, of this row of a dataset, counted from 1, with what it is called."""
        place: dict[str, str | int] = {"line": number, **self.place}
        return type(self)(f"{row}: {self}", self.kind, self.fault, place, self.way_out)

    def _of_row(self, id: str | int) -> MetatokError:
        """The same error, of the row with this id of a table."""
        said = str(self).replace(": ", f" (id {id!r}): ", 1)
        return type(self)(said, self.kind, self.fault, {**self.place, "id": id}, self.way_out)

    def _saying(self, text: str, other: str) -> MetatokError:
        """The same error with another text in place of this one."""
        place = {key: other if value == text else value for key, value in self.place.items()}
        way_out = self.way_out and self.way_out.replace(text, other)
        return type(self)(str(self).replace(text, other, 1), self.kind, self.fault, place, way_out)


class InputError(MetatokError):
    """A conversation or row is wrong. Others of the same input may be fine."""


class ModelError(MetatokError):
    """The files of a model or its tokenizer are wrong."""


class DatasetError(MetatokError):
    """A dataset's configuration is wrong."""


class UsageError(MetatokError):
    """An option, or a file that it names, is wrong."""


class MachineError(MetatokError):
    """The machine or the network failed, or this build cannot do it."""


class MetatokWarning(UserWarning):
    """Something to know although prompts were built, such as what a template left out of them."""


_CLASSES: dict[str, type[MetatokError]] = {
    "input": InputError,
    "model": ModelError,
    "dataset": DatasetError,
    "usage": UsageError,
    "system": MachineError,
}


def _of(fields: dict[str, Any]) -> MetatokError:
    """The exception for an error of the library, by its fields."""
    names = {name: name for name in ("file", "line", "key", "column", "conversation")} | {"message_index": "message"}
    place = {name: fields[field] for field, name in names.items() if fields.get(field) is not None}
    error = _CLASSES.get(fields["fault"], MetatokError)
    return error(fields["message"], fields["code"], fields["fault"], place, fields.get("way_out"))


def _warn(message: str) -> None:
    """Warns at the line outside of this package that called it."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "metatok":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, MetatokWarning, stacklevel=level + 1)
