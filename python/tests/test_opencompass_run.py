"""OpenCompass's own task with models of metatok: a dataset, its inferencers, and answers of the demo's weights."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from typing import Any

import pytest

mmengine = pytest.importorskip("mmengine.config", reason="mmengine is not installed (pip install mmengine-lite)")
pytest.importorskip("opencompass.openicl", reason="opencompass is not installed, or not all that it needs", exc_type=ImportError)
pytest.importorskip("transformers", reason="transformers is not installed")

from answers import DEMO

TEMPLATE = """
meta_template = dict(
    round=[
        dict(role="HUMAN", begin=[1051, "user\\n"], end="<|im_end|>\\n"),
        dict(role="BOT", begin="<|im_start|>assistant\\n", end="<|im_end|>\\n", generate=True),
    ],
    eos_token_id=1052,
)
"""
CONFIG = """
from opencompass.datasets import CustomDataset
from opencompass.openicl.icl_inferencer import {inferencer}
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
{template}
models = [dict(type="metatok.opencompass.{kind}", abbr="demo", path={path!r}, max_out_len=32, batch_size=4, {of_model})]
datasets = [dict(
    type=CustomDataset, abbr="questions", path={rows!r},
    reader_cfg=dict(input_columns=["question"], output_column="answer"),
    infer_cfg=dict(
        prompt_template=dict(type=PromptTemplate, template={asked}),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(type={inferencer}),
    ),
    eval_cfg=dict(),
)]
work_dir = {folder!r}
"""
QUESTIONS = [("What is the capital of France?", "Paris."), ("What is the capital of Italy?", "Rome.")]
ASKED = "dict(round=[dict(role='HUMAN', prompt='{question}'), dict(role='BOT', prompt='{answer}')])"
SCORED = "{{answer: dict(round=[dict(role='HUMAN', prompt='{{question}}'), dict(role='BOT', prompt=answer)]) for answer in {}}}"
WITH_IDS = "meta_template=meta_template"


def run(folder: pathlib.Path, kind: str, inferencer: str, asked: str, of_model: str, path: str = str(DEMO)) -> list[Any]:
    """The predictions of OpenCompass's inference task for a configuration."""
    from opencompass.tasks import OpenICLInferTask

    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in QUESTIONS), encoding="utf-8")
    template = TEMPLATE if "meta_template" in of_model else ""
    names = {"kind": kind, "inferencer": inferencer, "asked": asked, "of_model": of_model, "template": template}
    config = folder / "eval.py"
    config.write_text(CONFIG.format(path=path, rows=str(rows), folder=str(folder), **names), encoding="utf-8")
    loaded = mmengine.Config.fromfile(str(config), format_python_code=False)
    loaded["datasets"] = [loaded["datasets"]]
    OpenICLInferTask(loaded).run()
    [made] = (folder / "predictions").rglob("*.json")
    return list(json.loads(made.read_text(encoding="utf-8")).values())


@pytest.mark.parametrize(("kind", "of_model"), [("HuggingFace", WITH_IDS), ("HuggingFacewithChatTemplate", "")])
def test_questions_are_answered(tmp_path: pathlib.Path, kind: str, of_model: str) -> None:
    found = run(tmp_path, kind, "GenInferencer", ASKED, of_model)
    assert [one["prediction"] for one in found] == [answer for _, answer in QUESTIONS]
    end = "" if of_model else "\n"
    prompt = f"<|im_start|>user\n{QUESTIONS[0][0]}{end}<|im_end|>\n<|im_start|>assistant\n"
    assert found[0]["origin_prompt"] == prompt


def test_answers_are_scored(tmp_path: pathlib.Path) -> None:
    asked = SCORED.format([answer for _, answer in QUESTIONS])
    found = run(tmp_path, "HuggingFace", "PPLInferencer", asked, WITH_IDS)
    assert [one["prediction"] for one in found] == [answer for _, answer in QUESTIONS]


def test_a_dialogue_is_asked_turn_by_turn(tmp_path: pathlib.Path) -> None:
    from metatok.opencompass import HuggingFace
    from opencompass.openicl.icl_inferencer.icl_chat_inferencer import LMTemplateParser

    meta = {"round": [{"role": "HUMAN", "begin": "Q: ", "end": "\n"}, {"role": "BOT", "begin": "A: ", "generate": True}]}
    model = HuggingFace(str(DEMO), meta_template=meta)
    model.template_parser = LMTemplateParser(meta)
    chat = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}]
    assert model.parse_template([chat], "gen") == [model.template_parser.parse_template([chat], "gen")[0]]


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
@pytest.mark.parametrize(
    ("kind", "inferencer", "of_model"),
    [("VLLM", "GenInferencer", WITH_IDS), ("VLLM", "PPLInferencer", WITH_IDS), ("VLLMwithChatTemplate", "GenInferencer", "")],
)
def test_vllm_answers_and_scores(
    tmp_path: pathlib.Path, weights: str, kind: str, inferencer: str, of_model: str
) -> None:
    kwargs = "model_kwargs=dict(dtype='float32', enforce_eager=True, max_model_len=2048, max_num_seqs=8), generation_kwargs=dict(temperature=0)"
    asked = ASKED if inferencer == "GenInferencer" else SCORED.format([answer for _, answer in QUESTIONS])
    found = run(tmp_path, kind, inferencer, asked, f"{of_model}, {kwargs}" if of_model else kwargs, weights)
    assert [one["prediction"] for one in found] == [answer for _, answer in QUESTIONS]
