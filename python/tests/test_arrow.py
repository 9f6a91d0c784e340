"""Tables of Arrow, in and out."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from metatok import MetatokError, MetatokWarning, PromptBuilder, UsageError

pa = pytest.importorskip("pyarrow")

CHATS = [
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi! \U0001f600"}],
    [{"role": "user", "content": "Which planet is red?"}],
    [{"role": "user", "content": "1+1=?"}, {"role": "assistant", "content": "2"}, {"role": "user", "content": "+1?"}],
]


def expected(builder: PromptBuilder) -> list[list[int]]:
    return [prompt.tolist() for prompt in builder.build_all(CHATS)]


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("large", [False, True])
def test_a_table_of_messages_becomes_a_table_of_ids(builder: PromptBuilder, chunks: int, large: bool) -> None:
    text = pa.large_string() if large else pa.string()
    list_of = pa.large_list if large else pa.list_
    kind = list_of(pa.struct([("role", text), ("content", text)]))
    table = pa.table({"messages": pa.array(CHATS, kind), "topic": ["a", "b", "c"]})
    table = pa.concat_tables([table.slice(i * 3 // chunks, 3 // chunks) for i in range(chunks)])
    built = pa.table(builder.build_arrow(table, keep=["topic"], first_row=10))
    with pytest.raises(UsageError, match='two columns "topic"'):
        builder.build_arrow(table, keep=["topic", "topic"])
    assert built["input_ids"].to_pylist() == expected(builder)
    assert built["id"].to_pylist() == ["10", "11", "12"] and built["topic"].to_pylist() == ["a", "b", "c"]
    metadata = json.loads(built.schema.metadata[b"metatok"])
    assert metadata["rows"] == 3 and metadata["fingerprint"] == json.loads(builder.fingerprint)


def test_the_table_is_that_of_the_command_line(builder: PromptBuilder, tmp_path: Path) -> None:
    lines = [{"id": f"row {i}", "messages": chat} for i, chat in enumerate(CHATS)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "metatok", "build", "-q", "-m", "demo", "--format", "parquet"]
    subprocess.run([*command, "-o", tmp_path / "out.parquet", tmp_path / "in.jsonl"], check=True)
    written = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "out.parquet")
    table = pa.table({"id": [line["id"] for line in lines], "messages": CHATS})
    built = pa.table(builder.build_arrow(table))
    assert built.equals(written)
    assert built.schema.equals(written.schema) and built.schema.metadata[b"metatok"] == written.schema.metadata[b"metatok"]


def test_polars_with_columns_without_any_value(builder: PromptBuilder) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    frame = polars.DataFrame({"messages": [[{"role": "user", "content": "Hi!", "name": None}]], "system": [None], "other": [None]})
    built = polars.DataFrame(builder.build_arrow(frame, keep="other"))
    assert built["input_ids"].to_list() == [builder.build([{"role": "user", "content": "Hi!"}]).tolist()]
    assert built["other"].to_list() == [None]


def test_polars(builder: PromptBuilder) -> None:
    polars = pytest.importorskip("polars")
    built = polars.DataFrame(builder.build_arrow(polars.DataFrame({"messages": CHATS})))
    assert built["input_ids"].to_list() == expected(builder)


def test_other_columns(builder: PromptBuilder) -> None:
    texts = pa.table({"text": ["Once", "upon a time"]})
    built = pa.table(builder.build_arrow(texts, "text", ids_column="ids"))
    assert built["ids"].to_pylist() == [builder.build(text).tolist() for text in texts["text"].to_pylist()]
    with pytest.raises(MetatokError, match="there is no column \"messages\""):
        builder.build_arrow(texts)


CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
RECORDS = {
    "a further key": [{"role": "user", "content": "Hi!", "name": "Ann"}],
    "a content of parts": [{"role": "user", "content": [{"type": "text", "text": "Hi!"}]}],
    "a call of a tool": [
        {"role": "user", "content": "1+2=?"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "3"},
    ],
    "a record": {"messages": [{"role": "user", "content": "Hi!"}], "topic": "greetings"},
    "other keys": {"conversations": [{"from": "human", "value": "Hi!"}]},
}
TEMPLATE = """{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{{ message.name or "" }}
{%- for call in message.tool_calls or [] %}{{ call.function.name }}{{ call.function.arguments | tojson }}{% endfor %}
{%- endfor %}"""


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("kind", ["pyarrow", "polars"])
def test_other_values_are_built_as_by_build(name: str, kind: str) -> None:
    builder = PromptBuilder(chat_template=TEMPLATE, tokenizer="demo")
    said: Any = [RECORDS[name], RECORDS[name]]
    table = pa.table({"messages": said})
    if kind == "polars":
        table = pytest.importorskip("polars").DataFrame({"messages": said})
    built = pa.table(builder.build_arrow(table))
    # What Arrow has of it: keys that a message lacks are null.
    rows = pa.table(table)["messages"].to_pylist()
    assert built["input_ids"].to_pylist() == [prompt.tolist() for prompt in builder.build_all(rows)]


def test_a_null_is_no_conversation(builder: PromptBuilder) -> None:
    for column in (["Once", None], [CHATS[0], None], [CHATS[0], [{"role": "user", "content": None}]]):
        with pytest.raises(MetatokError) as raised:
            builder.build_arrow(pa.table({"chat": column}), "chat")
        assert "conversation 1" in str(raised.value)


def test_messages_as_json_are_not_taken_for_texts(builder: PromptBuilder) -> None:
    texts = ['[{"role": "user", "content": "Hi"}]']
    for values in (pa.array(texts), pa.array(texts, pa.large_binary()), pa.array(texts).dictionary_encode()):
        with pytest.raises(TypeError, match="texts are no lists of messages: read them"):
            builder.build_arrow(pa.table({"messages": values}))
    assert pa.table(builder.build_arrow(pa.table({"text": texts}), "text")).num_rows == 1


def test_an_empty_conversation_is_refused_as_by_build() -> None:
    builder = PromptBuilder(tokenizer="demo")
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    table = pa.table({"messages": pa.array([CHATS[0], []], pa.list_(message))})
    with pytest.raises(MetatokError, match="conversation 1: the conversation is empty"):
        builder.build_arrow(table)


def test_ids_of_rows(builder: PromptBuilder) -> None:
    at, day = [{"page": 1}, {"page": 2}], [date(2026, 1, 1), None]
    table = pa.table({"text": ["a", "b"], "n": [7, None], "at": at, "day": day})
    numbers = pa.table(builder.build_arrow(table, "text", id_column="n"))
    assert numbers["id"].to_pylist() == ["7", "1"]
    places = pa.table(builder.build_arrow(table, "text", id_column="at"))
    assert places["id"].to_pylist() == ['{"page":1}', '{"page":2}']
    days = pa.table(builder.build_arrow(table, "text", id_column="day"))
    assert days["id"].to_pylist() == ["2026-01-01", "1"]
    with pytest.raises(MetatokError, match='there is no column "name"'):
        builder.build_arrow(table, "text", id_column="name")


def test_slices_of_lists_of_a_fixed_length(builder: PromptBuilder) -> None:
    of_one = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]), 1)
    chats = [[{"role": "user", "content": f"Hi {number}!"}] for number in range(6)]
    table = pa.table({"messages": pa.array(chats, of_one)})
    for sliced in (table.slice(2, 3), table.slice(2, 3).to_batches()[0], pa.concat_tables([table.slice(2, 1), table.slice(3, 2)])):
        built = pa.table(builder.build_arrow(sliced))["input_ids"].to_pylist()
        assert built == [builder.build(chat).tolist() for chat in chats[2:5]]
    # Columns that are not read stay as they are.
    wide = table.append_column("embedding", pa.array([[1.0, 2.0]] * 6, pa.list_(pa.float32(), 2)))
    wide = wide.append_column("other", pa.array([chats[0]] * 6, of_one)).slice(2, 3)
    assert pa.table(builder.build_arrow(wide))["input_ids"].to_pylist() == built
    kept = pa.table(builder.build_arrow(wide, keep=["other", "embedding"]))
    assert kept["other"].to_pylist() == [chats[0]] * 3 and kept["embedding"].to_pylist() == [[1.0, 2.0]] * 3
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"messages": pa.array(chats, of_one)}).slice(2, 3)
    assert pa.table(builder.build_arrow(frame))["input_ids"].to_pylist() == built


def test_ids_that_are_nan_are_missing(builder: PromptBuilder) -> None:
    table = pa.table({"prompt": ["a", "b", "c"], "id": [3.0, float("nan"), None]})
    assert pa.table(builder.build_arrow(table, "prompt"))["id"].to_pylist() == ["3.0", "1", "2"]
    wrong = pa.table({"messages": [CHATS[0], []], "id": [3.0, float("nan")]})
    with pytest.raises(MetatokError) as caught:
        builder.build_arrow(wrong)
    assert caught.value.place == {"conversation": 1}


def test_a_column_is_read_with_others_as_from_a_file(builder: PromptBuilder) -> None:
    table = pa.table({"prompt": ["Hi!"], "system": ["Be brief."]})
    with pytest.raises(MetatokError, match='"system" cannot be combined with a text without a template'):
        builder.build_arrow(table, "prompt")
    with pytest.raises(MetatokError, match='"system" cannot be combined with a text without a template'):
        builder.map("prompt")(table.to_pydict())
    # Under another name, texts are all that there is.
    alone = table.rename_columns(["question", "system"])
    assert pa.table(builder.build_arrow(alone, "question"))["input_ids"].to_pylist() == [builder.build("Hi!").tolist()]


def test_repeated_ids_of_rows_are_told(builder: PromptBuilder) -> None:
    table = pa.table({"id": [1, 2, None], "messages": CHATS})
    with pytest.warns(MetatokWarning, match="conversations 1 and 2 both have the id 2"):
        builder.build_arrow(table)


def test_json_in_texts_at_any_depth() -> None:
    """As `Json()` of datasets stores values of several types."""
    if not hasattr(pa, "json_"):
        pytest.skip("this pyarrow has no type for JSON")
    template = "{{ tools | tojson if tools }}{% for m in messages %}{{ m.content }}{{ (m.calls or []) | tojson }}{% endfor %}"
    builder = PromptBuilder(tokenizer="demo", chat_template=template)
    call = {"name": "f", "arguments": {"b": [1, "x"], "a": None}}
    chat = [{"role": "user", "content": "Hi!", "calls": [call]}]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    expected = [builder.build({"messages": chat, "tools": tools}).tolist()]

    def texts(values: list[Any]) -> Any:
        return pa.ExtensionArray.from_storage(pa.json_(), pa.array([json.dumps(value) for value in values]))

    def lists(values: Any) -> Any:
        return pa.ListArray.from_arrays([0, len(values)], values)

    def structs(**fields: Any) -> Any:
        return pa.StructArray.from_arrays([fields[name] for name in fields], list(fields))

    calls = lists(structs(name=pa.array(["f"]), arguments=texts([call["arguments"]])))
    deep = lists(structs(role=pa.array(["user"]), content=texts(["Hi!"]), calls=calls))
    for messages in (texts([chat]), lists(texts(chat)), deep):
        for described in (texts([tools]), lists(texts(tools))):
            table = pa.table({"messages": messages, "tools": described})
            assert pa.table(builder.build_arrow(table))["input_ids"].to_pylist() == expected
            assert builder.map()(table)["input_ids"].to_pylist() == expected
    plain = pa.table({"messages": lists(structs(role=pa.array(["user"]), content=texts(["Hi!"])))})
    assert pa.table(builder.build_arrow(plain))["input_ids"].to_pylist() == [builder.build([{"role": "user", "content": "Hi!"}]).tolist()]
    broken = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{"]))
    with pytest.raises(MetatokError, match="is JSON by its type"):
        builder.build_arrow(pa.table({"messages": broken}))


@pytest.mark.filterwarnings("ignore::metatok.MetatokWarning")
def test_one_image_beside_messages() -> None:
    parts = "{% for c in m.content %}{{ '<img>' if c.type == 'image' else c.text }}{% endfor %}"
    builder = PromptBuilder(tokenizer="demo", chat_template=f"{{% for m in messages %}}{parts}{{% endfor %}}")
    chat = [{"role": "user", "content": "<image>Hi!"}]
    expected = builder.build({"messages": chat, "image": "a.png"})
    assert expected.text == "<img>Hi!"
    for image in ("a.png", {"bytes": b"\x89PNG", "path": None}, {"bytes": b"<svg", "path": None}):
        table = pa.table({"messages": [chat], "image": [image]})
        assert pa.table(builder.build_arrow(table))["input_ids"].to_pylist() == [expected.tolist()]
        assert builder.map()(table)["input_ids"].to_pylist() == [expected.tolist()]
