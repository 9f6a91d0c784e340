"""Which template is used, what it is given, and what it leaves out."""

from __future__ import annotations

import json
import pickle
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metatok
from answers import DEMO
from metatok import PromptBuilder

HI = [{"role": "user", "content": "Hi!"}]
ROUND = [{"role": "HUMAN", "begin": "Q: ", "end": "\n"}, {"role": "BOT", "begin": "A:", "generate": True}]
META = {"round": ROUND, "eos_token_id": 1052}
JINJA = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    ("model", "given", "names"),
    [
        ("demo", {"meta_template": META}, ["model", "meta_template"]),
        ({"meta_template": META}, {"meta_template": META}, ["model", "meta_template"]),
        (None, {"meta_template": META, "chat_template": JINJA}, ["meta_template", "chat_template"]),
        (None, {"meta_template": META, "conversation_template": "vicuna"}, ["meta_template", "conversation_template"]),
        (None, {"chat_template": JINJA, "conversation_template": "vicuna"}, ["chat_template", "conversation_template"]),
        ("demo", {"chat_template": JINJA, "conversation_template": "vicuna"}, ["chat_template", "conversation_template"]),
    ],
)
def test_two_templates_are_one_too_many(model: Any, given: dict[str, Any], names: list[str]) -> None:
    with pytest.raises(metatok.UsageError, match=f"both {names[0]} and {names[1]}"):
        PromptBuilder(model, tokenizer="demo", **given)


def test_a_template_may_replace_that_of_the_model() -> None:
    assert PromptBuilder("demo", chat_template=JINJA).build(HI).text == "[user] Hi!"
    assert "USER: Hi!" in PromptBuilder("demo", conversation_template="vicuna_v1.1").build(HI).text


def test_templates_may_be_paths(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text(JINJA)
    assert PromptBuilder(tokenizer="demo", chat_template=file).build(HI).text == "[user] Hi!"
    with pytest.raises(metatok.MetatokError, match="none.json"):
        PromptBuilder(tokenizer="demo", conversation_template=tmp_path / "none.json")


class Named:
    """A loaded tokenizer with several chat templates, and a special token of its own."""

    name_or_path = "named"
    chat_template: Any = {"default": JINJA, "rag": "{{ messages[0].content }}{{ image_token }}{{ eos_token }}"}
    eos_token = "<|im_end|>"
    special_tokens_map = {"eos_token": "<|im_end|>", "image_token": "<|im_start|>"}

    @property
    def backend_tokenizer(self) -> Any:
        tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
        return tokenizers.Tokenizer.from_file(str(DEMO / "tokenizer.json"))


@pytest.mark.parametrize(
    ("chat_template", "text"),
    [("rag", "Hi!<|im_start|><|im_end|>"), ("default", "[user] Hi!"), (None, "[user] Hi!"), ("{{ messages[0].role }}", "user")],
)
def test_a_loaded_tokenizer_has_named_templates(chat_template: Any, text: str) -> None:
    assert PromptBuilder.from_tokenizer(Named(), chat_template=chat_template).build(HI).text == text


def test_a_template_that_a_loaded_tokenizer_lacks_is_named() -> None:
    with pytest.raises(metatok.UsageError, match="'tool_use'.*it has default, rag"):
        PromptBuilder.from_tokenizer(Named(), chat_template="tool_use")


def test_several_templates_without_a_default_are_named() -> None:
    tokenizer = Named()
    tokenizer.chat_template = {"rag": "R", "tool_use": "T"}
    with pytest.raises(metatok.ModelError, match="has the chat templates rag, tool_use, and none named default"):
        PromptBuilder.from_tokenizer(tokenizer)


@pytest.mark.parametrize("key", ["extra_special_tokens", "model_specific_special_tokens"])
@pytest.mark.parametrize("token", ["<|im_start|>", {"content": "<|im_start|>", "special": True}])
def test_a_folder_names_special_tokens_of_its_model(tmp_path: Path, key: str, token: Any) -> None:
    demo = DEMO
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((demo / file).read_bytes())
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    template = "{{ messages[0].content }}{{ image_token }}"
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({**config, key: {"image_token": token}, "chat_template": template})
    )
    assert PromptBuilder(tokenizer=tmp_path).build(HI).text == "Hi!<|im_start|>"


