"""Prompts, batches and errors."""

from __future__ import annotations

import contextlib
import gc
import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metatok
from metatok import Prompt, PromptBuilder

HI = [{"role": "user", "content": "Hi!"}]


def chats(count: int) -> list[list[dict[str, str]]]:
    return [[{"role": "user", "content": f"How much is {i} and {i * i}?" * (1 + i % 7)}] for i in range(count)]


def test_one_prompt_is_that_of_the_command_line(builder: PromptBuilder) -> None:
    prompt = builder.build(HI)
    assert prompt.input_ids.dtype == np.uint32
    assert prompt.text == "<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n"
    assert prompt.tolist() == builder.tokenizer.encode(prompt.text).tolist()
    assert prompt.attention_mask.tolist() == [1] * len(prompt)
    assert prompt.stop.token_ids == [1052, 1050]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 1000])
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_many_are_the_same_as_one_by_one(builder: PromptBuilder, count: int, threads: int | None) -> None:
    said = chats(count)
    built = builder.build_all(said, threads=threads)
    assert [prompt.tolist() for prompt in built] == [builder.build(chat).tolist() for chat in said]


@pytest.mark.parametrize("threads", [1, None])
def test_nothing_of_a_conversation_is_left_in_the_next(builder: PromptBuilder, threads: int | None) -> None:
    chance = random.Random(0)

    def message(at: int) -> dict[str, Any]:
        text = chance.choice(["", "é", "Hi! ", "A longer text. "]) * chance.randrange(30)
        content: Any = text if chance.random() < 0.8 else [{"type": "text", "text": text}]
        return {"role": ("user", "assistant")[at % 2], "content": content}

    def said() -> Any:
        messages = [message(at) for at in range(chance.randrange(1, 6))]
        messages[0]["content"] = "?"
        return chance.choice([messages, messages, {"messages": messages}, {"messages": messages, "id": 1}, "a text"])

    several = [said() for _ in range(500)]
    assert builder.build_all(several, threads=threads) == [builder.build(one) for one in several]


def test_a_list_that_becomes_shorter_takes_nothing_of_others(builder: PromptBuilder) -> None:
    class Shortens(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            del short[1:]
            return str.__eq__(self, other)

    roles = ("user", "assistant", "user")
    other = [{"role": role, "content": "of another"} for role in roles]
    short: list[Any] = [{Shortens("role"): "user", "content": "Hi!"}, *other[1:]]
    built = builder.build_all([other] * 32 + [short], threads=1)
    assert built[-1] == builder.build(HI)


@pytest.mark.parametrize("threads", [1, 2, None])
@pytest.mark.parametrize(("unreadable", "first"), [(20, 3), (39, 3), (3, 3), (2, 2), (70, 3)])
def test_the_first_that_fails_is_told(builder: PromptBuilder, threads: int | None, unreadable: int, first: int) -> None:
    said: list[Any] = chats(80)
    said[3] = [{"role": "tool", "content": "Hm."}]
    said[unreadable] = 7
    with pytest.raises((metatok.InputError, TypeError), match=f"conversation {first}\\b"):
        builder.build_all(said, threads=threads)


def test_batches_have_padding_at_their_side(builder: PromptBuilder) -> None:
    said = chats(50)
    ids = [prompt.tolist() for prompt in builder.build_all(said)]
    left = builder.build_batch(said)
    right = builder.build_batch(iter(said), padding_side="right", pad_to_multiple_of=64, dtype="uint32")
    assert left.input_ids.dtype == np.int64 and right.input_ids.dtype == np.uint32
    assert left.input_ids.shape == left.attention_mask.shape == (50, max(map(len, ids)))
    assert right.input_ids.shape[1] % 64 == 0
    for i, prompt in enumerate(ids):
        assert left.input_ids[i, -len(prompt) :].tolist() == prompt
        assert right.input_ids[i, : len(prompt)].tolist() == prompt
    assert [row.tolist() for row in left.rows()] == ids
    assert set(dict(**left)) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize("sequence", [list, iter])
def test_many_by_a_chat_template_are_the_same_as_one_by_one(sequence: Callable[[list[Any]], Any]) -> None:
    # So many that a meta template is made of it: at once of a list, after a while of what does not tell its length.
    said = chats(1100)
    built = PromptBuilder(tokenizer="demo").build_all(sequence(said))
    one_by_one = PromptBuilder(tokenizer="demo")
    for at in (0, 999, 1001, -1):
        assert built[at].tolist() == one_by_one.build(said[at]).tolist()


def test_batches_of_a_stream(builder: PromptBuilder) -> None:
    batches = list(builder.iter_batches(iter(chats(10)), 4))
    assert [len(batch.input_ids) for batch in batches] == [4, 4, 2]
    assert batches[0].input_ids.tolist() == builder.build_batch(chats(4)).input_ids.tolist()


def test_other_forms_of_conversations(builder: PromptBuilder) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi!"}]}]
    begin, end = ({"section": "round", "pos": pos} for pos in ("begin", "end"))
    prompt_list = [begin, {"role": "HUMAN", "prompt": "Hi!"}, {"role": "BOT", "prompt": ""}, end]
    expected = builder.build(HI).tolist()
    for said in ({"messages": HI}, tuple(HI), parts, {"conversations": [{"from": "human", "value": "Hi!"}]}):
        assert builder.build(said).tolist() == expected, said
    assert builder.build(prompt_list).tolist() == expected
    assert builder.build("Hi!").text == "Hi!"


def test_errors_have_their_place(builder: PromptBuilder) -> None:
    bad = [{"role": "user", "content": "Hi!"}, {"role": "tool", "content": "3"}]
    with pytest.raises(metatok.InputError, match='no role "tool"') as caught:
        builder.build(bad)
    assert (caught.value.kind, caught.value.fault, caught.value.place) == ("unknown-role", "input", {"message": 1})
    for threads in (1, 2):
        many: list[Any] = chats(500)
        many[333] = many[400] = bad
        with pytest.raises(metatok.InputError) as caught:
            builder.build_all(many, threads=threads)
        assert caught.value.place == {"conversation": 333, "message": 1}
    with pytest.raises(metatok.InputError) as caught:
        builder.build_all([HI, []])
    assert caught.value.place == {"conversation": 1}
    assert str(caught.value).startswith("conversation 1: the conversation is empty")
    with pytest.raises(TypeError, match="not set"):
        builder.build([{"role": "user", "content": {1, 2}}])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.place, type(again)) == (str(caught.value), caught.value.place, metatok.InputError)


