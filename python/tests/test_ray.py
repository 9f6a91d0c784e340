"""Ray Data on a local cluster: the table of one machine, also where a worker is killed on the way."""

from __future__ import annotations

import json
import os
import pathlib
import signal
from collections.abc import Iterator
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason='Ray is not installed (pip install "ray[data]")')
pytest.importorskip("ray.data", reason='Ray Data is not installed (pip install "ray[data]")')

import pyarrow as pa
import pyarrow.parquet as pq

import metatok.ray
from single import chats, single

ROWS = int(os.environ.get("METATOK_RAY_ROWS", "20000"))


class DiesOnce(metatok.ray.Build):
    """Kills its process in the middle of the work, the first time."""

    def __init__(self, *args: Any, mark: str, after: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._mark, self._after, self._batches = mark, after, 0

    def __call__(self, batch: pa.Table) -> pa.Table:
        self._batches += 1
        if self._batches == self._after:
            try:
                os.close(os.open(self._mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return super().__call__(batch)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(batch)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    paths = [str(pathlib.Path(metatok.__file__).parents[1]), str(pathlib.Path(__file__).parent)]
    ray.init(num_cpus=4, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": ":".join(paths)}})
    yield
    ray.shutdown()


def test_the_table_is_that_of_one_machine(cluster: None, tmp_path: pathlib.Path) -> None:
    folder = chats(tmp_path, ROWS, files=8)
    mark, ids = tmp_path / "killed", tmp_path / "ids"
    rows = ray.data.read_json(str(folder), lines=True, override_num_blocks=8)
    built = rows.map_batches(
        DiesOnce,
        fn_constructor_kwargs={"model": "demo", "mark": str(mark), "after": 3},
        batch_format="pyarrow",
        batch_size=max(ROWS // 100, 1),
        compute=ray.data.ActorPoolStrategy(size=2),
        num_cpus=1,
    )
    built.write_parquet(str(ids))
    assert mark.exists(), "a worker was killed"
    one = single(folder, tmp_path / "single.parquet")
    check(ids, one)


def test_build_has_the_same_schema_and_fingerprint(cluster: None, tmp_path: pathlib.Path) -> None:
    folder = chats(tmp_path, 100, files=2)
    rows = ray.data.read_json(str(folder), lines=True)
    metatok.ray.build(rows, "demo", concurrency=1).write_parquet(str(tmp_path / "ids"))
    check(tmp_path / "ids", single(folder, tmp_path / "single.parquet"))


def test_bad_rows_do_not_end_a_job(cluster: None) -> None:
    chats = [[{"role": "user", "content": None if number == 7 else "Hi!"}] for number in range(20)]
    rows = ray.data.from_items([{"id": f"{number:02}", "messages": chat} for number, chat in enumerate(chats)])
    built = metatok.ray.build(rows, "demo", error_column="error").take_all()
    wrong = [(row["id"], row["input_ids"]) for row in built if row["error"] is not None]
    assert (len(built), wrong) == (20, [("07", None)])


def check(ids: pathlib.Path, one: pa.Table) -> None:
    """No row is lost or doubled, each has the same ids, and every shard has the schema, the stops and the fingerprint."""
    shards = sorted(ids.glob("*.parquet"))
    there = json.loads(one.schema.metadata[b"metatok"])
    for shard in shards:
        schema = pq.read_schema(shard)
        here = json.loads(schema.metadata[b"metatok"])
        assert schema.remove_metadata() == one.schema.remove_metadata()
        assert {**here, "rows": there["rows"]} == there
    table = pa.concat_tables([pq.read_table(shard) for shard in shards]).sort_by("id")
    assert table.num_rows == one.num_rows
    assert table.equals(one.sort_by("id"))


def test_rows_become_requests_of_the_vllm_stage() -> None:
    builder = metatok.PromptBuilder("demo")
    row = {"id": "a", "max_out_len": None, "input_ids": builder.build("Hi!").tolist()}
    request = metatok.ray.vllm_row(builder, max_tokens=4)(row)
    assert request["tokenized_prompt"] == row["input_ids"]
    assert request["sampling_params"]["max_tokens"] == 4
    assert request["sampling_params"]["stop_token_ids"] == builder.stop.token_ids
    assert metatok.ray.vllm_row(builder)({**row, "max_out_len": 7})["sampling_params"]["max_tokens"] == 7
    assert metatok.ray.vllm_row(builder, max_tokens=4)({**row, "max_out_len": float("nan")})["sampling_params"]["max_tokens"] == 4
    with pytest.raises(ValueError, match="could not be built"):
        metatok.ray.vllm_row(builder)({**row, "input_ids": None})
