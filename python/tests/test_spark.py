"""PySpark on this machine: the table that the command writes."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed (pip install pyspark)")

import pyarrow as pa
import pyarrow.parquet as pq

import metatok.spark
from single import chats, single

ROWS = 2000


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    paths = ":".join([str(pathlib.Path(metatok.__file__).parents[1]), str(pathlib.Path(__file__).parent)])
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executorEnv.PYTHONPATH", paths)
    # Otherwise workers run whatever `python3` there is.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


def test_the_table_is_that_of_one_machine(spark: Any, tmp_path: pathlib.Path) -> None:
    folder = chats(tmp_path, ROWS, files=4)
    rows = spark.read.json(str(folder))
    metatok.spark.build(rows, "demo").write.parquet(str(tmp_path / "ids"))
    one = single(folder, tmp_path / "single.parquet")
    made = pa.concat_tables(pq.read_table(shard) for shard in sorted((tmp_path / "ids").glob("*.parquet")))
    assert made.column_names == one.column_names
    # Spark has no columns without nulls, and no metadata of tables.
    assert made.sort_by("id").to_pylist() == one.sort_by("id").to_pylist()


def test_further_columns_are_kept(spark: Any) -> None:
    rows = [("a", [{"role": "user", "content": "Hi!"}], 3)]
    frame = spark.createDataFrame(rows, "id string, messages array<struct<role: string, content: string>>, year int")
    row = metatok.spark.build(frame, "demo", keep=["year"]).collect()[0]
    assert (row.id, row.year) == ("a", 3)
    assert row.input_ids == metatok.PromptBuilder("demo").build(rows[0][1]).tolist()


def test_bad_rows_do_not_end_a_job(spark: Any) -> None:
    rows = [("a", [{"role": "user", "content": "Hi!"}]), ("b", [{"role": "user", "content": None}])]
    frame = spark.createDataFrame(rows, "id string, messages array<struct<role: string, content: string>>")
    good, bad = sorted(metatok.spark.build(frame, "demo", error_column="error").collect(), key=lambda row: row.id)
    assert (len(good.input_ids), good.error, bad.input_ids) == (14, None, None)
    assert bad.error.startswith('message 0: a message has no "content"')