def test_one_conversation_is_no_list_of_them(builder: PromptBuilder) -> None:
    for one in ("Hi!", {"role": "user", "content": "Hi!"}, {"messages": [{"role": "user", "content": "Hi!"}]}):
        with pytest.raises(TypeError, match="a list of conversations"):
            builder.build_all(one)
        with pytest.raises(TypeError, match="a list of conversations"):
            builder.build_batch(one)


@pytest.mark.parametrize(
    ("said", "what", "place"),
    [
        ([{"role": "user", "content": "\ud800"}], "surrogates not allowed", {"message": 0, "key": "content"}),
        ([{"role": "user", "content": "Hi!", "\udc00": 1}], "surrogates not allowed", {"message": 0}),
        ([{"role": "user", "content": "Hi!", "n": float("inf")}], "neither infinite nor NaN", {"message": 0, "key": "n"}),
        ([{"role": "user", "content": "Hi!", "n": 10**400}], "neither infinite nor NaN", {"message": 0, "key": "n"}),
        ({"messages": [*HI, {"role": "user", "x": [{"y": 10**400}]}]}, "NaN", {"message": 1, "key": "x[0].y"}),
        ({"messages": HI, "tools": [{"x": 10**400}]}, "NaN", {"key": "tools[0].x"}),
    ],
)
def test_what_is_no_json_has_its_place(builder: PromptBuilder, said: Any, what: str, place: dict[str, Any]) -> None:
    with pytest.raises(metatok.InputError, match=what):
        builder.build(said)
    with pytest.raises(metatok.InputError, match=f"conversation 1: .*{what}") as caught:
        builder.build_all([HI, said])
    assert caught.value.place == {"conversation": 1, **place}


def test_a_wrong_type_has_its_place(builder: PromptBuilder) -> None:
    with pytest.raises(TypeError, match=r"^message 1: content: expected .*, not bytes$"):
        builder.build([*HI, {"role": "assistant", "content": b""}])
    with pytest.raises(TypeError, match=r"^tools\[0\]: expected .*, not function$"):
        builder.build({"messages": HI, "tools": [lambda: None]})


