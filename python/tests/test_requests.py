"""Requests to servers, as the command line writes them."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import metatok
from metatok import PromptBuilder

HI = [{"role": "user", "content": "Hi!"}]
CHATS = [[{"role": "user", "content": text}] for text in ("Hi!", "Which planet is red?")]


@pytest.mark.parametrize("form", ["ids", "vllm", "sglang", "llama-cpp", "lmdeploy", "openai"])
def test_requests_are_those_of_the_command_line(builder: PromptBuilder, form: str, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in CHATS))
    command = [sys.executable, "-m", "metatok", "build", "-q", "-m", "demo", "--format", form]
    options, sampling = ["--max-out-len", "9"], {"model": "m"} if form == "openai" else {}
    if form == "openai":
        options += ["--served-model-name", "m"]
    if form != "ids":
        options += ["--temperature", "0.5", "--seed", "3"]
        sampling |= {"temperature": 0.5, "seed": 3}  # type: ignore[dict-item]
    shown = subprocess.run([*command, *options, tmp_path / "in.jsonl"], check=True, capture_output=True)
    expected = [json.loads(line) for line in shown.stdout.splitlines()]
    assert builder.requests(CHATS, form, max_out_len=9, sampling=sampling) == expected


@pytest.mark.parametrize("form", ["ids", "vllm", "sglang", "llama-cpp", "openai"])
def test_requests_have_the_ids_of_their_records(builder: PromptBuilder, form: str, tmp_path: Path) -> None:
    ids = ["a", 7, None, "0"]
    records = [{"id": id, "messages": CHATS[0]} for id in ids]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    command = [sys.executable, "-m", "metatok", "build", "-q", "-m", "demo", "--format", form]
    command += ["--served-model-name", "m"] if form == "openai" else []
    shown = subprocess.run([*command, tmp_path / "in.jsonl"], check=True, capture_output=True)
    sampling = {"model": "m"} if form == "openai" else {}
    expected = [json.loads(line) for line in shown.stdout.splitlines()]
    assert builder.requests(records, form, sampling=sampling) == expected


def test_forms_that_are_no_requests(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.UsageError, match="unknown form"):
        builder.requests(CHATS, "pdf")
    with pytest.raises(metatok.UsageError, match="one file of all prompts"):
        builder.requests(CHATS, "parquet")
    with pytest.raises(metatok.MetatokError, match="temperature"):
        builder.requests(CHATS, sampling={"temperature": -1})


def test_a_record_says_how_long_its_answer_may_be(builder: PromptBuilder) -> None:
    chats = [{"messages": CHATS[0], "max_out_len": 5}, {"messages": CHATS[0]}]
    assert [request["n_predict"] for request in builder.requests(chats, "llama-cpp", max_out_len=9)] == [5, 9]


def test_images_with_ids_are_refused_by_forms_without_a_place_for_them() -> None:
    template = "{% for m in messages %}{% for p in m.content %}{{ p.text or '<|im_start|>' }}{% endfor %}{% endfor %}"
    builder = PromptBuilder(tokenizer="demo", chat_template=template)
    said = [{"type": "image", "image": "a.png"}, {"type": "text", "text": "What is it?"}]
    with pytest.raises(metatok.UsageError, match="no place for an image, audio or video with token ids"):
        builder.requests([[{"role": "user", "content": said}]], "llama-cpp")


def test_ids_of_any_size_stay() -> None:
    ids = [2**100 + 1, 2**100 + 2, -(2**70), 7]
    requests = metatok.PromptBuilder("demo").requests([{"id": id, "messages": HI} for id in ids], "ids")
    assert [request["id"] for request in requests] == ids


def test_repeated_ids_are_told() -> None:
    builder = metatok.PromptBuilder("demo")
    with pytest.warns(metatok.MetatokWarning, match="conversations 1 and 2 both have the id 2; give each an id"):
        builder.requests([{"id": 1, "messages": HI}, {"id": "2", "messages": HI}, HI])
    with pytest.warns(metatok.MetatokWarning, match="conversations 0 and 1 both have the id 1, and 1 more have"):
        builder.requests([{"id": 1, "messages": HI}] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.requests([HI, HI])
        builder.requests([{"id": "a", "messages": HI}, {"id": "b", "messages": HI}])


def test_an_answer_has_a_token_at_least() -> None:
    with pytest.raises(metatok.UsageError, match="max_out_len is 0, but must be at least 1"):
        metatok.PromptBuilder("demo").requests([HI], max_out_len=0)
