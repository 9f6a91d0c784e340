"""A batch of conversations in Arrow as a table of ids: the one that ``metatok build --format parquet`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute

from metatok import PromptBuilder
from metatok._columns import companions
from metatok._limits import LIMITS


class Tables:
    """Makes tables of ids with one builder, which is loaded on first use, so that this pickles small.

    Args:
        builder: The arguments of :class:`metatok.PromptBuilder`, and the limits of
            :meth:`metatok.PromptBuilder.build_arrow`.
        column: The column of conversations.
        id_column: The column of the prompts' ids: strings or dates, or values that are written as JSON.
        keep: A further column, or several, to keep as they are.
        error_column: A further column for what is wrong with rows that cannot be built, whose ids are null.
        threads: How many threads build.
    """

    def __init__(
        self,
        builder: Mapping[str, Any],
        *,
        column: str = "messages",
        id_column: str = "id",
        keep: str | Sequence[str] = (),
        error_column: str | None = None,
        threads: int = 1,
    ) -> None:
        self._arguments = {name: value for name, value in builder.items() if name not in LIMITS}
        self._limits = {name: value for name, value in builder.items() if name in LIMITS}
        self._column, self._id_column, self._keep = column, id_column, kept(keep)
        self._error_column, self._threads = error_column, threads
        self._builder: PromptBuilder | None = None

    @property
    def builder(self) -> PromptBuilder:
        if self._builder is None:
            self._builder = PromptBuilder(**self._arguments)
        return self._builder

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_builder": None}

    def of(self, table: pa.Table) -> pa.Table:
        """The ids of a table of conversations, a row for each, in their order.

        Raises:
            KeyError: it lacks a column.
            ValueError: a row has no id.
            InputError: without an ``error_column``, of the first conversation that the template does not take.
        """
        limit = [name for name in table.column_names if name == "max_out_len"]
        more = companions(table.column_names, self._column)
        needed = dict.fromkeys((self._column, self._id_column, *self._keep, *limit, *more))
        missing = [name for name in needed if name not in table.column_names]
        if missing:
            raise KeyError(f"the table has no column {missing[0]!r}; it has {', '.join(table.column_names)}")
        # A number in its place would come again in the next batch.
        nulls = pa.compute.sum(pa.compute.is_null(table[self._id_column], nan_is_null=True)).as_py()
        if nulls:
            raise ValueError(f"{nulls} of {table.num_rows} rows have no {self._id_column!r}, which must tell them apart")
        built = pa.table(
            self.builder.build_arrow(
                _unpickled(table.select(list(needed))),
                self._column,
                id_column=self._id_column,
                keep=self._keep,
                error_column=self._error_column,
                threads=self._threads,
                **self._limits,
            )
        )
        origin = json.loads(built.schema.metadata[b"metatok"])
        # All batches have the same schema.
        del origin["rows"]
        metadata = json.dumps(origin, separators=(",", ":"), ensure_ascii=False)
        return built.replace_schema_metadata({b"metatok": metadata.encode()})


def kept(keep: str | Sequence[str]) -> tuple[str, ...]:
    """The columns to keep besides those that a table of ids has anyway."""
    names = (keep,) if isinstance(keep, str) else keep
    return tuple(name for name in names if name != "max_out_len")


def _unpickled(table: pa.Table) -> pa.Table:
    """With lists and structs in place of the pickled objects as which Ray keeps them after a step on batches of NumPy."""
    for at, field in enumerate(table.schema):
        if getattr(field.type, "extension_name", "") == "ray.data.arrow_pickled_object":
            table = table.set_column(at, field.name, pa.array(table[field.name].to_pylist()))
    return table
