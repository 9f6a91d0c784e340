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


def test_a_dict_with_a_class_is_read_by_its_own_function() -> None:
    with pytest.raises(TypeError, match="opencompass.prompt_builder"):
        metatok.PromptBuilder(model())
