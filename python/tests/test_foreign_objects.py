"""Conversations that are objects of other libraries, and what is no conversation."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pathlib
import uuid
import warnings
from typing import Any

import numpy as np
import pytest

import metatok
from metatok import PromptBuilder

HI = [{"role": "user", "content": "Hi!"}]


@dataclasses.dataclass
class Message:
    role: str
    content: str


class Model:
    """What pydantic's models have, such as the messages of OpenAI's package."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        assert mode == "json"
        return {**self.fields, "refusal": None, "tool_calls": None}


def pandas_row(pandas: Any) -> Any:
    return pandas.DataFrame({"id": ["a"], "messages": [HI]}).iloc[0]


SAID: dict[str, Any] = {
    "a dataclass": lambda: [Message("user", "Hi!")],
    "pydantic": lambda: [Model(role="user", content="Hi!")],
    "NumPy": lambda: np.array(HI, dtype=object),
    "a row of pandas": lambda: pandas_row(pytest.importorskip("pandas")),
    "a column of pandas": lambda: pytest.importorskip("pandas").Series(HI),
    "polars": lambda: pytest.importorskip("polars").Series(HI),
    "pyarrow": lambda: pytest.importorskip("pyarrow").array(HI),
    "a value of pyarrow": lambda: pytest.importorskip("pyarrow").array([HI])[0],
}


@pytest.mark.parametrize("name", SAID)
def test_objects_are_what_they_stand_for(builder: PromptBuilder, name: str) -> None:
    assert builder.build(SAID[name]()).tolist() == builder.build(HI).tolist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_are_lists_of_conversations(builder: PromptBuilder, library: str) -> None:
    module = pytest.importorskip(library)
    column = (module.array if library == "pyarrow" else module.Series)([HI, HI])
    assert [prompt.tolist() for prompt in builder.build_all(column)] == [builder.build(HI).tolist()] * 2


def tables() -> list[Any]:
    found: list[Any] = []
    for library, make in [("pandas", "DataFrame"), ("polars", "DataFrame"), ("polars", "LazyFrame"), ("pyarrow", "table")]:
        try:
            found.append(getattr(__import__(library), make)({"messages": [HI]}))
        except ImportError:
            continue
    return found


@pytest.mark.parametrize("table", tables(), ids=lambda table: f"{type(table).__module__}.{type(table).__name__}")
@pytest.mark.parametrize("method", ["build", "build_all", "build_batch", "requests", "check"])
def test_a_table_is_no_list_of_conversations(builder: PromptBuilder, table: Any, method: str) -> None:
    with pytest.raises(TypeError, match=r"table.to_dict\(\"records\"\)"):
        getattr(builder, method)(table)


def test_a_row_with_names_and_numbers_is_refused(builder: PromptBuilder) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="keys of dicts must be strings"):
        builder.build(pandas.Series([HI, 1], index=["messages", 0]))


@pytest.mark.parametrize("said", [None, 3, 2.5, True, np.int64(3), b"Hi!", object(), Message, np.ndarray])
def test_what_is_no_conversation_is_a_type_error(builder: PromptBuilder, said: Any) -> None:
    with pytest.raises(TypeError) as caught:
        builder.build(said)
    with pytest.raises(TypeError):
        builder.build_all([HI, said])
    assert "line" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        [{"role": "user", "content": 3}],
        [{"role": 3, "content": "Hi!"}],
        {"messages": 3},
        {"messages": [{"role": "user", "content": ["Hi!"]}]},
    ],
)
def test_errors_in_objects_have_no_columns_of_text(builder: PromptBuilder, said: Any) -> None:
    with pytest.raises(metatok.InputError) as caught:
        builder.build(said)
    assert " column " not in str(caught.value) and "line" not in str(caught.value)


@pytest.mark.parametrize("method", ["build_all", "check", "requests", "build_batch"])
@pytest.mark.parametrize("said", ["abc", {"messages": HI}, b"abc", 3, None])
def test_one_conversation_is_no_list_of_them(builder: PromptBuilder, method: str, said: Any) -> None:
    with pytest.raises(TypeError, match="a list of conversations"):
        getattr(builder, method)(said)