def test_transformers_gives_special_tokens_of_its_model() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    demo = str(DEMO)
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo, extra_special_tokens={"image_token": "<|im_start|>"})
    tokenizer.chat_template = "{{ messages[0].content }}{{ image_token }}{{ eos_token }}"
    there = tokenizer.apply_chat_template(HI, tokenize=False)
    assert PromptBuilder.from_tokenizer(tokenizer).build(HI).text == there == "Hi!<|im_start|><|im_end|>"


@pytest.mark.parametrize("name", ["add_generation_prompt", "continue_final_message", "tools", "documents", "messages"])
def test_what_a_variable_cannot_decide_is_an_error(name: str) -> None:
    with pytest.raises(metatok.UsageError, match=f'"{name}" would be lost'):
        PromptBuilder(tokenizer="demo", chat_template=JINJA, template_kwargs={name: False})
    builder = PromptBuilder(tokenizer="demo", chat_template=JINJA)
    with pytest.raises(metatok.InputError, match=f'chat_template_kwargs: "{name}" would be lost'):
        builder.build({"messages": HI, "chat_template_kwargs": {name: False}})


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"add_generation_prompt": False}, "add_generation_prompt"),
        ({"continue_final_message": True, "add_generation_prompt": False}, "add_generation_prompt"),
        ({"continue_final_message": True}, "continue_final_message"),
        ({"add_generation_prompt": True, "continue_final_message": False}, None),
        ({"add_generation_prompt": None}, None),
    ],
)
@pytest.mark.parametrize("given", [{"model": "demo"}, {"tokenizer": "demo"}])
def test_how_a_prompt_ends_is_no_key_of_a_record(keys: dict[str, Any], name: str | None, given: dict[str, Any]) -> None:
    builder = PromptBuilder(**given)
    if name is None:
        assert builder.build({"messages": HI, **keys}).tolist() == builder.build(HI).tolist()
        return
    with pytest.raises(metatok.InputError, match=f'"{name}" would be lost.*continue_final_message'):
        builder.build({"messages": HI, **keys})