@pytest.mark.parametrize(
    "build",
    [
        lambda builder, said: builder.build_all(said),
        lambda builder, said: builder.build_batch(said),
        lambda builder, said: builder.build_batch(one for one in said),
        lambda builder, said: builder.requests(said),
        lambda builder, said: list(builder.iter_batches(said, 2)),
        lambda builder, said: builder.map()({"messages": said}),
    ],
)
@pytest.mark.parametrize(
    ("wrong", "what"), [(None, "a conversation is a list of messages, .*, not NoneType"), ([{"role": "user", "content": b""}], "message 0: .*")]
)
def test_a_wrong_type_is_of_a_conversation(builder: PromptBuilder, build: Callable[..., Any], wrong: Any, what: str) -> None:
    for number in (0, 3):
        said: list[Any] = chats(5)
        said[number] = said[4] = wrong
        with pytest.raises(TypeError, match=f"^conversation {number}: {what}"):
            build(builder, said)


def test_keys_that_no_record_has_may_have_any_value(builder: PromptBuilder) -> None:
    expected = builder.build(HI)
    for value in (float("nan"), b"x", object(), {1, 2}, {1: 2}):
        assert builder.build({"messages": HI, "score": value}) == expected


def test_missing_values_of_pandas_are_none(builder: PromptBuilder) -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"messages": [HI, HI], "system": ["Be brief.", float("nan")], "when": [pandas.NaT, pandas.NA]})
    first, second = builder.build_all(rows.to_dict("records"))
    assert second == builder.build(HI)
    assert first == builder.build({"messages": HI, "system": "Be brief."})
    assert [builder.build(row) for _, row in rows.iterrows()] == [first, second]


def test_a_prompt_is_a_sequence_of_ids(builder: PromptBuilder) -> None:
    prompt = builder.build(HI)
    assert list(prompt) == prompt.tolist() and prompt[0] == prompt.tolist()[0]
    assert prompt[-3:].tolist() == prompt.tolist()[-3:]
    assert prompt[[0, 1]].tolist() == prompt.tolist()[:2] and type(prompt[0]) is int


def test_batches_take_types_of_numpy(builder: PromptBuilder) -> None:
    for dtype in ("uint32", np.uint32, np.dtype("uint32")):
        assert builder.build_batch([HI], dtype=dtype).input_ids.dtype == np.uint32
    with pytest.raises(metatok.UsageError, match="float64"):
        builder.build_batch([HI], dtype=float)


def test_batches_of_a_stream_number_their_conversations_on(builder: PromptBuilder) -> None:
    batches = builder.iter_batches(iter([HI] * 5 + [[{"role": "tool", "content": "3"}]]), 2)
    with pytest.raises(metatok.InputError, match="^conversation 5: ") as caught:
        list(batches)
    assert caught.value.place == {"conversation": 5, "message": 0}
    with pytest.raises(TypeError, match="^conversation 5: message 0: "):
        list(builder.iter_batches(iter([HI] * 5 + [[{"role": "user", "content": b""}]]), 2))
    with pytest.raises(metatok.UsageError, match="batch_size is 0"):
        builder.iter_batches([HI], 0)


def test_omitted_answers_are_told_once() -> None:
    builder = PromptBuilder("demo")
    said = [*HI, {"role": "assistant", "content": "Hello"}]
    with pytest.warns(metatok.MetatokWarning, match="2 conversations end with an answer") as caught:
        builder.build_batch([said, said])
        builder.build(said)
    assert len(caught) == 1


def test_large_integers_are_floats_as_in_json() -> None:
    chat = [{"role": "user", "content": "Hi!", "n": 2**64}]
    builder = PromptBuilder(tokenizer="demo", chat_template="{{ messages[0].n }}")
    assert builder.build(chat).text == "1.8446744073709552e+19"


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(metatok.UsageError, match="qwen3"):
        PromptBuilder("qwen33")
    with pytest.raises(metatok.UsageError, match="unknown key `spanz`"):
        PromptBuilder("demo", spanz=True)  # type: ignore[call-arg]
    with pytest.raises(metatok.UsageError, match="nothing says"):
        PromptBuilder()
    with pytest.raises(metatok.UsageError, match="padding_side"):
        PromptBuilder("demo").build_batch([HI], padding_side="top")
    with pytest.raises(metatok.UsageError, match="pad_to_multiple_of is 0"):
        PromptBuilder("demo").build_batch([HI], pad_to_multiple_of=0)
    with pytest.raises(metatok.UsageError, match="threads is 0, but must be at least 1"):
        PromptBuilder("demo").build_all([HI], threads=0)
    with pytest.raises(metatok.UsageError, match="max_seq_len is -1, but must be at least 0"):
        PromptBuilder("demo").build(HI, max_seq_len=-1)


