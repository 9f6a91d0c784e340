"""Tables of ids in Arrow, as Ray and Spark make them."""

from __future__ import annotations

import json
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow.parquet as pq

import metatok
from metatok._table import Tables
from single import chats, single

HI = [{"role": "user", "content": "Hi!"}]


def test_the_table_is_that_of_the_command(tmp_path: pathlib.Path) -> None:
    folder = chats(tmp_path, 30, files=1)
    one = single(folder, tmp_path / "single.parquet")
    lines = (folder / "000.jsonl").read_text(encoding="utf-8").splitlines()
    made = Tables({"model": "demo"}).of(pa.Table.from_pylist([json.loads(line) for line in lines]))
    assert made.equals(one)
    here, there = (json.loads(table.schema.metadata[b"metatok"]) for table in (made, one))
    assert {**here, "rows": 30} == there


def test_check_reads_its_fingerprint(tmp_path: pathlib.Path) -> None:
    shard = tmp_path / "shard.parquet"
    pq.write_table(Tables({"model": "demo"}).of(pa.table({"id": ["a", "b"], "messages": [HI, HI]})), shard)
    checked = [sys.executable, "-m", "metatok", "check", "--against", str(shard), "-m"]
    current = subprocess.run([*checked, "demo"], capture_output=True, text=True, check=True)
    assert current.stderr.startswith("metatok: 2 prompts, up to date")
    assert subprocess.run([*checked, "chatml", "--tokenizer", "demo"]).returncode == 1


def test_messages_of_any_kind_and_further_columns() -> None:
    table = pa.table({"n": [7], "messages": [[{**HI[0], "name": None}]], "year": [2026]})
    made = Tables({"model": "demo"}, id_column="n", keep=["year"]).of(table)
    assert made.schema.names == ["id", "repeat", "turn", "max_out_len", "input_ids", "year"]
    ids = metatok.PromptBuilder("demo").build(HI).tolist()
    assert made.to_pylist() == [
        {"id": "7", "repeat": None, "turn": None, "max_out_len": None, "input_ids": ids, "year": 2026}
    ]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(KeyError, match="no column 'id'; it has messages"):
        Tables({"model": "demo"}).of(pa.table({"messages": [HI]}))


def test_a_row_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2 rows have no 'id'"):
        Tables({"model": "demo"}).of(pa.table({"id": ["a", None], "messages": [HI, HI]}))


EMPTY = [{"role": "user", "content": None}]


@pytest.mark.parametrize(
    ("ids", "id_column", "place"),
    [
        (["x7", "x8"], "id", {"conversation": 1, "message": 0, "id": "x8"}),
        ([7, 8], "n", {"conversation": 1, "message": 0, "id": 8}),
        ([7.5, 8.5], "n", {"conversation": 1, "message": 0, "id": "8.5"}),
    ],
)
@pytest.mark.parametrize("of", ["pyarrow", "polars", "pandas", "tables"])
def test_a_row_that_cannot_be_built_is_named(of: str, ids: list[Any], id_column: str, place: dict[str, Any]) -> None:
    library = pytest.importorskip("pyarrow" if of == "tables" else of, reason=f"{of} is not installed")
    rows = {id_column: ids, "messages": [HI, EMPTY]}
    table = library.DataFrame(rows) if hasattr(library, "DataFrame") else library.table(rows)
    with pytest.raises(metatok.InputError) as caught:
        if of == "tables":
            Tables({"model": "demo"}, id_column=id_column).of(table)
        else:
            metatok.PromptBuilder("demo").build_arrow(table, id_column=id_column)
    assert caught.value.place == place
    assert str(caught.value).startswith(f"conversation 1 (id {place['id']!r}): message 0: a message has no \"content\"")
    assert "at column" not in str(caught.value)


def test_a_row_without_an_id_has_its_number() -> None:
    with pytest.raises(metatok.InputError, match="^conversation 1: message 0") as caught:
        metatok.PromptBuilder("demo").build_arrow(pa.table({"messages": [HI, EMPTY]}))
    assert caught.value.place == {"conversation": 1, "message": 0}


BAD = [
    (EMPTY, None, 'message 0: a message has no "content"'),
    (None, None, "the row has no conversation, but a null"),
    ([{"role": "tool", "content": "3"}], None, 'message 0: the template has no role "tool"'),
    (HI, -1, 'column "max_out_len": -1 is not a number of tokens'),
]


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_cannot_be_built_can_be_told_in_a_column(threads: int) -> None:
    rows = [{"id": str(number), "messages": HI, "max_out_len": 5} for number in range(100)]
    for row, (messages, limit, _) in zip(rows[10::25], BAD):
        row.update(messages=messages, max_out_len=limit)
    table = pa.Table.from_pylist(rows)
    built = Tables({"model": "demo"}, error_column="error", keep="messages", threads=threads).of(table)
    assert built.schema.names == ["id", "repeat", "turn", "max_out_len", "input_ids", "error", "messages"]
    made = built.to_pylist()
    assert [row["id"] for row in made] == [row["id"] for row in rows]
    wrong = [row for row in made if row["error"] is not None]
    assert [row["id"] for row in wrong] == ["10", "35", "60", "85"]
    for row, (_, _, said) in zip(wrong, BAD):
        assert row["error"].startswith(said) and row["input_ids"] is None and row["max_out_len"] is None
    ids = metatok.PromptBuilder("demo").build(HI).tolist()
    assert all(row["input_ids"] == ids and row["max_out_len"] == 5 for row in made if row["error"] is None)


