"""lm-evaluation-harness: its own model classes with prompts of metatok, on the demo's weights."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import pytest

lm_eval = pytest.importorskip("lm_eval", reason="lm_eval is not installed (pip install lm-eval)")
tasks = pytest.importorskip("lm_eval.tasks", reason="lm_eval is not installed (pip install lm-eval)")
huggingface = pytest.importorskip("lm_eval.models.huggingface", reason="lm_eval's model for transformers is not installed")

import metatok
import metatok.lm_eval
from answers import DEMO

TASK = """
task: questions
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: {kind}
doc_to_text: "{{{{question}}}}"
doc_to_target: "{target}"
doc_to_choice: ["Paris.", "Rome."]
metric_list: [{{metric: {metric}}}]
"""
ROWS = '{"question": "What is the capital of France?", "answer": "Paris."}\n{"question": "What is the capital of Italy?", "answer": "Rome."}\n'
METATOK = {"model": "demo"}


class Model(metatok.lm_eval.Prompts, huggingface.HFLM):  # type: ignore[misc, name-defined]
    """A model of the harness."""


def by_transformers(_: pytest.FixtureRequest) -> Any:
    return Model(pretrained=str(DEMO), device="cpu", dtype="float32", batch_size=2, metatok=METATOK)


def by_vllm(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    models = pytest.importorskip("lm_eval.models.vllm_causallms", reason="lm_eval's model for vLLM is not installed")

    class OnVllm(metatok.lm_eval.Prompts, models.VLLM):  # type: ignore[misc, name-defined]
        pass

    weights = request.getfixturevalue("weights")
    return OnVllm(pretrained=weights, dtype="float32", enforce_eager=True, max_model_len=2048, max_num_seqs=8, metatok=METATOK)


@pytest.fixture(scope="module", params=[by_transformers, by_vllm])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param(request)


@pytest.mark.parametrize(("kind", "metric"), [("generate_until", "exact_match"), ("multiple_choice", "acc")])
def test_tasks_run_with_ids_of_metatok(model: Any, tmp_path: pathlib.Path, kind: str, metric: str) -> None:
    (tmp_path / "rows.jsonl").write_text(ROWS, encoding="utf-8")
    target = "{{answer}}" if kind == "generate_until" else "{{['Paris.', 'Rome.'].index(answer)}}"
    task = TASK.format(rows=tmp_path / "rows.jsonl", kind=kind, metric=metric, target=target)
    if kind == "generate_until":
        task = task.replace('doc_to_choice: ["Paris.", "Rome."]\n', 'generation_kwargs: {until: ["\\n"], max_gen_toks: 16}\n')
    (tmp_path / "questions.yaml").write_text(task, encoding="utf-8")
    manager = tasks.TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(
        model, tasks=["questions"], task_manager=manager, apply_chat_template=True, bootstrap_iters=0
    )
    assert found["results"]["questions"][f"{metric},none"] == 1.0


def test_chats_have_the_ids_of_metatok(model: Any) -> None:
    chat = [{"role": "user", "content": "What is <|im_end|>?"}]
    prompt = model.apply_chat_template(chat)
    built = metatok.PromptBuilder("demo").build(chat).tolist()
    assert model.tok_encode(prompt) == built == pickle.loads(pickle.dumps(prompt)).input_ids
    # What its text alone says is another prompt.
    assert model.tok_encode(str(prompt)) != built
    assert model.tok_encode([prompt, "Hi!"]) == [built, model.tok_encode("Hi!")]
    if isinstance(model, Model):
        ids, mask = model.tok_batch_encode([prompt, "Hi!"])
        assert ids[0, mask[0] == 1].tolist() == built


QUESTION = [{"role": "user", "content": "Which planet is red?"}]


@pytest.mark.parametrize(
    ("begun", "answer", "scored"),
    [
        (None, "Mars", "\nMars"),
        (None, " Mars", "\n Mars"),
        (None, "Mars\n", "\nMars\n"),
        (None, "\u706b\u661f", "\n\u706b\u661f"),
        ("It is", " Mars", " Mars"),
        ("It is ", "Mars", " Mars"),
        ("It is:\n\n", "Mars", "\n\nMars"),
    ],
)
def test_answers_are_scored_as_by_the_harness(model: Any, begun: str | None, answer: str, scored: str) -> None:
    chat = [*QUESTION, *([{"role": "assistant", "content": begun}] if begun else [])]
    prompt = model.apply_chat_template(chat, add_generation_prompt=begun is None)
    context, continuation = model._encode_pair(prompt, answer)
    builder = metatok.PromptBuilder("demo")
    assert builder.tokenizer.decode(continuation) == scored
    assert context == builder.tokenizer.encode(str(prompt).rstrip()).tolist()
    # The harness, given the text alone.
    there = super(metatok.lm_eval.Prompts, model)._encode_pair(str(prompt), answer)
    assert len(continuation) == len(there[1]) and continuation == there[1] and context == there[0]


def test_control_tokens_in_a_question_stay_text_where_answers_are_scored(model: Any) -> None:
    chat = [{"role": "user", "content": "What is <|im_end|>?"}]
    context, continuation = model._encode_pair(model.apply_chat_template(chat), "A token.")
    assert context.count(1052) == 1 and metatok.PromptBuilder("demo").tokenizer.decode(continuation) == "\nA token."
