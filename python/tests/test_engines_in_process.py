"""OpenVINO GenAI, ONNX Runtime GenAI, CTranslate2 and MLX: they take the ids as in docs/python-recipes.md, and answer as `metatok run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import pytest

from answers import DEMO, answers, conversations
from metatok import Completion, PromptBuilder

FRANCE = [{"role": "user", "content": "What is the capital of France?"}]
#: The first token of the answer, and the second.
PARIS, DOT = 773, 13
#: So hot that no two samples are alike.
HOT = 3.0


class Answer(Protocol):
    """Answers all conversations: greedily, or with a seed at random."""

    def __call__(
        self, builder: PromptBuilder, conversations: list[Any], limit: int = 64, seed: int | None = None
    ) -> list[Completion]: ...


@pytest.fixture(scope="session")
def openvino(openvino_model: str) -> Answer:
    openvino, genai = pytest.importorskip("openvino"), pytest.importorskip("openvino_genai")
    pipeline = genai.LLMPipeline(openvino_model, "CPU")

    def answer(builder: PromptBuilder, conversations: list[Any], limit: int = 64, seed: int | None = None) -> list[Completion]:
        config = genai.GenerationConfig(max_new_tokens=limit)
        config.stop_token_ids, config.stop_strings = set(builder.stop.token_ids), set(builder.stop.strings)
        if seed is not None:
            config.do_sample, config.temperature, config.rng_seed = True, HOT, seed
        batch = builder.build_batch(conversations)
        inputs = genai.TokenizedInputs(openvino.Tensor(batch.input_ids), openvino.Tensor(batch.attention_mask))
        return builder.complete_all(pipeline.generate(inputs, config).tokens)

    return answer


@pytest.fixture(scope="session")
def onnx(onnx_model: str) -> Answer:
    genai = pytest.importorskip("onnxruntime_genai")
    model = genai.Model(onnx_model)

    def of_one(builder: PromptBuilder, prompt: list[int], limit: int, seed: int | None) -> Completion:
        params = genai.GeneratorParams(model)
        params.set_search_options(max_length=len(prompt) + limit, do_sample=seed is not None, repetition_penalty=1.0)
        if seed is not None:
            params.set_search_options(temperature=HOT, top_k=0, random_seed=seed)
        generator = genai.Generator(model, params)
        generator.append_tokens(prompt)
        ids, stream = [], builder.stream()
        while not generator.is_done() and stream.finish_reason is None:
            generator.generate_next_token()
            ids.append(int(generator.get_next_tokens()[0]))
            stream.push(ids[-1])
        return builder.complete(ids)

    def answer(builder: PromptBuilder, conversations: list[Any], limit: int = 64, seed: int | None = None) -> list[Completion]:
        return [of_one(builder, prompt.tolist(), limit, seed) for prompt in builder.build_all(conversations)]

    return answer


@pytest.fixture(scope="session")
def ct2(ct2_model: str) -> Answer:
    ctranslate2 = pytest.importorskip("ctranslate2")
    tokens = json.loads((Path(ct2_model) / "vocabulary.json").read_text(encoding="utf-8"))

    def answer(builder: PromptBuilder, conversations: list[Any], limit: int = 64, seed: int | None = None) -> list[Completion]:
        options: dict[str, Any] = {"include_prompt_in_result": False, "return_end_token": True, "max_batch_size": 8}
        if seed is not None:
            ctranslate2.set_random_seed(seed)
            options.update(sampling_topk=0, sampling_temperature=HOT)
        generator = ctranslate2.Generator(ct2_model)
        prompts = [[tokens[id] for id in prompt] for prompt in builder.build_all(conversations)]
        results = generator.generate_batch(prompts, max_length=limit, end_token=builder.stop.token_ids, **options)
        return builder.complete_all(result.sequences_ids[0] for result in results)

    return answer


@pytest.fixture(scope="session")
def mlx() -> Answer:
    mlx_lm, core = pytest.importorskip("mlx_lm"), pytest.importorskip("mlx.core")
    model, tokenizer = mlx_lm.load(str(DEMO))

    def answer(builder: PromptBuilder, conversations: list[Any], limit: int = 64, seed: int | None = None) -> list[Completion]:
        tokenizer.eos_token_ids = builder.stop.token_ids
        sampler = None
        if seed is not None:
            core.random.seed(seed)
            sampler = mlx_lm.sample_utils.make_sampler(temp=HOT)
        done = []
        for prompt in builder.build_all(conversations):
            steps = mlx_lm.stream_generate(model, tokenizer, prompt.tolist(), max_tokens=limit, sampler=sampler)
            done.append(builder.complete(step.token for step in steps))
        return done

    return answer


@pytest.fixture(params=["openvino", "onnx", "ct2", "mlx"])
def answer(request: pytest.FixtureRequest) -> Answer:
    engine: Answer = request.getfixturevalue(request.param)
    return engine


def test_the_answers_are_those_of_run(answer: Answer) -> None:
    there = [(one["token_ids"], one["text"], one["finish_reason"]) for one in answers()]
    done = answer(PromptBuilder("demo"), conversations())
    assert [(one.token_ids, one.text, one.finish_reason) for one in done] == there


def test_an_answer_of_one_token_has_reached_its_limit(answer: Answer) -> None:
    (done,) = answer(PromptBuilder("demo"), [FRANCE], limit=1)
    assert (done.token_ids, done.finish_reason) == ([PARIS], "length")


@pytest.mark.parametrize(("stop", "before"), [(PARIS, []), (DOT, [PARIS])])
def test_an_answer_ends_at_stop_ids_that_the_model_does_not_know(answer: Answer, stop: int, before: list[int]) -> None:
    (done,) = answer(PromptBuilder("demo", stop_token_ids=[stop]), [FRANCE])
    assert (done.token_ids, done.finish_reason, done.tail) == (before, "stop", [stop])


def test_an_answer_ends_within_a_token_at_a_stop_string(answer: Answer) -> None:
    (done,) = answer(PromptBuilder("demo", stop_strings=["ris"]), [FRANCE])
    assert (done.text, done.finish_reason) == ("Pa", "stop")


def test_a_sample_repeats_with_its_seed(answer: Answer) -> None:
    first, again, other = (answer(PromptBuilder("demo"), [FRANCE], limit=12, seed=seed) for seed in (3, 3, 4))
    assert first == again and first != other


@pytest.mark.parametrize(("side", "right"), [("right", True), ("left", False)])
def test_batches_of_onnx_runtime_are_padded_on_the_right(onnx_model: str, side: str, right: bool) -> None:
    genai = pytest.importorskip("onnxruntime_genai")
    model, builder = genai.Model(onnx_model), PromptBuilder("demo")
    batch = builder.build_batch(conversations()[:32], padding_side=side)
    count, width = batch.input_ids.shape
    params = genai.GeneratorParams(model)
    params.set_search_options(batch_size=count, max_length=width + 64, do_sample=False)
    generator = genai.Generator(model, params)
    generator.append_tokens(batch.input_ids)
    while not generator.is_done():
        generator.generate_next_token()
    done = builder.complete_all(generator.get_sequence(i)[width:] for i in range(count))
    assert ([one.token_ids for one in done] == [one["token_ids"] for one in answers()[:32]]) == right