def test_diff_takes_a_builder_and_a_list(builder: PromptBuilder) -> None:
    with pytest.raises(TypeError, match="another PromptBuilder, not str"):
        builder.diff("demo")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list of conversations"):
        builder.diff(builder, "abc")
    assert builder.diff(builder, None).different == 0


@pytest.mark.parametrize(
    ("column", "rows"), [("q", {"q": "Hi!"}), ("messages", {"messages": HI}), ("row", {"row": {"messages": HI}})]
)
def test_map_needs_batches(builder: PromptBuilder, column: str, rows: Any) -> None:
    with pytest.raises(TypeError, match="batched=True"):
        builder.map(column)(rows)


def test_map_of_datasets_needs_batches(builder: PromptBuilder) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([{"q": "Hi!"}, {"q": "Who?"}])
    with pytest.raises(TypeError, match="batched=True"):
        rows.map(builder.map("q"))
    mapped = rows.map(builder.map("q"), batched=True)
    assert mapped["input_ids"][0] == builder.build("Hi!").tolist()


def test_a_picture_beside_a_chat_is_no_path() -> None:
    """`datasets` gives columns of images as objects, which are not read. A path is."""
    record = {"messages": [{"role": "user", "content": "What?"}], "image": object()}
    assert metatok.PromptBuilder("demo").build(record).text == metatok.PromptBuilder("demo").build(record["messages"]).text
    with pytest.raises(metatok.MetatokError, match='"image" would be lost'):
        metatok.PromptBuilder("demo").build({**record, "image": "a.png"})


@pytest.mark.parametrize(
    "other",
    [datetime.datetime(2020, 1, 2), datetime.date(2020, 1, 2), uuid.UUID(int=1), decimal.Decimal("1.5"), pathlib.Path("x"), float("nan")],
)
def test_messages_may_have_what_is_written_as_text(builder: PromptBuilder, other: Any) -> None:
    said = [{"role": "user", "content": "Hi!", "timestamp": other}]
    with warnings.catch_warnings():
        # Keys that nothing reads are named, but for those without a value.
        warnings.simplefilter("ignore")
        assert builder.build(said) == builder.build(HI)
    shown = PromptBuilder(tokenizer="demo", chat_template="{{ messages[0].timestamp }}{{ messages[0].content }}", text=True)
    text = "" if isinstance(other, float) else str(other)
    assert shown.build(said).text == f"{text}Hi!"


class Picture:
    """What `datasets` gives for an image: an object of PIL."""


@pytest.mark.filterwarnings("ignore::metatok.MetatokWarning")
@pytest.mark.parametrize(
    "media",
    [
        {"image": Picture()},
        {"images": [Picture()]},
        {"images": np.array([Picture()], dtype=object)},
        {"images": np.array([{"bytes": b"\x89PNG", "path": None}], dtype=object)},
        {"images": np.array(["a.png"])},
        {"images": [np.zeros((2, 2, 3))]},
        {"images": [{"bytes": b"\x89PNG", "path": None}]},
        {"image": {"bytes": b"\x89PNG", "path": "a.png"}},
    ],
)
def test_images_that_are_opened_have_their_places(media: dict[str, Any]) -> None:
    parts = "{% for c in m.content %}{{ '<img>' if c.type == 'image' else c.text }}{% endfor %}"
    builder = PromptBuilder(tokenizer="demo", chat_template=f"{{% for m in messages %}}{parts}{{% endfor %}}")
    for content in ("<image>Hi!", [{"type": "image"}, {"type": "text", "text": "Hi!"}]):
        assert builder.build({"messages": [{"role": "user", "content": content}], **media}).text == "<img>Hi!"
    with pytest.raises(metatok.MetatokError, match='"images" must list paths'):
        builder.build({"messages": [{"role": "user", "content": "<image>Hi!"}], "images": [{}]})
    many = {"images": [Picture(), Picture()]}
    with pytest.raises(metatok.MetatokError, match='"images" has 2 sources, but the messages have 1 part'):
        builder.build({"messages": [{"role": "user", "content": "<image>Hi!"}], **many})


def test_roles_of_training_data(builder: PromptBuilder) -> None:
    expected = builder.build([{"role": "user", "content": "Hi!"}]).tolist()
    assert builder.build([{"role": "human", "content": "Hi!"}]).tolist() == expected
    assert [ids.tolist() for ids in builder.build_all([[{"role": "human", "content": "Hi!"}]])] == [expected]
