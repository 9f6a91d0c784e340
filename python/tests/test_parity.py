"""What is recorded and what the library's cases expect, through Python: the same ids."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import metatok
from metatok import MetatokError, PromptBuilder, Tokenizer

CORPORA = ["internlm2", "llama2", "llama3_1", "qwen3"]


@cache
def tokenizer(folder: str) -> Tokenizer:
    return Tokenizer(folder)


def cases(folder: str) -> list[Path]:
    return sorted((ROOT / "tests/cases" / folder).glob("*.toml"))


def toml(path: Path) -> dict[str, Any]:
    """A file of TOML, which Python reads from 3.11 on."""
    tomllib = pytest.importorskip("tomllib")
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return content


def name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("corpus", CORPORA)
def test_recorded_tokens(corpus: str, shared: Path) -> None:
    wrong, seen = [], 0
    with gzip.open(shared / "parity/tokens" / f"{corpus}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            case = json.loads(line)
            folder = shared / "tokenizers" / case["tokenizer"]
            builder = PromptBuilder(
                tokenizer=tokenizer(str(folder)),
                meta_template=case["meta_template"] or {},
                mode=case.get("mode", "gen"),
                special_tokens=case.get("special_tokens", "never"),
                allow_empty_prompts=True,
                text=True,
            )
            said = case["prompt"]
            prompt = builder.build(said["$pl"] if isinstance(said, dict) else said)
            seen += 1
            encoded = prompt.details["text"]
            if prompt.tolist() != case["expect"]["input_ids"] or encoded != case["expect"].get("text", encoded):
                wrong.append(case["id"])
    assert not wrong
    assert seen == 500


@pytest.mark.parametrize("path", cases("prompts"), ids=name)
def test_prompts_of_the_library(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = toml(path)
    monkeypatch.chdir(tmp_path)
    model: Any = {"meta_template": {}}
    if "model" in case:
        file = tmp_path / case.get("model_file", "model.toml")
        file.write_text(case["model"], encoding="utf-8")
        model = {"model": file.name}
    names = ("round_fallback", "continue_final_message", "open_answer", "content")
    options = {key: case[key] for key in names if key in case}
    for mode in ("gen", "ppl"):
        error = case.get("gen_error") if mode == "gen" and "gen_error" in case else case.get("error")
        if error is None and mode not in case:
            continue
        if not case["conversation"]:
            error = "the conversation is empty*"
        try:
            builder = PromptBuilder(**model, tokenizer="demo", mode=mode, special_tokens="never", text=True, **options)
            prompt = builder.build(case["conversation"])
        except MetatokError as found:
            assert fits(str(found), in_python(error or "no error"))
            continue
        assert error is None, prompt.text
        assert (prompt.details["text"], prompt.tolist()) == (case[mode], case[f"{mode}_ids"])
        assert builder.warnings == case.get("warnings", [])


def in_python(error: str) -> str:
    """The text of an error, with options as they are named in Python."""
    return error.replace('`format = "messages"`', "`--format messages` of the command line")


def fits(found: str, expected: str) -> bool:
    """Whether a text is the expected one, which may end in a star."""
    return found.startswith(expected[:-1]) if expected.endswith("*") else found == expected


@pytest.mark.parametrize("path", cases("rows"), ids=name)
def test_rows_of_the_library(path: Path, tmp_path: Path) -> None:
    case = toml(path)
    if "answers" in case:
        pytest.skip("answers to turns are given on the command line")
    (tmp_path / "d.toml").write_text(case["dataset"], encoding="utf-8")
    rows = [json.loads(line) for line in case["rows"].splitlines()]
    train = [json.loads(line) for line in case.get("train", "").splitlines()] or None
    model: Any = {"meta_template": {}}
    if "model" in case:
        (tmp_path / "model.toml").write_text(case["model"], encoding="utf-8")
        model = {"model": tmp_path / "model.toml"}
    builder = PromptBuilder(**model, tokenizer="demo")
    if "error" in case:
        with pytest.raises(MetatokError):
            builder.task(tmp_path / "d.toml", train).build(rows)
        return
    # It has a field that no row fills, which is an error otherwise.
    task = builder.task(tmp_path / "d.toml", train, compat=path.stem == "doc-opencompass-string")
    if "image_url" in path.read_text() or "multimodal" in path.stem:
        # No template here has a place for an image.
        with pytest.raises(MetatokError, match="image"):
            task.build(rows)
        return
    built = task.build(rows)
    if "texts" in case:
        assert [prompt.text for prompt in built] == case["texts"]
    by_hand = PromptBuilder(**model, tokenizer="demo", mode=task.mode)
    if "prompts" in case:
        assert [prompt.tolist() for prompt in built] == [by_hand.build(said).tolist() for said in case["prompts"]]


def test_models_that_are_built_in(shared: Path) -> None:
    for model, folder in (("qwen3", "qwen3"), ("llama-3.1", "llama3_1"), ("internlm2-chat", "internlm2")):
        builder = PromptBuilder(model, tokenizer=shared / "tokenizers" / folder)
        said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi!"}]
        by_template = PromptBuilder.from_tokenizer(shared / "tokenizers" / folder)
        assert builder.build(said).input_ids.size > 10
        if model != "llama-3.1":  # Its template writes a date.
            assert metatok.PromptBuilder.diff(builder, by_template, [said]).different == 0
