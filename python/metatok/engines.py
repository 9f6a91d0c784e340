"""Prompts and arguments for engines in this process: vLLM, SGLang, llama.cpp and transformers.

Each function returns what the engine's own call takes, with everything stated that decides an answer: greedy sampling
with all penalties off unless said otherwise, the limit, and the builder's stops. No engine is imported here::

    prompts, params = metatok.engines.vllm_inputs(builder, conversations, max_tokens=64)
    outputs = llm.generate(prompts, SamplingParams(**params))
    completions = metatok.engines.completions(builder, outputs)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from metatok import _json, _metatok
from metatok._limits import budget as limits_of
from metatok._limits import whole
from metatok._several import several
from metatok.answers import Completion
from metatok.batch import Batch
from metatok.builder import PromptBuilder
from metatok.errors import MetatokError
from metatok.tokenizer import _listed

#: How many tokens an answer may have if nothing is said.
_MAX_TOKENS = _metatok.DEFAULT_MAX_OUT_LEN


class VllmInputs(NamedTuple):
    """What ``LLM.generate`` takes."""

    #: ``TokensPrompt`` dicts, one for each conversation.
    prompts: list[dict[str, Any]]
    #: The arguments of ``SamplingParams``.
    sampling_params: dict[str, Any]


class LlamaInputs(NamedTuple):
    """What ``Llama.create_completion`` takes, for each conversation a list of ids."""

    prompts: list[list[int]]
    #: Its other arguments.
    arguments: dict[str, Any]


def sampling(
    builder: PromptBuilder,
    *,
    max_tokens: int = _MAX_TOKENS,
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int = -1,
    seed: int | None = None,
    **others: Any,
) -> dict[str, Any]:
    """The arguments of vLLM's ``SamplingParams``, with the values of ``metatok build --format vllm-generate``.

    Args:
        builder: Whose stops are stated.
        max_tokens: The limit of an answer, in tokens.
        temperature: 0 is greedy.
        top_p: The share of probability to sample from.
        top_k: How many tokens to sample from; -1 and 0 mean all.
        seed: Of a sample.
        others: More arguments of ``SamplingParams``, which override all of these.

    Raises:
        UsageError: for a value that no engine takes, such as a negative temperature.
        TypeError: for ``max_out_len`` and ``max_new_tokens``, which are ``max_tokens`` here.

    >>> import metatok
    >>> params = sampling(metatok.PromptBuilder("demo"), max_tokens=8)
    >>> params["temperature"], params["max_tokens"], params["stop_token_ids"]
    (0.0, 8, [1052, 1050])
    """
    for name in ("max_out_len", "max_new_tokens"):
        if name in others:
            raise TypeError(f"{name!r} is not a keyword argument here; the limit of an answer is max_tokens")
    _metatok.check_sampling({"temperature": temperature, "top_p": top_p, "top_k": top_k, "seed": seed})
    params: dict[str, Any] = {
        "max_tokens": whole("max_tokens", max_tokens, 1),
        "temperature": temperature,
        "top_p": top_p,
        "top_k": top_k if temperature != 0 and top_k > 0 else -1,
        "min_p": 0.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.0,
        "stop_token_ids": list(builder.stop.token_ids),
        "stop": list(builder.stop.strings),
    }
    if seed is not None:
        params["seed"] = seed
    return {**params, **others}


@contextmanager
def _limit_is(name: str) -> Iterator[None]:
    """Errors call the limit of an answer as the argument is called."""
    try:
        yield
    except MetatokError as error:
        raise error._saying("`max_out_len`", f"`{name}`") from None


def _room(max_seq_len: int | None, truncation: str | None, max_tokens: int) -> dict[str, Any]:
    """The limits of prompts that leave room for an answer."""
    room = {} if max_seq_len is None else {"max_out_len": max_tokens}
    return {"max_seq_len": max_seq_len, "truncation": truncation, **room}


def _prompts(
    builder: PromptBuilder, conversations: Iterable[Any], params: dict[str, Any], max_seq_len: int | None, truncation: str | None
) -> list[list[int]]:
    """The ids of prompts, with room for an answer of ``params["max_tokens"]``."""
    with _limit_is("max_tokens"):
        limits = limits_of(_room(max_seq_len, truncation, params["max_tokens"]))
        ids, ends = builder._core.build_flat(several(conversations), None, limits)
    return [ids[start:end].tolist() for start, end in zip(ends, ends[1:])]


def vllm_inputs(
    builder: PromptBuilder,
    conversations: Iterable[Any],
    *,
    max_seq_len: int | None = None,
    truncation: str | None = None,
    **of_sampling: Any,
) -> VllmInputs:
    """The prompts and the sampling of conversations for vLLM's ``LLM.generate``.

    Of images, audio and video the ids have what the template writes; give vLLM the data itself, as ``multi_modal_data`` of
    the prompt.

    Args:
        builder: Builds the prompts, on all cores.
        conversations: As for :meth:`metatok.PromptBuilder.build_all`.
        max_seq_len: The model's context, in tokens; a prompt leaves room in it for ``max_tokens``.
        truncation: What is dropped from a prompt that is too long, as for :meth:`metatok.PromptBuilder.build`.
        of_sampling: As for :func:`sampling`.

    Raises:
        InputError: of the first conversation that the template does not take.

    >>> import metatok
    >>> inputs = vllm_inputs(metatok.PromptBuilder("demo"), [[{"role": "user", "content": "Hi!"}]])
    >>> inputs.prompts[0]["prompt_token_ids"][:3]
    [1051, 375, 263]
    """
    params = sampling(builder, **of_sampling)
    prompts = _prompts(builder, conversations, params, max_seq_len, truncation)
    return VllmInputs([{"prompt_token_ids": ids} for ids in prompts], params)


def sglang_inputs(
    builder: PromptBuilder,
    conversations: Iterable[Any],
    *,
    max_seq_len: int | None = None,
    truncation: str | None = None,
    **of_sampling: Any,
) -> dict[str, Any]:
    """The arguments of SGLang's ``Engine.generate``: ``engine.generate(**sglang_inputs(builder, conversations))``.

    Args:
        builder: As for :func:`vllm_inputs`.
        conversations: As for :func:`vllm_inputs`.
        max_seq_len: As for :func:`vllm_inputs`.
        truncation: As for :func:`vllm_inputs`.
        of_sampling: As for :func:`sampling`; ``seed`` needs SGLang's deterministic inference.
    """
    params = sampling(builder, **of_sampling)
    prompts = _prompts(builder, conversations, params, max_seq_len, truncation)
    params["max_new_tokens"] = params.pop("max_tokens")
    if "seed" in params:
        params["sampling_seed"] = params.pop("seed")
    return {"input_ids": prompts, "sampling_params": params}


def llama_cpp_inputs(
    builder: PromptBuilder,
    conversations: Iterable[Any],
    *,
    max_seq_len: int | None = None,
    truncation: str | None = None,
    **of_sampling: Any,
) -> LlamaInputs:
    """The prompts and the other arguments of llama-cpp-python's ``Llama.create_completion``.

    It has no stop ids and ends at its model's own end tokens; :meth:`metatok.PromptBuilder.complete` cuts at the others.

    Args:
        builder: As for :func:`vllm_inputs`.
        conversations: As for :func:`vllm_inputs`.
        max_seq_len: As for :func:`vllm_inputs`.
        truncation: As for :func:`vllm_inputs`.
        of_sampling: As for :func:`sampling`.
    """
    params = sampling(builder, **of_sampling)
    del params["stop_token_ids"]
    params["top_k"] = max(params["top_k"], 0)
    params.setdefault("repeat_penalty", params.pop("repetition_penalty"))
    prompts = _prompts(builder, conversations, params, max_seq_len, truncation)
    return LlamaInputs(prompts, {"typical_p": 1.0, **params})


def generate_inputs(
    builder: PromptBuilder,
    conversations: Sequence[Any],
    *,
    max_new_tokens: int | None = None,
    device: Any = None,
    max_seq_len: int | None = None,
    truncation: str | None = None,
) -> dict[str, Any]:
    """The arguments of transformers' ``model.generate``: a batch padded on the left, greedy, with the stop ids.

    ``input_ids`` and ``attention_mask`` are tensors of ``int64`` with shape (conversations, longest prompt). Stop
    strings need :class:`metatok.transformers.StopCriteria`.

    Args:
        builder: As for :func:`vllm_inputs`.
        conversations: As for :func:`vllm_inputs`.
        max_new_tokens: The limit of an answer; 512 if it is not given.
        device: Where the tensors should be, as torch names it.
        max_seq_len: The model's context, in tokens; a prompt leaves room in it for ``max_new_tokens``.
        truncation: As for :func:`vllm_inputs`.
    """
    max_new_tokens = _MAX_TOKENS if max_new_tokens is None else whole("max_new_tokens", max_new_tokens, 1)
    limits = _room(max_seq_len, truncation, max_new_tokens)
    with _limit_is("max_new_tokens"):
        batch = builder.build_batch(conversations, padding_side="left", return_tensors="pt", **limits)
    return of_batch(builder, batch, max_new_tokens=max_new_tokens, device=device)


def of_batch(builder: PromptBuilder, batch: Batch, *, max_new_tokens: int | None = None, device: Any = None) -> dict[str, Any]:
    """The same of a batch of tensors that was built before."""
    tensors = {name: batch[name] if device is None else batch[name].to(device) for name in ("input_ids", "attention_mask")}
    ends = {"eos_token_id": list(builder.stop.token_ids)} if builder.stop.token_ids else {}
    return {
        **tensors,
        **ends,
        "pad_token_id": builder.pad_token_id,
        "max_new_tokens": _MAX_TOKENS if max_new_tokens is None else whole("max_new_tokens", max_new_tokens, 1),
        "do_sample": False,
        "num_beams": 1,
        "repetition_penalty": 1.0,
    }


def completions(builder: PromptBuilder, outputs: Iterable[Any]) -> list[Completion]:
    """Answers of vLLM (``RequestOutput``) or SGLang (dicts), cut where they should have ended, as by ``metatok trim``.

    Where no stop ends an answer, its ``finish_reason`` is the engine's, such as ``"abort"``. A stop that only the engine
    knows ends it too.

    Args:
        builder: That of the prompts.
        outputs: What ``generate`` returned. SGLang gives ids as ``output_ids``.

    Returns:
        One completion for each answer: of an output with several (``n=2``), all of them in their order.

    Raises:
        MetatokError: names an id before the stop that the tokenizer does not have.
    """
    lines = [_json.text(_answers(output), f"output {number}") for number, output in enumerate(outputs)]
    keys = ("text", "finish_reason", "stop", "tail")
    return [
        Completion(token_ids=answer.get("token_ids", []), **{key: answer[key] for key in keys if key in answer})
        for answer in _metatok.trim(builder._core, lines)
    ]


def _answers(output: Any) -> dict[str, Any]:
    """What decides how an engine's output is cut, with the engine's own keys."""
    if isinstance(output, dict):
        reason = (output.get("meta_info") or {}).get("finish_reason")
        reason = {"type": reason} if isinstance(reason, str) else reason
        # A reason of none would be that of a part of a streamed answer.
        info = {} if reason is None else {"finish_reason": reason}
        return {"output_ids": _listed(output["output_ids"]), "meta_info": info}
    return {"outputs": [_vllm_answer(answer) for answer in output.outputs]}


def _vllm_answer(answer: Any) -> dict[str, Any]:
    reasons = {key: getattr(answer, key, None) for key in ("finish_reason", "stop_reason")}
    return {"token_ids": _listed(answer.token_ids), **reasons}
