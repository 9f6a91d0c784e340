"""A batch of conversations in Arrow as a table of ids: the one that ``metatok build --format parquet`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from metatok import PromptBuilder

#: The columns of every table of ids. The ids are not padded.
FIELDS = [
    pa.field("id", pa.string(), nullable=False),
    pa.field("repeat", pa.int64()),
    pa.field("turn", pa.int64()),
    pa.field("max_out_len", pa.int64()),
    pa.field("input_ids", pa.list_(pa.int64()), nullable=False),
]


class Tables:
    """Makes tables of ids with one builder, which is loaded on first use, so that this pickles small.

    Args:
        builder: The arguments of :class:`metatok.PromptBuilder`.
        column: The column of conversations: lists of messages, or strings.
        id_column: The column of the prompts' ids: strings, or values that are written as JSON.
        keep: Further columns to keep as they are.
        threads: How many threads build.
    """

    def __init__(
        self,
        builder: Mapping[str, Any],
        *,
        column: str = "messages",
        id_column: str = "id",
        keep: Sequence[str] = (),
        threads: int = 1,
    ) -> None:
        self._arguments = dict(builder)
        self._column, self._id_column, self._keep = column, id_column, tuple(keep)
        self._threads = threads
        self._builder: PromptBuilder | None = None

    @property
    def builder(self) -> PromptBuilder:
        if self._builder is None:
            self._builder = PromptBuilder(**self._arguments)
        return self._builder

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_builder": None}

    def metadata(self) -> bytes:
        """The stops and the fingerprint, as ``metatok check --against`` reads them."""
        stop = self.builder.stop
        origin = {"stop_token_ids": list(stop.token_ids), "stop": list(stop.strings)}
        origin["fingerprint"] = json.loads(self.builder.fingerprint)
        return json.dumps(origin, separators=(",", ":"), ensure_ascii=False).encode()

    def schema(self, table: pa.Schema) -> pa.Schema:
        """The schema of the ids of such a table."""
        kept = [table.field(name) for name in self._keep]
        return pa.schema([*FIELDS, *kept], metadata={b"metatok": self.metadata()})

    def of(self, table: pa.Table) -> pa.Table:
        """The ids of a table of conversations, a row for each, in their order.

        Raises:
            KeyError: it lacks a column.
            InputError: of the first conversation that the template does not take.
        """
        missing = [name for name in (self._column, self._id_column, *self._keep) if name not in table.column_names]
        if missing:
            raise KeyError(f"the table has no column {missing[0]!r}; it has {', '.join(table.column_names)}")
        ids = _ids(table[self._id_column])
        given = pa.table({"id": ids, **{name: table[name] for name in (self._column, *self._keep)}})
        try:
            built = pa.table(self.builder.build_arrow(given, self._column, keep=self._keep, threads=self._threads))
        except TypeError:
            # Messages with tool calls and the like are dicts first.
            flat, ends = self.builder._core.build_flat(given[self._column].to_pylist(), self._threads)
            lists = pa.ListArray.from_arrays(pa.array(ends.astype("int32")), pa.array(flat.astype("int64")))
            none = pa.nulls(table.num_rows, pa.int64())
            columns = [ids, none, none, none, lists, *(table[name] for name in self._keep)]
            built = pa.table(columns, schema=self.schema(table.schema))
        # The number of rows is not in it, so that all batches have the same schema.
        return built.replace_schema_metadata({b"metatok": self.metadata()})


def _ids(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_integer(column.type) or pa.types.is_large_string(column.type):
        return column.cast(pa.string())
    texts = [value if isinstance(value, str) else json.dumps(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])
