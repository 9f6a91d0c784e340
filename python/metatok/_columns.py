"""Columns of conversations, with the columns that say more of them, such as their tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from metatok import _metatok
from metatok._several import several
from metatok.errors import UsageError


def companions(names: Iterable[str], column: str) -> list[str]:
    """Of a table's columns those that may say more of the conversations in another one."""
    known = {*_metatok.companions(column, False), *_metatok.companions(column, True)} - {column}
    return [name for name in names if name in known]


#: The column with the number of tokens that the answer of a row may have.
MAX_OUT_LEN = "max_out_len"


def _more(names: Iterable[str], column: str) -> list[str]:
    """Of a table's columns those that a record has beside its conversation."""
    names = list(names)
    limits = [MAX_OUT_LEN] if MAX_OUT_LEN in names and column != MAX_OUT_LEN else []
    return [*companions(names, column), *limits]


def columns_of(rows: Any, column: str) -> Mapping[str, Any]:
    """The columns of a batch of rows that say something of its conversations: lists, or what libraries have in place of them.

    Args:
        rows: A mapping of columns, or a table of pandas, polars or pyarrow.
        column: The column of conversations.

    Raises:
        KeyError: there is no such column.
    """
    names = list(rows.keys() if isinstance(rows, Mapping) else getattr(rows, "column_names", None) or rows.columns)
    if column not in names:
        raise KeyError(f"there is no column {column!r}; there are {', '.join(map(str, names))}")
    if isinstance(rows, Mapping):
        return rows
    # A column of pandas is an iterable of Python's values, those of the others are not.
    return {name: _listed(rows[name]) for name in (column, *_more(names, column))}


def _listed(column: Any) -> Any:
    for name in ("to_pylist", "to_list"):
        if hasattr(column, name):
            return getattr(column, name)()
    return column


def readable(table: Any) -> Any:
    """A table whose Arrow data can be read: polars gives columns without any value a buffer that they do not have, and arrow's
    reader panics at slices of columns that have lists of a fixed length."""
    is_frame = type(table).__module__.startswith("polars") and hasattr(table, "to_arrow")
    if is_frame and any(kind in str(getattr(table, "schema", "")) for kind in ("Null", "Array(")):
        try:
            table = table.to_arrow()
        except ImportError:
            what = "the table has a column without any value or with lists of a fixed length, which can be read from polars only with pyarrow"
            raise UsageError(f"{what}; install pyarrow, or drop the column", kind="unsupported-table") from None
    if hasattr(table, "num_rows") and hasattr(table, "take") and "fixed_size_list" in str(table.schema):
        return table.take(list(range(table.num_rows)))
    return table


def with_column(rows: Any, name: str, values: list[Any]) -> Any:
    """A table with one more column, for a library that takes back what it gave; of a mapping only this column."""
    if isinstance(rows, Mapping):
        return {name: values}
    if hasattr(rows, "append_column"):
        import pyarrow as pa

        kept = rows.drop_columns([name]) if name in rows.column_names else rows
        return kept.append_column(name, pa.array(values, pa.list_(pa.int64())))
    if hasattr(rows, "with_columns"):
        import polars

        return rows.with_columns(polars.Series(name, [ids.tolist() for ids in values], polars.List(polars.Int64)))
    return rows.assign(**{name: values})


def conversations(rows: Mapping[str, Any], column: str) -> Iterable[object]:
    """The conversations of a batch of rows, each a record with what other columns say of it.

    Raises:
        TypeError: if the column is the one conversation of a row.
    """
    said = _batched(rows[column], column)
    more = {name: list(several(rows[name])) for name in _more(rows, column)}
    more = {name: values for name, values in more.items() if any(value is not None for value in values)}
    if not more:
        return said
    kinds = {is_text: _Kind(column, is_text, more) for is_text in (False, True)}
    return [kinds[isinstance(one, str)].record(one, row) for row, one in enumerate(said)]


class _Kind:
    """What records of a column of texts, or of lists, are made of."""

    def __init__(self, column: str, is_text: bool, more: Mapping[str, list[Any]]) -> None:
        known = [*_metatok.companions(column, is_text), MAX_OUT_LEN]
        self._more = {name: values for name, values in more.items() if name in known}
        self._key = _metatok.conversation_key(column, is_text)

    def record(self, said: object, row: int) -> object:
        # A record of its own says everything.
        if isinstance(said, Mapping):
            return said
        given = {name: values[row] for name, values in self._more.items() if values[row] is not None}
        return {self._key: said, **given}


def _batched(column: Any, name: str) -> Iterable[object]:
    """The same, unless it is the one conversation of a row."""
    first = column[0] if isinstance(column, list) and column else None
    is_message = isinstance(first, Mapping) and ("role" in first or "from" in first)
    if is_message or isinstance(column, (str, Mapping)):
        kind = "a list of messages" if is_message else type(column).__name__
        raise TypeError(f"column {name!r} is one conversation ({kind}), not a list of them; call map with batched=True")
    return several(column)