def test_only_rows_are_told_in_a_column() -> None:
    build = metatok.PromptBuilder("demo").build_arrow
    with pytest.raises(metatok.InputError, match='no column "chat"'):
        build(pa.table({"messages": [HI]}), "chat", error_column="error")
    with pytest.raises(metatok.UsageError, match='two columns "id"'):
        build(pa.table({"messages": [HI]}), error_column="id")


def test_what_is_sent_to_workers_is_small() -> None:
    tables = Tables({"model": "demo"})
    tables.of(pa.table({"id": ["a"], "messages": [HI]}))
    assert len(pickle.dumps(tables)) < 1000


def test_polars() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    builder = metatok.PromptBuilder("demo")
    frame = polars.DataFrame({"id": ["a", "b"], "messages": [HI, HI * 2], "year": [1, 2]})
    made = polars.DataFrame(builder.build_arrow(frame, keep=["year"]))
    assert made["input_ids"].to_list() == [prompt.tolist() for prompt in builder.build_all([HI, HI * 2])]
    assert made["year"].to_list() == [1, 2]


def test_datasets() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    builder = metatok.PromptBuilder("demo")
    rows = datasets.Dataset.from_list([{"messages": HI, "n": number} for number in range(10)])
    mapped = rows.map(builder.map(), batched=True, batch_size=4)
    assert mapped["input_ids"][:] == [builder.build(HI).tolist()] * 10
    assert mapped.column_names == ["messages", "n", "input_ids"]


CHATS = [{"id": f"r{number}", "messages": HI * number, "system": "Be brief." if number % 2 else None} for number in range(1, 8)]


@pytest.mark.parametrize("form", [None, "python", "numpy", "arrow", "pandas", "polars"])
@pytest.mark.parametrize("indices", [False, True])
def test_datasets_of_any_format(form: str | None, indices: bool) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    if form in ("pandas", "polars"):
        pytest.importorskip(form, reason=f"{form} is not installed")
    builder = metatok.PromptBuilder("demo")
    rows = datasets.Dataset.from_list(CHATS)
    mapped = rows.with_format(form).map(builder.map(), batched=True, batch_size=3, with_indices=indices).with_format(None)
    assert "int32" in str(mapped.features["input_ids"])
    assert mapped["input_ids"][:] == [prompt.tolist() for prompt in builder.build_all(CHATS)]
    assert mapped.column_names == ["id", "messages", "system", "input_ids"]
    # Ids that are there are replaced.
    again = mapped.with_format(form).map(builder.map(), batched=True).with_format(None)
    assert again["input_ids"][:] == mapped["input_ids"][:]


@pytest.mark.parametrize("form", [None, "numpy", "arrow"])
def test_streams_of_datasets(form: str | None) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    builder = metatok.PromptBuilder("demo")
    rows = datasets.Dataset.from_list(CHATS).to_iterable_dataset(num_shards=2).with_format(form)
    expected = [prompt.tolist() for prompt in builder.build_all(CHATS)]
    mapped = [row["input_ids"] for row in rows.map(builder.map(), batched=True, batch_size=3)]
    if form == "arrow":
        mapped = [ids.to_pylist()[0] for ids in mapped]
    assert (mapped if form is None else [list(ids) for ids in mapped]) == expected


@pytest.mark.parametrize("indices", [False, True])
def test_columns_without_names(indices: bool) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    builder = metatok.PromptBuilder("demo")
    rows = datasets.Dataset.from_list(CHATS)
    given = {"batched": True, "with_indices": indices}
    mapped = rows.map(builder.map(), input_columns=["messages"], **given)
    assert mapped["input_ids"][:] == [prompt.tolist() for prompt in builder.build_all([row["messages"] for row in CHATS])]
    with pytest.raises(TypeError, match="2 columns without their names; leave out input_columns, or name only 'messages'"):
        rows.map(builder.map(), input_columns=["messages", "system"], **given)


@pytest.mark.parametrize("indices", [False, True])
def test_the_only_process_has_no_rank(indices: bool) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    builder = metatok.PromptBuilder("demo")
    rows = datasets.Dataset.from_list(CHATS)
    expected = rows.map(builder.map(), batched=True)["input_ids"][:]
    assert rows.map(builder.map(), batched=True, with_rank=True, with_indices=indices)["input_ids"][:] == expected


