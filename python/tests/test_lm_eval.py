"""lm-evaluation-harness: its own model classes with prompts of metatok, on the demo's weights."""

from __future__ import annotations

import importlib
import json
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


#: As Qwen3's, it writes empty thoughts before an answer that is there; as Llama's, it trims.
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if loop.last and m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ m.content | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


class Scored:
    """Notes what is scored, in place of scoring it."""

    def _loglikelihood_tokens(self, requests: list[Any], **_: Any) -> list[tuple[float, bool]]:
        self.scored = [(str(context) + answer, before, after) for (context, answer), before, after in requests]
        return [(0.0, False)] * len(requests)


class ScoredThere(Scored, huggingface.HFLM):  # type: ignore[misc, name-defined]
    pass


class ScoredHere(Scored, Model):
    pass


def with_template(_: pytest.FixtureRequest) -> tuple[Any, Any, dict[str, Any]]:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(DEMO))
    tokenizer.chat_template = THINKS
    return str(DEMO), tokenizer, {"tokenizer": "demo", "chat_template": THINKS}


def with_qwen3(request: pytest.FixtureRequest) -> tuple[Any, Any, dict[str, Any]]:
    transformers = pytest.importorskip("transformers")
    folder = str(request.getfixturevalue("shared") / "tokenizers/qwen3")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    config = transformers.LlamaConfig(vocab_size=len(tokenizer) + 300, **sizes)
    return transformers.LlamaForCausalLM(config), tokenizer, {"tokenizer": folder}


def with_model_of_qwen3(request: pytest.FixtureRequest) -> tuple[Any, Any, dict[str, Any]]:
    weights, tokenizer, arguments = with_qwen3(request)
    return weights, tokenizer, {**arguments, "model": "qwen3"}


@pytest.fixture(scope="module", params=[with_template, with_qwen3, with_model_of_qwen3])
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """The harness's own model and one with metatok's ids."""
    weights, tokenizer, arguments = request.param(request)
    given = {"pretrained": weights, "tokenizer": tokenizer, "device": "cpu"}
    return ScoredThere(**given), ScoredHere(**given, metatok=arguments)


@pytest.mark.parametrize("prefix", ["It is", "It is ", "It is\n", ""])
def test_the_same_ids_are_scored_as_by_the_harness_alone(pair: tuple[Any, Any], tmp_path: pathlib.Path, prefix: str) -> None:
    (tmp_path / "rows.jsonl").write_text(ROWS, encoding="utf-8")
    target = "{{['Paris.', 'Rome.'].index(answer)}}"
    task = TASK.format(rows=tmp_path / "rows.jsonl", kind="multiple_choice", metric="acc", target=target)
    task += f"gen_prefix: {json.dumps(prefix)}\n" if prefix else ""
    (tmp_path / "questions.yaml").write_text(task, encoding="utf-8")
    manager = tasks.TaskManager(include_path=str(tmp_path), include_defaults=False)
    for model in pair:
        found = lm_eval.simple_evaluate(
            model, tasks=["questions"], task_manager=manager, apply_chat_template=True, bootstrap_iters=0, log_samples=True
        )
        logged = [str(one[0]) + one[1] for row in found["samples"]["questions"] for one in row["arguments"]]
        assert logged == [text for text, _, _ in model.scored]
    there, here = pair
    assert here.scored == there.scored and len(here.scored) == 4
    assert ("<think>" in here.scored[0][0]) == bool(prefix)
    for text, context, answer in here.scored:
        assert here.tokenizer.decode(context + answer) == text


@pytest.mark.parametrize(
    ("begun", "answer"),
    [("It is", " Mars"), ("It is", " Mars "), ("It is ", "Mars"), ("It is\n\n", "\nMars"), (" It is", " Mars"), (None, " Mars ")],
)
def test_what_is_scored_continues_the_prompt(pair: tuple[Any, Any], begun: str | None, answer: str) -> None:
    _, here = pair
    prompt = here.apply_chat_template(
        [*QUESTION, *([{"role": "assistant", "content": begun}] if begun else [])], add_generation_prompt=begun is None
    )
    try:
        context, scored = here._encode_pair(prompt, answer)
    except metatok.InputError as error:
        # A template that trims does not write this.
        assert begun and answer.endswith(" ") and repr(answer) in str(error)
        return
    assert here.tokenizer.decode(context + scored) == str(prompt) + answer


VARIABLES = "{% for m in messages %}{{ m.content }}{% endfor %}|{{ enable_thinking }}|{{ date }}|"


class Alone:
    """A class of the harness that takes what `HFLM` takes, and loads nothing."""

    def __init__(self, enable_thinking: bool | None = None, chat_template_args: dict[str, Any] | None = None) -> None:
        pass


