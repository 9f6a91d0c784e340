"""Columns of conversations, with the columns that say more of them, such as their tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    if "arrow.json" in str(getattr(column, "type", None)):
        return [_decoded(value, column.type) for value in column.to_pylist()]
    for name in ("to_pylist", "to_list"):
        if hasattr(column, name):
            return getattr(column, name)()
    return column


def _decoded(value: Any, kind: Any) -> Any:
    """A value of pyarrow of which JSON in texts is read, as `Json()` of datasets stores it."""
    if value is not None and getattr(kind, "extension_name", None) == "arrow.json":
        return json.loads(value)
    if isinstance(value, list) and hasattr(kind, "value_type"):
        return [_decoded(item, kind.value_type) for item in value]
    if isinstance(value, dict):
        return {name: _decoded(item, kind.field(name).type) for name, item in value.items()}
    return value


def readable(table: Any, column: str, id_column: str | None, keep: Sequence[str]) -> Any:
    """Of a table of polars or pyarrow the columns that are read, as Arrow that can be. polars gives columns without any value a
    buffer that they do not have, and arrow's reader panics at slices of lists of a fixed length."""
    library = type(table).__module__.partition(".")[0]
    is_frame = library == "polars" and hasattr(table, "get_columns")
    if not (is_frame or library == "pyarrow" and hasattr(table, "column_names")):
        return table
    names = table.columns if is_frame else table.column_names
    own = [name for name in ("id", MAX_OUT_LEN) if name in names]
    wanted = list(dict.fromkeys([column, *([id_column] if id_column else []), *own, *companions(names, column), *keep]))
    # What is missing is told with the names of all columns.
    if len(set(names)) == len(names) and set(wanted) <= set(names):
        table = table.select(wanted)
    if is_frame and any(kind in str(table.schema) for kind in ("Null", "Array(")):
        try:
            table = table.to_arrow()
        except ImportError:
            what = "the table has a column without any value or with lists of a fixed length, which can be read from polars only with pyarrow"
            raise UsageError(f"{what}; install pyarrow, or drop the column", kind="unsupported-table") from None
    return _without_slices(table) if "fixed_size_list" in str(table.schema) else table


def _without_slices(table: Any) -> Any:
    """The same table of pyarrow with copies of the slices of columns that have lists of a fixed length."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    for at, field in enumerate(table.schema):
        if "fixed_size_list" in str(field.type):
            chunks = [chunk.take(pa.array(range(len(chunk)))) for chunk in table[at].chunks]
            table = table.set_column(at, field, pa.chunked_array(chunks, field.type))
    return table


def with_column(rows: Any, name: str, values: list[Any]) -> Any:
    """A table with one more column, for a library that takes back what it gave; of a mapping only this column."""
    if isinstance(rows, Mapping):
        return {name: values}
    if hasattr(rows, "append_column"):
        import pyarrow as pa

        kept = rows.drop_columns([name]) if name in rows.column_names else rows
        return kept.append_column(name, pa.array(values, pa.list_(pa.int32())))
    if hasattr(rows, "with_columns"):
        import polars

        return rows.with_columns(polars.Series(name, [ids.tolist() for ids in values], polars.List(polars.Int32)))
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