TOOL = {"type": "function", "function": {"name": "add"}}
#: What is left out, with a builder that leaves it out.
LEFT_OUT: dict[str, tuple[dict[str, Any], Any, str]] = {
    "tools": ({"chat_template": JINJA}, {"messages": HI, "tools": [TOOL]}, "tools of 2 conversations left out"),
    "documents": ({"chat_template": JINJA}, {"messages": HI, "documents": [{"text": "x"}]}, "documents of 2"),
    "a variable": ({"chat_template": JINJA}, {"messages": HI, "chat_template_kwargs": {"x": 1}}, "x of 2 conversations"),
    "a key": ({"model": "demo"}, [{"role": "user", "content": "Hi!", "country": "UK"}], 'unknown keys .*"country"'),
    "a completion": ({"model": "demo"}, {"prompt": "1+1=", "completion": "2"}, "2 completions left out"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_a_prompt_leaves_out_is_told_once(name: str) -> None:
    given, said, what = LEFT_OUT[name]
    builder = PromptBuilder(tokenizer="demo", **given)
    with pytest.warns(metatok.MetatokWarning, match=what) as told:
        builder.build_all([said, said])
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.build(said)
        builder.build_batch([said])
    with pytest.warns(metatok.MetatokWarning, match=what):
        PromptBuilder(tokenizer="demo", **given).build_all([said, said])


def test_tables_tell_what_is_left_out() -> None:
    pa = pytest.importorskip("pyarrow")
    builder = PromptBuilder(tokenizer="demo", chat_template=JINJA)
    with pytest.warns(metatok.MetatokWarning, match=r"tools of 2 conversations .*\(first at conversation 0\)"):
        builder.build_arrow(pa.table({"said": [{"messages": HI, "tools": [TOOL]}] * 2}), "said")


def test_what_is_read_is_not_warned_about() -> None:
    builder = PromptBuilder(tokenizer="demo", chat_template="{{ tools }}{{ messages[0].content }}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.build({"messages": HI, "tools": [TOOL]})
        answer = {"role": "assistant", "content": "Hello", "name": "Ann", "refusal": None}
        PromptBuilder("demo").build([*HI, answer, *HI])


@pytest.mark.parametrize("number", [np.int64(1052), np.array([1052, 1050])])
def test_templates_and_datasets_may_have_numbers_of_numpy(number: Any) -> None:
    builder = PromptBuilder(tokenizer="demo", meta_template={**META, "eos_token_id": number})
    assert 1052 in builder.stop.token_ids


DATASET = {
    "reader_cfg": {"input_columns": ["n"], "output_column": "n"},
    "infer_cfg": {
        "ice_template": {"template": "{n}"},
        "prompt_template": {"template": "</E>{n}", "ice_token": "</E>"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [np.int64(0)]},
        "inferencer": {"type": "GenInferencer", "max_out_len": np.int32(7)},
    }
}


def test_datasets_and_examples_may_have_numbers_of_numpy() -> None:
    builder = PromptBuilder("demo")
    task = builder.task(DATASET, train=[{"n": np.float32(0.5)}], num_fewshot=np.int64(1))
    assert task.max_out_len == 7 and task.prompts({"n": np.int64(2)})[0].text == "0.5\n"


@pytest.mark.parametrize(
    ("train", "error", "what"),
    [
        ([{"n": 1}, {"n": [float("nan")]}], metatok.InputError, r"train: row 2: n\[0\]: a number must be neither infinite nor NaN"),
        ([{"n": {1, 2}}], TypeError, "train: row 1: n: expected dicts.*not set"),
        ([{"n": 1}, [2]], TypeError, "train: row 2 must be a dict, not list"),
        ({"n": 1}, TypeError, "a list of rows"),
    ],
)
def test_a_wrong_example_has_its_row(train: Any, error: Any, what: str) -> None:
    with pytest.raises(error, match=what) as caught:
        PromptBuilder("demo").task(DATASET, train=train)
    assert "metatok-" not in str(caught.value)


def test_examples_may_have_what_rows_may_have() -> None:
    task = PromptBuilder("demo").task(DATASET, train=[{"n": Decimal("1.50")}, {"n": float("nan")}], num_fewshot=1)
    assert task.prompts({"n": 2})[0].text == "1.50\n"


def test_options_that_python_has_are_named_as_in_python() -> None:
    builder = PromptBuilder("demo")
    with pytest.raises(metatok.MetatokError, match="`model` in `sampling`"):
        builder.requests([HI], "openai")
    with pytest.raises(metatok.InputError, match="`truncation`") as caught:
        builder.build([{"role": "user", "content": "word " * 100}], max_seq_len=20)
    assert "`truncation`" in (caught.value.way_out or "")


def test_all_options_are_named() -> None:
    with pytest.raises(metatok.UsageError, match="unknown key `spanz`.*did you mean `spans`"):
        PromptBuilder("demo", spanz=True)  # type: ignore[call-arg]
    with pytest.raises(metatok.UsageError, match="unknown key `colour`") as caught:
        PromptBuilder("demo", colour=True)  # type: ignore[call-arg]
    for name in PromptBuilder("demo").options.keys() | {"text", "spans", "offsets", "open_answer", "allow_empty_prompts"}:
        assert f"``{name}``" in (PromptBuilder.__doc__ or "")
        assert f"`{name}`" in str(caught.value)


def test_a_variable_that_no_template_reads_is_a_warning() -> None:
    with pytest.warns(metatok.MetatokWarning, match="enable_thinkng"):
        metatok.PromptBuilder(tokenizer="demo", template_kwargs={"enable_thinkng": False})


@pytest.mark.parametrize("name", ["opencompass-chat", "aisbench-chat"])
def test_chat_wrappers_have_the_names_of_the_command_line(name: str) -> None:
    builder = metatok.PromptBuilder(tokenizer="demo", chat_wrapper=name)
    assert builder.options["chat_wrapper"] == name
    assert pickle.loads(pickle.dumps(builder)).options == builder.options


@pytest.mark.parametrize("code", ["messages[0].content|nothing", "nothing()", "messages is nothing"])
def test_what_jinja_lacks_is_the_models_fault(code: str) -> None:
    builder = metatok.PromptBuilder(tokenizer="demo", chat_template=f"{{% if true %}}{{{{ {code} }}}}{{% endif %}}")
    with pytest.raises(metatok.ModelError):
        builder.build(HI)