class Rendering(metatok.lm_eval.Prompts, Alone):
    pass


@pytest.mark.parametrize(
    ("of_class", "of_metatok", "rendered"),
    [
        ({}, None, "Hi!|||"),
        ({"enable_thinking": False}, None, "Hi!|False||"),
        ({"enable_thinking": True, "chat_template_args": {"date": "today"}}, None, "Hi!|True|today|"),
        # As in HFLM, the argument of its own decides.
        ({"enable_thinking": True, "chat_template_args": {"enable_thinking": False}}, None, "Hi!|True||"),
        ({"chat_template_args": {"enable_thinking": False}}, {"date": "today"}, "Hi!|False|today|"),
        ({"enable_thinking": False}, {"enable_thinking": False}, "Hi!|False||"),
        ({"chat_template_args": {"date": "today"}}, {"date": "now"}, "'date' is 'today' among the model's arguments, but 'now' in"),
        ({"enable_thinking": False}, {"enable_thinking": True}, "'enable_thinking' is False among the model's arguments, but True in"),
    ],
)
def test_variables_of_the_chat_template(of_class: dict[str, Any], of_metatok: dict[str, Any] | None, rendered: str) -> None:
    given = {"tokenizer": "demo", "chat_template": VARIABLES, "template_kwargs": of_metatok}
    if rendered.startswith("Hi!"):
        assert Rendering(**of_class, metatok=given).apply_chat_template([{"role": "user", "content": "Hi!"}]) == rendered
    else:
        with pytest.raises(metatok.UsageError, match=rendered):
            Rendering(**of_class, metatok=given)


def test_a_model_without_a_chat_template_takes_no_variables() -> None:
    with pytest.raises(metatok.UsageError, match="enable_thinking: these are variables of a chat template, but none is used"):
        Rendering(enable_thinking=False, metatok=METATOK)


@pytest.mark.parametrize("thinks", [None, False])
def test_variables_are_those_of_the_harness(thinks: bool | None) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(DEMO))
    tokenizer.chat_template = THINKS
    given = {"pretrained": str(DEMO), "tokenizer": tokenizer, "device": "cpu", "enable_thinking": thinks}
    there, here = ScoredThere(**given), ScoredHere(**given, metatok={"tokenizer": "demo", "chat_template": THINKS})
    for asked, adds in ((QUESTION, True), ([*QUESTION, {"role": "assistant", "content": "It is"}], False)):
        prompts = [model.apply_chat_template(asked, add_generation_prompt=adds) for model in (there, here)]
        assert prompts[0] == prompts[1]
        assert there._encode_pair(prompts[0], " Mars") == here._encode_pair(prompts[1], " Mars")


def test_prompts_of_another_builder_are_not_read_from_the_cache(
    pair: tuple[Any, Any], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("lm_eval.caching.cache"), "PATH", str(tmp_path / "cache"))
    (tmp_path / "rows.jsonl").write_text(ROWS.replace("What is", "<|im_end|> What is"), encoding="utf-8")
    target = "{{['Paris.', 'Rome.'].index(answer)}}"
    task = TASK.format(rows=tmp_path / "rows.jsonl", kind="multiple_choice", metric="acc", target=target)
    (tmp_path / "questions.yaml").write_text(task, encoding="utf-8")
    manager = tasks.TaskManager(include_path=str(tmp_path), include_defaults=False)

    def scored(model: Any, cached: bool = True) -> Any:
        lm_eval.simple_evaluate(
            model, tasks=["questions"], task_manager=manager, apply_chat_template=True, bootstrap_iters=0, cache_requests=cached
        )
        return model.scored

    there, here = pair
    given = {"pretrained": there.model, "tokenizer": there.tokenizer, "device": "cpu"}
    brief = ScoredHere(**given, metatok={"tokenizer": "demo", "chat_template": "{{ messages[0].content }}"})
    models = (there, here, brief)
    assert len({model.tokenizer_name for model in models}) == 3
    assert all(model.tokenizer_name.startswith(there.tokenizer_name) for model in models)
    alone = [scored(model, cached=False) for model in models]
    assert [scored(model) for model in models] == [scored(model) for model in models] == alone


def test_control_tokens_in_a_question_stay_text_where_answers_are_scored(model: Any) -> None:
    chat = [{"role": "user", "content": "What is <|im_end|>?"}]
    context, continuation = model._encode_pair(model.apply_chat_template(chat), "A token.")
    assert context.count(1052) == 1 and metatok.PromptBuilder("demo").tokenizer.decode(continuation) == "\nA token."
