"""Every model configuration of the opencompass package: its dicts as its loader gives them build OpenCompass's own prompts."""

from __future__ import annotations

import collections
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
    if model.get("fastchat_template"):
        error = outcome(lambda: opencompass.prompt_builder(model, tokenizer="demo"))
        refused = isinstance(error, metatok.MetatokError) and "fastchat_template" in str(error)
        return "refused: a template of FastChat's", None if refused else error
    if not is_chat and any("api_role" in role for role in (meta or {}).get("round", [])):
        return "models behind an API, which take no ids", None
    # The demo's vocabulary is smaller than theirs.
    model = {key: value for key, value in model.items() if key != "pad_token_id"}
    for mode in ("gen",) if is_chat else ("gen", "ppl"):
        builder = opencompass.prompt_builder(model, tokenizer="demo", mode=mode, text=True)
        for prompt in package.conversations():
            built = outcome(lambda: builder.build(prompt))
            there = outcome(lambda: own(package, prompt, mode, meta, is_chat))
            if isinstance(there, Exception) and isinstance(built, Exception):
                continue
            here = built if isinstance(built, Exception) else built.tolist() if is_chat else built.text
            if here != there:
                return "different", (model, mode, prompt, here, there)
    return ("chat template, same ids" if is_chat else "meta template, same texts" if meta else "no template, same texts"), None


def own(package: Package, prompt: Any, mode: str, meta: Any, is_chat: bool) -> Any:
    return package.chat_ids(prompt, mode, meta) if is_chat else package.text(prompt, mode, meta)