@pytest.mark.parametrize("of", ["dict", "pyarrow", "pandas", "polars"])
def test_a_table_is_given_back_with_its_ids(of: str) -> None:
    builder = metatok.PromptBuilder("demo")
    rows: dict[str, list[Any]] = {name: [row[name] for row in CHATS] for name in ("messages", "id")}
    expected = [prompt.tolist() for prompt in builder.build_all(rows["messages"])]
    library = None if of == "dict" else pytest.importorskip(of, reason=f"{of} is not installed")
    table: Any = rows if library is None else library.table(rows) if of == "pyarrow" else library.DataFrame(rows)
    mapped = builder.map()(table)
    assert type(mapped) is type(table)
    assert [list(ids) for ids in (mapped["input_ids"].to_pylist() if of == "pyarrow" else mapped["input_ids"])] == expected
    with pytest.raises(KeyError, match="there is no column 'chat'; there are messages, id"):
        builder.map("chat")(table)


TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
ROWS = [
    {"id": "a", "messages": HI, "tools": [TOOL], "system": None, "score": 1.0},
    {"id": "b", "messages": HI, "tools": None, "system": "Be brief.", "score": None},
]


def test_columns_that_say_more_of_conversations_are_read() -> None:
    template = "{{ tools }}{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"
    builder: dict[str, Any] = {"tokenizer": "demo", "chat_template": template}
    expected = [prompt.tolist() for prompt in metatok.PromptBuilder(**builder).build_all(ROWS)]
    assert len(expected[0]) > len(expected[1]) > len(metatok.PromptBuilder(**builder).build(HI))
    table = pa.Table.from_pylist(ROWS)
    assert pa.table(metatok.PromptBuilder(**builder).build_arrow(table))["input_ids"].to_pylist() == expected
    assert Tables(builder).of(table)["input_ids"].to_pylist() == expected
    mapped = metatok.PromptBuilder(**builder).map()(table.to_pydict())
    assert mapped["input_ids"] == expected
    # Columns of another name are messages, too, and a record of its own says everything.
    renamed = table.rename_columns(["id", "chat", "tools", "system", "score"])
    assert pa.table(metatok.PromptBuilder(**builder).build_arrow(renamed, "chat"))["input_ids"].to_pylist() == expected
    structs = pa.table({"chat": ROWS, "system": ["Be kind."] * 2})
    assert pa.table(metatok.PromptBuilder(**builder).build_arrow(structs, "chat"))["input_ids"].to_pylist() == expected


def test_other_columns_of_texts_are_left_alone() -> None:
    builder = metatok.PromptBuilder("demo", mode="ppl")
    rows = {"rejected": ["BAD."], "completion": ["GOOD."], "system": ["Be brief."], "tools": [[TOOL]]}
    expected = builder.build("BAD.").tolist()
    assert builder.map("rejected")(rows)["input_ids"] == [expected]
    for kind in (pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())):
        table = pa.table({**rows, "rejected": pa.array(rows["rejected"]).cast(kind)})
        assert pa.table(builder.build_arrow(table, "rejected"))["input_ids"].to_pylist() == [expected]


@pytest.mark.parametrize("name", ["completion", "response"])
def test_a_completion_is_scored_after_its_prompt(name: str) -> None:
    builder = metatok.PromptBuilder("demo", mode="ppl")
    rows = [{"prompt": "1+1=", name: "2"}]
    expected = [prompt.tolist() for prompt in builder.build_all(rows)]
    assert expected != [builder.build("1+1=").tolist()]
    table = pa.Table.from_pylist(rows)
    with pytest.warns(metatok.MetatokWarning, match="only a part of a text is scored, but nothing here says which; build_batch"):
        assert pa.table(builder.build_arrow(table, "prompt"))["input_ids"].to_pylist() == expected
    assert builder.map("prompt")(table.to_pydict())["input_ids"] == expected


def test_rows_without_an_id_are_an_error() -> None:
    for ids in ([1.0, None, None], [1.0, float("nan"), float("nan")]):
        with pytest.raises(ValueError, match="2 of 3 rows have no 'id'"):
            Tables({"model": "demo"}).of(pa.table({"id": ids, "messages": [HI] * 3}))


class Pickled(pa.ExtensionType):  # type: ignore[misc, name-defined]
    """As Ray keeps nested lists after a step on batches of NumPy."""

    def __init__(self) -> None:
        super().__init__(pa.large_binary(), "ray.data.arrow_pickled_object")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: Any, serialized: bytes) -> Pickled:
        return cls()

    def __arrow_ext_scalar_class__(self) -> type:
        class Scalar(pa.ExtensionScalar):  # type: ignore[misc, name-defined]
            def as_py(self, **_: Any) -> Any:
                return None if self.value is None else pickle.loads(self.value.as_py())

        return Scalar


def test_objects_that_ray_pickled(builder: metatok.PromptBuilder) -> None:
    column = pa.ExtensionArray.from_storage(Pickled(), pa.array([pickle.dumps(HI)], pa.large_binary()))
    table = pa.table({"id": ["a"], "messages": column})
    assert Tables({"model": "demo"}).of(table)["input_ids"].to_pylist() == [builder.build(HI).tolist()]
    with pytest.raises(TypeError, match=r'"ray.data.arrow_pickled_object" are bytes here: convert the column'):
        builder.build_arrow(table)
