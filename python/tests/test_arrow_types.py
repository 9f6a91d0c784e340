"""The types of Arrow's columns that are conversations, and those that are not."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

import metatok
from metatok import PromptBuilder

pa = pytest.importorskip("pyarrow")

BINARY = [pa.binary(), pa.large_binary(), pa.binary_view()]
GREETING = "Héllo \U0001f600"


@pytest.mark.parametrize("kind", BINARY, ids=str)
def test_bytes_that_are_text_are_text(builder: PromptBuilder, kind: Any) -> None:
    said = pa.array([GREETING.encode(), b"Who?"], kind)
    built = pa.table(builder.build_arrow(pa.table({"text": said, "id": said}), "text"))
    assert built["input_ids"].to_pylist() == [builder.build(text).tolist() for text in (GREETING, "Who?")]
    assert built["id"].to_pylist() == [GREETING, "Who?"]


@pytest.mark.parametrize("kind", BINARY, ids=str)
def test_bytes_in_messages_are_text(builder: PromptBuilder, kind: Any) -> None:
    messages = pa.list_(pa.struct([("role", kind), ("content", kind)]))
    said = pa.array([[{"role": b"user", "content": GREETING.encode()}]], messages)
    built = pa.table(builder.build_arrow(pa.table({"messages": said})))
    expected = builder.build([{"role": "user", "content": GREETING}])
    assert built["input_ids"].to_pylist() == [expected.tolist()]


@pytest.mark.parametrize("chunks", [1, 2])
def test_bytes_that_are_no_text_are_named(builder: PromptBuilder, chunks: int) -> None:
    parts = [pa.table({"text": pa.array([b"a", b"b"])}), pa.table({"text": pa.array([b"c", b"\xff"])})]
    table = pa.concat_tables(parts)
    table = table if chunks == 2 else table.combine_chunks()
    with pytest.raises(metatok.InputError, match='conversation 3: column "text": the bytes are not text') as caught:
        builder.build_arrow(table, "text")
    assert caught.value.place == {"conversation": 3, "column": "text"}
    with pytest.raises(metatok.InputError, match='column "text": the bytes are not text'):
        builder.build_arrow(table.append_column("said", pa.array(["Hi!"] * 4)), "said", id_column="text")


@pytest.mark.parametrize(
    ("column", "kind"),
    [([1, 2], "Int64"), ([1.5, None], "Float64"), ([True, False], "Boolean"), ([date(2026, 1, 1), None], "Date32")],
)
def test_numbers_and_dates_are_no_conversations(builder: PromptBuilder, column: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f'column "x" has values of type {kind}: a conversation is text'):
        builder.build_arrow(pa.table({"x": column}), "x")


def test_objects_of_polars_are_no_conversations(builder: PromptBuilder) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": [object(), object()]})
    with pytest.raises(TypeError, match='column "x" has values of type FixedSizeBinary.*neither text nor JSON'):
        builder.build_arrow(frame, "x")


def test_what_is_no_table_is_a_type_error(builder: PromptBuilder) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"text": ["Hi!"]})
    for table in (frame.lazy(), frame["text"], [{"text": "Hi!"}], None, 3):
        with pytest.raises(TypeError, match="a table of Arrow"):
            builder.build_arrow(table, "text")


def test_pandas(builder: PromptBuilder) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["Hi!", "Who?"]})
    built = pa.table(builder.build_arrow(frame, "text"))
    assert built["input_ids"].to_pylist() == [builder.build(text).tolist() for text in frame["text"]]


@pytest.mark.parametrize("column", [["Once", None], [None, None]])
def test_a_null_is_no_conversation(builder: PromptBuilder, column: Any) -> None:
    with pytest.raises(metatok.InputError, match="conversation [01]: the row has no conversation, but a null"):
        builder.build_arrow(pa.table({"text": column}), "text")


DOCUMENT = "{% for d in documents %}{{ d.x }}|{% endfor %}{{ messages[0].content }}"


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        ([Decimal("19.90"), Decimal("-0.05")], pa.decimal128(20, 2), ["19.90", "-0.05"]),
        ([Decimal("0.12345678901234567891")], pa.decimal256(40, 20), ["0.12345678901234567891"]),
        ([datetime(2024, 5, 1, 9, 30), datetime(2024, 5, 1, 9, 30, 0, 250)], pa.timestamp("us"), ["2024-05-01 09:30:00", "2024-05-01 09:30:00.000250"]),
        ([1_714_555_800_000_000_001], pa.timestamp("ns", "Europe/Berlin"), ["2024-05-01 09:30:00.000000001"]),
        ([datetime(9999, 12, 31)], pa.timestamp("s"), ["9999-12-31 00:00:00"]),
        ([date(2024, 5, 1)], pa.date32(), ["2024-05-01"]),
        ([time(9, 30), time(9, 30, 1, 5)], pa.time64("us"), ["09:30:00", "09:30:01.000005"]),
        ([time(23, 59, 59)], pa.time32("s"), ["23:59:59"]),
        ([timedelta(days=1)], pa.duration("us"), ["86400000000"]),
        ([1 / 3, 0.5], pa.float32(), ["0.3333333432674408", "0.5"]),
    ],
    ids=str,
)
def test_values_are_those_of_a_file(values: list[Any], kind: Any, texts: list[str]) -> None:
    builder = PromptBuilder(tokenizer="demo", chat_template=DOCUMENT)
    documents = pa.array([[{"x": value}] for value in values], pa.list_(pa.struct([("x", kind)])))
    messages = [[{"role": "user", "content": "Hi"}]] * len(values)
    built = pa.table(builder.build_arrow(pa.table({"messages": messages, "documents": documents, "id": pa.array(values, kind)})))
    assert [builder.tokenizer.decode(ids.as_py()) for ids in built["input_ids"]] == [f"{text}|Hi" for text in texts]
    assert built["id"].to_pylist() == texts
