"""Spark: conversations as token ids by ``DataFrame.mapInArrow``, with the columns of ``metatok build --format parquet``.

::

    rows = spark.read.json("s3a://bucket/chats/")
    metatok.spark.build(rows, "qwen3", tokenizer="Qwen/Qwen3-8B").write.parquet("s3a://bucket/ids/")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from metatok._table import Tables, kept

#: The columns as Spark writes them. Its Parquet has no fingerprint: Spark keeps no metadata of tables.
SCHEMA = "id string, repeat bigint, turn bigint, max_out_len bigint, input_ids array<bigint>"

Mapped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def in_arrow(
    model: Any = None,
    *,
    column: str = "messages",
    id_column: str = "id",
    keep: str | Sequence[str] = (),
    error_column: str | None = None,
    **builder: Any,
) -> Mapped:
    """The function for ``mapInArrow``, which loads the tokenizer once in each task, and builds on the task's one core.

    Args:
        model: As for :class:`metatok.PromptBuilder`.
        column: The column of conversations.
        id_column: The column of the prompts' ids.
        keep: A further column to keep, or several.
        error_column: A further column for what is wrong with rows that cannot be built, whose ids are null. By default, the
            first such row ends the job.
        builder: The other arguments of :class:`metatok.PromptBuilder`, and the limits of
            :meth:`metatok.PromptBuilder.build_arrow`: ``max_seq_len``, ``max_out_len``, ``truncation``.
    """
    tables = Tables({"model": model, **builder}, column=column, id_column=id_column, keep=keep, error_column=error_column)

    def of_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from tables.of(pa.Table.from_batches([batch])).to_batches()

    return of_batches


def build(
    frame: Any, model: Any = None, *, keep: str | Sequence[str] = (), error_column: str | None = None, **arguments: Any
) -> Any:
    """The ids of a ``DataFrame`` of conversations, as another. The arguments are those of :func:`in_arrow`."""
    errors = "" if error_column is None else f", `{error_column}` string"
    columns = "".join(f", `{name}` {frame.schema[name].dataType.simpleString()}" for name in kept(keep))
    build = in_arrow(model, keep=keep, error_column=error_column, **arguments)
    return frame.mapInArrow(build, SCHEMA + errors + columns)
