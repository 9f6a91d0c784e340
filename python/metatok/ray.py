"""Ray Data: conversations as token ids on a cluster, as ``metatok build --format parquet`` makes them on one machine.

From JSON lines to Parquet of ids::

    rows = ray.data.read_json("s3://bucket/chats/", lines=True)
    ids = metatok.ray.build(rows, "qwen3", tokenizer="Qwen/Qwen3-8B", concurrency=8)
    ids.write_parquet("s3://bucket/ids/")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from metatok import PromptBuilder
from metatok._table import Tables
from metatok.engines import sampling


class Build:
    """A class for ``Dataset.map_batches``, which loads the tokenizer once in each actor.

    Takes and gives Arrow tables (``batch_format="pyarrow"``): a row of ids for each conversation, in their order.

    Args:
        model: As for :class:`metatok.PromptBuilder`.
        column: The column of conversations.
        id_column: The column of the prompts' ids; Ray numbers no rows, so there must be one.
        keep: A further column to keep, or several.
        error_column: A further column for what is wrong with rows that cannot be built, whose ids are null. By default, the
            first such row ends the job.
        threads: How many threads build, as many as the actor has cores.
        builder: The other arguments of :class:`metatok.PromptBuilder`, and the limits of
            :meth:`metatok.PromptBuilder.build_arrow`: ``max_seq_len``, ``max_out_len``, ``truncation``.
    """

    def __init__(
        self,
        model: Any = None,
        *,
        column: str = "messages",
        id_column: str = "id",
        keep: str | Sequence[str] = (),
        error_column: str | None = None,
        threads: int = 1,
        **builder: Any,
    ) -> None:
        arguments = {"model": model, **builder}
        self._tables = Tables(
            arguments, column=column, id_column=id_column, keep=keep, error_column=error_column, threads=threads
        )
        # An actor that cannot load it fails here, before it has any rows.
        self._tables.builder  # noqa: B018

    def __call__(self, batch: pa.Table) -> pa.Table:
        return self._tables.of(batch)


def build(
    dataset: Any,
    model: Any = None,
    *,
    concurrency: int | tuple[int, int] = 1,
    batch_size: int = 4096,
    num_cpus: float = 1,
    **build: Any,
) -> Any:
    """The ids of a ``ray.data.Dataset`` of conversations, as another.

    Args:
        dataset: A ``ray.data.Dataset``.
        model: As for :class:`Build`.
        concurrency: How many actors, or a tuple of the least and the most.
        batch_size: How many conversations an actor has in memory at a time.
        num_cpus: The cores of an actor, and its threads.
        build: The other arguments of :class:`Build`.
    """
    from ray.data import ActorPoolStrategy

    least, most = (concurrency, concurrency) if isinstance(concurrency, int) else concurrency
    return dataset.map_batches(
        Build,
        fn_constructor_kwargs={"model": model, "threads": max(int(num_cpus), 1), **build},
        batch_format="pyarrow",
        batch_size=batch_size,
        num_cpus=num_cpus,
        compute=ActorPoolStrategy(min_size=least, max_size=most),
        zero_copy_batch=True,
    )


def vllm_row(builder: PromptBuilder, **of_sampling: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A ``preprocess`` for Ray Data's vLLM stage: rows of ids become its requests, and keep their other columns.

    Its own chat template and tokenizer stay off: ``chat_template_stage=False, tokenize_stage=False``.

    Args:
        builder: Whose stops are stated.
        of_sampling: As for :func:`metatok.engines.sampling`.
    """
    params = sampling(builder, **of_sampling)

    def preprocess(row: dict[str, Any]) -> dict[str, Any]:
        if row["input_ids"] is None:
            raise ValueError(f"row {row.get('id')!r} could not be built and has no input_ids: filter such rows out before")
        limit = row.get("max_out_len")
        # Ray's batches of NumPy have NaN in place of a missing number.
        own = {} if limit is None or limit != limit else {"max_tokens": int(limit)}
        return {**row, "tokenized_prompt": row["input_ids"], "sampling_params": {**params, **own}}

    return preprocess
