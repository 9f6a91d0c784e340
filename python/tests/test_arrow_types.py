"""The types of Arrow's columns that are conversations, and those that are not."""

from __future__ import annotations

from datetime import date
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
