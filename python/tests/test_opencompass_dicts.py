"""Model dicts of OpenCompass as a person writes them: what counts of them, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import metatok
from metatok import opencompass

HI = [{"role": "user", "content": "Hi!"}]


class HuggingFacewithChatTemplate:
    """A class in the place of its name."""


def model(**keys: Any) -> dict[str, Any]:
    return {"type": HuggingFacewithChatTemplate, "path": "demo", **keys}


def test_a_chat_wrapper_has_the_tokenizers_template_and_its_own_stops() -> None:
    builder = opencompass.prompt_builder(model(stop_words=["\n\n"]), stop_strings=["Q:"])
    assert builder.build(HI).tolist() == metatok.PromptBuilder(tokenizer="demo").build(HI).tolist()
    assert builder.stop.strings == ["\n\n", "Q:"]


def test_variables_of_the_template_are_given() -> None:
    builder = opencompass.prompt_builder(
        model(chat_template_kwargs={"tone": "loud"}), chat_template="{{ tone }}: {{ messages[0].content }}"
    )
    assert builder.build(HI).text == "loud: Hi!"


def test_roles_that_speak_as_themselves_are_known_and_others_refused() -> None:
    def roles(*names: str) -> list[dict[str, str]]:
        return [{"role": name, "api_role": name} for name in names]

    system = model(meta_template={"round": roles("HUMAN", "BOT"), "reserved_roles": roles("SYSTEM")})
    assert opencompass.prompt_builder(system).options["chat_wrapper"] == "aisbench-chat"
    with pytest.raises(metatok.ModelError, match="reserved_roles") as refused:
        opencompass.prompt_builder(model(meta_template={"round": roles("HUMAN", "CRITIC", "BOT")}))
    assert refused.value.place == {"key": "meta_template"}
    user = model(meta_template={"round": [*roles("HUMAN"), {"role": "SYSTEM", "api_role": "HUMAN"}, *roles("BOT")]})
    assert opencompass.prompt_builder(user).options["chat_wrapper"] == "opencompass-chat"
    begun = [{**roles("HUMAN")[0], "begin": "Q: "}, *roles("BOT")]
    with pytest.raises(metatok.ModelError, match="meta_template"):
        opencompass.prompt_builder(model(meta_template={"round": begun, "reserved_roles": roles("SYSTEM")}))
    own = {**user, "type": "ais_bench.benchmark.models.HuggingFacewithChatTemplate"}
    assert opencompass.prompt_builder(own).options["chat_wrapper"] == "opencompass-chat"


def test_a_base_model_writes_no_template() -> None:
    meta = {"round": [{"role": "HUMAN", "begin": "Q: "}, {"role": "BOT", "begin": "A: ", "generate": True}], "eos_token_id": 7}
    given = {"type": "opencompass.models.HuggingFaceBaseModel", "path": "demo", "meta_template": meta}
    with pytest.warns(metatok.MetatokWarning, match="meta_template is not used, as by HuggingFaceBaseModel itself"):
        builder = opencompass.prompt_builder(given, tokenizer="demo", text=True)
    plain = opencompass.prompt_builder({**given, "meta_template": None}, tokenizer="demo", text=True)
    assert builder.build(HI).text == plain.build(HI).text
    assert builder.stop.token_ids == plain.stop.token_ids


def test_a_template_of_fastchat_is_written_in_place_of_the_tokenizers() -> None:
    builder = opencompass.prompt_builder(model(fastchat_template="vicuna"), tokenizer="demo", text=True)
    text = builder.build("1+1=?").text
    assert text is not None and text.endswith("questions. USER: 1+1=? ASSISTANT:")
    assert pickle.loads(pickle.dumps(builder)).build("1+1=?").text == text
    with pytest.raises(metatok.MetatokError, match="which template FastChat finds"):
        opencompass.prompt_builder(model(fastchat_template="llama-3"))




def test_lists_of_a_configuration_are_found_by_their_names() -> None:
    one, two = {"abbr": "a", "labels": {0: "A"}}, {"abbr": "b"}
    config = {"my_datasets": [one, [two]], "all_datasets": [two], "models": [model()], "other": [{"abbr": "c"}]}
    assert opencompass.datasets(config) == [{"abbr": "a", "labels": {"0": "A"}}, two]
    name = f"{HuggingFacewithChatTemplate.__module__}.HuggingFacewithChatTemplate"
    assert opencompass.models(config) == [{"type": name, "path": "demo"}]


def test_only_the_list_that_opencompass_runs_counts_where_there_is_one() -> None:
    judge, one, two = {"abbr": "judge"}, {"abbr": "a"}, {"abbr": "b"}
    config = {"judge_models": [judge], "models": [one], "math_datasets": [one, two], "datasets": [[two], two]}
    assert opencompass.models(config) == [one]
    assert opencompass.datasets(config) == [two]


def test_a_dict_with_a_class_is_read_by_its_own_function() -> None:
    with pytest.raises(TypeError, match="opencompass.prompt_builder"):
        metatok.PromptBuilder(model())
