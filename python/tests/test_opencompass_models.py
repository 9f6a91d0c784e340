"""Every model configuration of the opencompass package: its dicts as its loader gives them build OpenCompass's own prompts."""

from __future__ import annotations

import collections
import importlib.util
from typing import Any

import pytest

pytest.importorskip("mmengine", reason="mmengine is not installed (pip install mmengine-lite)")
pytest.importorskip("opencompass.openicl", reason="opencompass is not installed, or not all that it needs", exc_type=ImportError)

import metatok
from metatok import opencompass

from opencompass_package import Package, outcome

CHAT = ("withChatTemplate", "VLModel")


@pytest.fixture(scope="module")
def package() -> Package:
    return Package()


def test_every_model_builds_the_prompts_of_opencompass(package: Package) -> None:
    files, without, counts, different = 0, 0, collections.Counter[str](), []
    for file, config in package.load("models"):
        files += 1
        assert not isinstance(config, Exception), (file, config)
        dicts = opencompass.models(config)
        without += not dicts
        for model in dicts:
            kind, said = compare(package, model)
            counts[kind] += 1
            if said:
                different.append((file, said))
    print(f"\n{files} files of models, {without} of them without any, {sum(counts.values())} model dicts:", dict(counts))
    assert not different, different[:5]


def compare(package: Package, model: dict[str, Any]) -> tuple[str, Any]:
    """Which kind of model it is, and what differs from OpenCompass."""
    name, meta = model["type"].rsplit(".", 1)[-1], model.get("meta_template")
    is_chat = any(word in name for word in CHAT)
    if isinstance(meta, list):
        error = outcome(lambda: opencompass.prompt_builder(model, tokenizer="demo"))
        refused = isinstance(error, metatok.MetatokError) and "comma" in str(error)
        return "refused: a comma makes a list of its template", None if refused else error
    fastchat = model.get("fastchat_template")
    if fastchat and not importlib.util.find_spec("fastchat"):
        return "a template of FastChat's, which is not installed", None
    if not is_chat and any("api_role" in role for role in (meta or {}).get("round", [])):
        return "models behind an API, which take no ids", None
    # The demo's vocabulary is smaller than theirs.
    model = {key: value for key, value in model.items() if key != "pad_token_id"}
    for mode in ("gen",) if is_chat else ("gen", "ppl"):
        builder = opencompass.prompt_builder(model, tokenizer="demo", mode=mode, text=True)
        for prompt in package.conversations():
            built = outcome(lambda: builder.build(prompt))
            there = outcome(lambda: own(package, prompt, mode, meta, is_chat, fastchat))
            if isinstance(there, Exception) and isinstance(built, Exception):
                continue
            here = built if isinstance(built, Exception) else built.tolist() if is_chat else built.text
            if here != there:
                return "different", (model, mode, prompt, here, there)
    if is_chat:
        return ("FastChat's template, same ids" if fastchat else "chat template, same ids"), None
    return ("meta template, same texts" if meta else "no template, same texts"), None


def own(package: Package, prompt: Any, mode: str, meta: Any, is_chat: bool, fastchat: str | None) -> Any:
    return package.chat_ids(prompt, mode, meta, fastchat) if is_chat else package.text(prompt, mode, meta)


def test_fastchat_finds_the_same_templates_by_their_names(package: Package) -> None:
    templates = pytest.importorskip("fastchat.conversation", reason="fastchat is not installed (pip install fschat)").conv_templates
    same, unknown, different = 0, [], []
    for name in ["vicuna", *templates]:
        model = {"type": "VLLMwithChatTemplate", "path": "any/model", "fastchat_template": name}
        builder = outcome(lambda: opencompass.prompt_builder(model, tokenizer="demo", text=True))
        if isinstance(builder, Exception):
            unknown.append(name)
            continue
        messages = [{"role": "user", "content": "1+1=?"}, {"role": "assistant", "content": "2"}, {"role": "user", "content": "2+2=?"}]
        [text] = package.own._format_with_fast_chat_template([messages], name)
        built = outcome(lambda: builder.build(messages).text)
        same += built == text
        if built != text:
            different.append((name, built, text))
    print(f"\n{same} names find the same template, {len(unknown)} have no builder:", *unknown)
    # The rest have stops that the demo does not have, or are found by other names only.
    assert same > 20 and not different, different[:3]
