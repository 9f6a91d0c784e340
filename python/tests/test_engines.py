"""Prompts and arguments for engines: those of the command's forms, and what real engines answer."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

import metatok
from answers import SGLANG_ON_CPU, answers, conversations
from metatok import engines

HI = [{"role": "user", "content": "Hi!"}]


def form(name: str, tmp_path: pathlib.Path, *options: str) -> dict[str, Any]:
    """A request of the command line."""
    chats = tmp_path / "chats.jsonl"
    chats.write_text(json.dumps({"id": "a", "messages": HI}), encoding="utf-8")
    command = [sys.executable, "-m", "metatok", "build", "-m", "demo", "--quiet", "--format", name, *options, str(chats)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    request: dict[str, Any] = json.loads(ran.stdout)
    return request


OPTIONS = ["--max-out-len", "64", "--temperature", "0.5", "--top-p", "0.9", "--top-k", "40", "--seed", "3"]
SAMPLED: dict[str, Any] = {"max_tokens": 64, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 3}


@pytest.mark.parametrize(
    ("options", "sampled"),
    [([], {}), (OPTIONS, SAMPLED), (["--temperature", "0.5"], {"temperature": 0.5, "top_k": 0})],
)
def test_vllm_is_asked_as_by_the_command(tmp_path: pathlib.Path, options: list[str], sampled: dict[str, Any]) -> None:
    request = form("vllm-generate", tmp_path, *options)
    prompts, params = engines.vllm_inputs(metatok.PromptBuilder("demo"), [HI], **sampled)
    assert prompts == [{"prompt_token_ids": request["token_ids"]}]
    assert params == request["sampling_params"]


@pytest.mark.parametrize("sampled", [False, True])
def test_sglang_is_asked_as_by_the_command(tmp_path: pathlib.Path, sampled: bool) -> None:
    request = form("sglang", tmp_path, *(OPTIONS if sampled else []))
    inputs = engines.sglang_inputs(metatok.PromptBuilder("demo"), [HI], **(SAMPLED if sampled else {}))
    assert inputs == {"input_ids": [request["input_ids"]], "sampling_params": request["sampling_params"]}


def test_llama_cpp_gets_ids_and_no_stop_ids() -> None:
    builder = metatok.PromptBuilder("demo", stop_strings=["\n\n"])
    prompts, arguments = engines.llama_cpp_inputs(builder, [HI], max_tokens=8)
    assert prompts == [builder.build(HI).tolist()]
    assert arguments == {
        "max_tokens": 8, "temperature": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "typical_p": 1.0,
        "presence_penalty": 0.0, "frequency_penalty": 0.0, "repeat_penalty": 1.0, "stop": ["\n\n"],
    }  # fmt: skip


def test_what_is_given_overrides() -> None:
    params = engines.sampling(metatok.PromptBuilder("demo"), stop_token_ids=[7], logprobs=1)
    assert params["stop_token_ids"] == [7] and params["logprobs"] == 1


@pytest.mark.parametrize("of_repeats", ["repetition_penalty", "repeat_penalty"])
def test_llama_cpp_gets_what_is_given(of_repeats: str) -> None:
    given: dict[str, Any] = {"min_p": 0.1, "presence_penalty": 0.2, "frequency_penalty": 0.3, "typical_p": 0.9}
    sampled = {**given, of_repeats: 1.2}
    arguments = engines.llama_cpp_inputs(metatok.PromptBuilder("demo"), [HI], **sampled).arguments
    assert {key: arguments[key] for key in given} == given
    assert arguments["repeat_penalty"] == 1.2 and "repetition_penalty" not in arguments


@pytest.mark.parametrize("inputs", [engines.vllm_inputs, engines.sglang_inputs, engines.llama_cpp_inputs])
def test_the_limit_has_the_engines_name(inputs: Any) -> None:
    builder = metatok.PromptBuilder("demo")
    with pytest.raises(TypeError, match="the limit of an answer is max_tokens"):
        inputs(builder, [HI], max_out_len=8)
    with pytest.raises(metatok.UsageError, match="lower `max_tokens`") as raised:
        inputs(builder, [HI], max_tokens=8, max_seq_len=8)
    assert raised.value.way_out == "lower `max_tokens`"


@pytest.mark.parametrize("sampled", [{"temperature": -1}, {"top_p": 1.5}, {"seed": -1}])
def test_no_engine_takes_these_values(sampled: dict[str, Any]) -> None:
    with pytest.raises(metatok.UsageError):
        engines.sampling(metatok.PromptBuilder("demo"), **sampled)


def test_an_answer_has_a_token() -> None:
    with pytest.raises(metatok.UsageError, match="max_tokens is 0, but must be at least 1"):
        engines.sampling(metatok.PromptBuilder("demo"), max_tokens=0)


def check(done: list[metatok.Completion]) -> None:
    there = [(one["token_ids"], one["text"], one["finish_reason"]) for one in answers()]
    assert [(one.token_ids, one.text, one.finish_reason) for one in done] == there


@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
def test_vllm_gives_the_ids_of_run(weights: str) -> None:
    vllm = pytest.importorskip("vllm")
    llm = vllm.LLM(weights, dtype="float32", enforce_eager=True, max_model_len=2048, max_num_seqs=8, gpu_memory_utilization=0.3)
    builder = metatok.PromptBuilder("demo")
    prompts, params = engines.vllm_inputs(builder, conversations(), max_tokens=64)
    check(engines.completions(builder, llm.generate(prompts, vllm.SamplingParams(**params), use_tqdm=False)))


@pytest.mark.skipif(importlib.util.find_spec("sglang") is None, reason="SGLang is not installed")
def test_sglang_gives_the_ids_of_run(weights: str) -> None:
    sglang = pytest.importorskip("sglang")
    engine = sglang.Engine(model_path=weights, **SGLANG_ON_CPU)
    builder = metatok.PromptBuilder("demo")
    check(engines.completions(builder, engine.generate(**engines.sglang_inputs(builder, conversations(), max_tokens=64))))
    engine.shutdown()


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")
def test_xllamacpp_gives_the_texts_of_run(gguf: str) -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = gguf, 2048, 1
    server = xllamacpp.Server(params)
    requests = metatok.PromptBuilder("demo").requests(conversations(), "llama-cpp", max_out_len=64)
    texts = [server.handle_completions(request)["choices"][0]["text"] for request in requests]
    assert texts == [one["text"] for one in answers()]


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_llama_cpp_python_gives_the_texts_of_run(gguf: str) -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    llama = llama_cpp.Llama(gguf, n_ctx=2048, verbose=False)
    prompts, arguments = engines.llama_cpp_inputs(metatok.PromptBuilder("demo"), conversations(), max_tokens=64)
    texts = [llama.create_completion(prompt, **arguments)["choices"][0]["text"] for prompt in prompts]
    assert texts == [one["text"] for one in answers()]