def test_templates_of_ones_own() -> None:
    template = {
        "begin": [1051],
        "round": [{"role": "HUMAN", "begin": "Q: ", "end": "\n"}, {"role": "BOT", "begin": "A:", "generate": True}],
        "eos_token_id": 1052,
    }
    builder = PromptBuilder(tokenizer="demo", meta_template=template)
    assert builder.build(HI).text == "<|im_start|>Q: Hi!\nA:"
    assert 1052 in builder.stop.token_ids
    jinja = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% if x %} {{ x }}{% endif %}{{ eos_token }}{% endfor %}"
    builder = PromptBuilder(tokenizer="demo", chat_template=jinja, template_kwargs={"x": "y"})
    assert builder.build(HI).text == "[user] Hi! y<|im_end|>"
    with pytest.raises(metatok.ModelError, match="99999") as caught:
        PromptBuilder(tokenizer="demo", meta_template={**template, "begin": [99999]})
    assert caught.value.place["key"] == "meta_template.begin[0]"


def test_details_and_budgets(builder: PromptBuilder) -> None:
    detailed = PromptBuilder("demo", spans=True, offsets=True, text=True).build(HI)
    assert detailed.spans and detailed.spans[-1]["end"] == len(detailed)
    assert detailed.spans[0]["role"] == "HUMAN"
    assert detailed.offsets and len(detailed.offsets) == len(detailed)
    assert builder.build(HI).spans is None
    long = [{"role": "user", "content": "word " * 100}]
    with pytest.raises(metatok.InputError) as caught:
        builder.build(long, max_seq_len=50)
    assert caught.value.kind == "too-long"
    cut = builder.build(long, max_seq_len=50, max_out_len=10, truncation="left")
    assert len(cut) == 40 and cut.truncated and cut.truncated["to"] == 40
    assert builder.build_batch([long, HI], max_seq_len=50, truncation="left").input_ids.shape == (2, 50)


