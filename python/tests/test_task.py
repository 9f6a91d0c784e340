"""Datasets: few-shot examples, scored texts, and the command line's prompts."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import metatok
from metatok import PromptBuilder

TRAIN = [{"q": f"{i}+{i}=?", "a": str(2 * i)} for i in range(5)]
ROWS = [{"q": "7+7=?", "a": "14"}, {"q": "8+8=?", "a": "16"}]


def config(inferencer: str, template: Any) -> dict[str, Any]:
    ice = {"template": {"round": [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": "{a}"}]}}
    return {
        "abbr": "sums",
        "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
        "infer_cfg": {
            "ice_template": {**ice, "ice_token": "</E>"},
            "prompt_template": {"template": template, "ice_token": "</E>"},
            "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 2]},
            "inferencer": {"type": inferencer},
        },
    }


def rounds(answer: str) -> dict[str, Any]:
    turns = [{"role": "HUMAN", "prompt": "{q}"}, {"role": "BOT", "prompt": answer}]
    return {"begin": "</E>", "round": turns}


def test_examples_come_before_the_question(builder: PromptBuilder) -> None:
    task = builder.task(config("GenInferencer", rounds("{a}")), TRAIN)
    said = [("0+0=?", "0"), ("2+2=?", "4"), ("7+7=?", None)]
    chat = [{"role": role, "content": text} for turn in said for role, text in zip(("user", "assistant"), turn) if text]
    assert task.mode == "gen"
    assert task.prompts(ROWS[0])[0].tolist() == builder.build(chat).tolist()
    with pytest.raises(metatok.UsageError, match="examples"):
        builder.task(config("GenInferencer", rounds("{a}"))).build(ROWS)


def test_prompts_stop_where_the_task_does(builder: PromptBuilder) -> None:
    cfg = config("GenInferencer", rounds("{a}"))
    cfg["infer_cfg"]["inferencer"]["stopping_criteria"] = ["\n\n"]
    task = builder.task(cfg, TRAIN)
    prompt = task.prompts(ROWS[0])[0]
    assert prompt.stop == task.stop and prompt.stop.strings == ["\n\n"]
    assert pickle.loads(pickle.dumps(prompt)).stop == task.stop


def test_scored_texts_are_those_of_the_command_line(builder: PromptBuilder, tmp_path: Path) -> None:
    cfg = config("PPLInferencer", {"14": rounds("14"), "16": rounds("16")})
    task = builder.task(cfg, TRAIN)
    prompts = task.build(ROWS)
    assert [(prompt.label, prompt.details["id"]) for prompt in prompts] == [("14", 0), ("16", 0), ("14", 1), ("16", 1)]
    assert all(prompt.labels is not None and prompt.labels.shape == prompt.input_ids.shape for prompt in prompts)
    (tmp_path / "d.json").write_text(json.dumps(cfg))
    for name, rows in (("train", TRAIN), ("rows", ROWS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "metatok", "build", "-q", "-m", "demo", "--dataset", "d.json", "--train"]
    built = subprocess.run([*command, "train.jsonl", "rows.jsonl"], cwd=tmp_path, check=True, capture_output=True)
    lines = [json.loads(line) for line in built.stdout.splitlines()]
    assert [(line["label"], line["input_ids"]) for line in lines] == [(p.label, p.tolist()) for p in prompts]


def test_errors_of_datasets_and_rows(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.DatasetError):
        builder.task({"infer_cfg": {"prompt_template": 3}})
    task = builder.task(config("GenInferencer", rounds("{a}")), TRAIN)
    with pytest.raises(metatok.MetatokError, match="fixk"):
        builder.task({"infer_cfg": {"retriever": {"type": "fixk"}}})
    assert task.fingerprint != builder.fingerprint