def with_image(name: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image", "image": f"{name}.png"}, {"type": "text", "text": "What?"}]}


@pytest.mark.parametrize("options", [{}, {"chat_wrapper": "aisbench-chat"}])
def test_images_have_their_kind_and_source(options: dict[str, Any]) -> None:
    rounds = [
        {"role": "HUMAN", "api_role": "HUMAN", "begin": "Q: ", "end": "\n"},
        {"role": "BOT", "api_role": "BOT", "begin": "A: ", "end": "\n", "generate": True},
    ]
    model = {"meta_template": {"round": rounds}, "multimodal": {"image": "<img>"}}
    builder = PromptBuilder(model, tokenizer="demo", **options)

    def media(prompt: metatok.Prompt) -> list[tuple[Any, ...]]:
        return [(one["kind"], one["source"], one["message"]) for one in prompt.media]

    chat = [with_image("a"), {"role": "assistant", "content": "A map."}, with_image("b")]
    first, last = ("image", "a.png", 0), ("image", "b.png", 2)
    assert media(builder.build(chat)) == media(builder.build_all([chat])[0]) == [first, last]
    room: dict[str, Any] = {"max_seq_len": 20, "truncation": "oldest-turns"}
    assert media(builder.build(chat, **room)) == media(builder.build_all([chat], **room)[0]) == [last]
    dialogue = builder.dialogue(**room)
    for message in chat:
        dialogue.push(message)
    assert media(dialogue.next_prompt()) == [("image", "b.png", 0)]


@pytest.mark.parametrize(
    "build",
    [
        lambda builder, chats: builder.build_batch(chats),
        lambda builder, chats: next(builder.iter_batches(chats, 1)),
        lambda builder, chats: builder.vllm_inputs(chats),
        lambda builder, chats: metatok.engines.llama_cpp_inputs(builder, chats),
        lambda builder, chats: builder.map("chat")({"chat": chats}),
    ],
)
@pytest.mark.parametrize(
    "template",
    [
        {"meta_template": {"round": [{"role": "HUMAN"}, {"role": "BOT", "generate": True}]}, "multimodal": {"image": "<img>"}},
        "{% for m in messages %}{% for p in m.content %}{{ p.text or '<image>' }}{% endfor %}{% endfor %}",
    ],
)
def test_ids_alone_do_not_have_the_images(build: Any, template: Any) -> None:
    of = {"chat_template": template} if isinstance(template, str) else {"model": template}
    builder = PromptBuilder(tokenizer="demo", **of)
    with pytest.warns(metatok.MetatokWarning, match="only placeholders in the ids; give the model the data itself"):
        build(builder, [[with_image("a")]])


def test_builders_pickle_with_their_tokenizer() -> None:
    jinja = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
    for builder in (
        PromptBuilder("demo", stop_strings=["\n\n"]),
        PromptBuilder(tokenizer="demo"),
        PromptBuilder("demo", mode="ppl"),
        PromptBuilder(tokenizer="demo", chat_template=jinja),
    ):
        again = pickle.loads(pickle.dumps(builder))
        assert again.build(HI).tolist() == builder.build(HI).tolist()
        assert (again.fingerprint, again.stop, again.options) == (builder.fingerprint, builder.stop, builder.options)


def test_map_adds_ids(builder: PromptBuilder) -> None:
    add = pickle.loads(pickle.dumps(builder.map(max_seq_len=4096)))
    added = add({"messages": chats(3), "other": [1, 2, 3]})
    assert added == {"input_ids": [builder.build(chat).tolist() for chat in chats(3)]}


@pytest.mark.parametrize("text", ["Hi!", "a\u0301 e", "<|im_end|>"])
@pytest.mark.parametrize("folder", ["llama2", "qwen3"])
def test_the_text_of_a_prompt_is_that_of_its_ids(shared: Path, folder: str, text: str) -> None:
    given: Any = {"tokenizer": shared / "tokenizers" / folder, "meta_template": {}}
    with_text, without = PromptBuilder(**given, text=True).build(text), PromptBuilder(**given).build(text)
    assert with_text.tolist() == without.tolist()
    # The tokenizer of Llama 2 adds a token, that of Qwen 3 composes characters.
    assert with_text.text == without.text == with_text._builder.tokenizer.decode(with_text.input_ids)
    assert with_text.details["text"] == text and "text" not in without.details


def test_rows_of_a_batch_are_copies(builder: PromptBuilder) -> None:
    batch = builder.build_batch([HI])
    next(batch.rows())[0] = 0
    assert batch.input_ids[0, 0] == 1051


def test_a_record_without_a_conversation_names_its_keys(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.InputError, match='the record has "choices", "foo";'):
        builder.build({"choices": ["x"], "foo": object()})


def test_an_empty_stop_string_is_an_error() -> None:
    with pytest.raises(metatok.UsageError, match="`stop_strings`: an empty string would end every answer"):
        metatok.PromptBuilder("demo", stop_strings=["a", ""])


def test_floats_keep_all_digits() -> None:
    numbers = [0.009745430973087721, 0.1 * 249, -179.01437842218678, 1764426308.2394137]
    call = {"function": {"name": "f", "arguments": {"v": numbers}}}
    template = "{% for m in messages %}{{ m.role }}{{ (m.tool_calls or [])|tojson }}{% endfor %}"
    builder = metatok.PromptBuilder(tokenizer="demo", chat_template=template)
    chat = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "user", "content": "?"}]
    assert json.dumps(numbers) in builder.build(chat).text


def test_an_array_of_another_type_is_a_copy() -> None:
    prompt = metatok.PromptBuilder("demo").build([{"role": "user", "content": "Hi!"}])
    assert prompt.__array__(copy=False) is prompt.input_ids
    assert prompt.__array__("int64").dtype == np.int64
    with pytest.raises(ValueError, match="copy=False forbids"):
        prompt.__array__("int64", copy=False)


def test_ids_are_there_while_garbage_is_collected() -> None:
    """Up to Python 3.11 making an object may collect garbage, and run what asks for the same prompt."""
    builder = PromptBuilder("demo")
    asked: list[int] = []
    prompts = builder.build_all([[{"role": "user", "content": f"{i}+1=?"}] for i in range(200)])

    class Garbage:
        def __init__(self, prompt: Prompt) -> None:
            self.prompt, self.own = prompt, self

        def __del__(self) -> None:
            # In the middle of making the array there is neither.
            with contextlib.suppress(RuntimeError):
                self.prompt.tolist()
            asked.append(len(self.prompt))

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for prompt in prompts:
            Garbage(prompt)
            assert prompt.tolist() == prompt.input_ids.tolist()
            assert prompt.input_ids is prompt.input_ids
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert sorted(asked) == sorted(map(len, prompts))
