"""OpenCompass's models that run on vLLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metatok import PromptBuilder
from metatok.engines import sampling
from metatok.opencompass._cutting import Cuttable, in_the_middle, room
from metatok.opencompass._model import Model


class VLLM(Model):
    """OpenCompass's ``VLLM``: a meta template, or none, and vLLM.

    Args:
        path: The model, a folder or a repository.
        model_kwargs: The arguments of ``vllm.LLM``.
        generation_kwargs: Arguments of ``SamplingParams`` that override the task's, except ``max_tokens`` and ``stop``. Without
            a ``temperature`` vLLM samples with its own, 1.
        mode: With ``mid``, prompts to continue lose what is in their middle, so that they fit into ``max_seq_len``. Otherwise
            nothing is cut.
        lora_path: A LoRA adapter.
    """

    _class = "VLLM"
    _parameters: tuple[str, ...] = ("lora_path", "mode", "use_fastchat_template")
    _overwritten = {"max_tokens": "max_out_len", "stop": "stop_words with the task's stopping_criteria"}
    _max_seq_len: int | None = 2048
    _temperature = 1.0
    _least = "min_tokens"

    def get_loglikelihood(self, inputs: Sequence[str], conts: Sequence[str]) -> Any:
        """The log-probabilities of as many last tokens as the scored part has, over the number of all tokens.

        As OpenCompass's class computes it, and not a sum.
        """
        import numpy as np

        scored = []
        for logprobs, said in zip(self._logprobs(self._ids("ppl", self._built("ppl", list(inputs)))), conts):
            scored.append(sum(logprobs[-self.get_token_len(said) :]) / len(logprobs))
        return np.array(scored)

    def _cut(self, of: Cuttable, max_out_len: int | None, together: int) -> list[int]:
        if self._others.get("mode") != "mid" or max_out_len is None or self.max_seq_len is None:
            return of.ids
        return in_the_middle(of.ids, room(self.max_seq_len, max_out_len))

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        from vllm import LLM

        self.model = LLM(path, **model_kwargs)

    def _generate(
        self, builder: PromptBuilder, rows: list[list[int]], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        kwargs.pop("do_sample", None)
        params = {**sampling(builder, max_tokens=limit, temperature=self._temperature), **kwargs}
        return [list(output.outputs[0].token_ids) for output in self._run(rows, params)]

    def _logprobs(self, rows: list[list[int]]) -> list[list[float]]:
        scored = []
        for output in self._run(rows, {"prompt_logprobs": 0, "max_tokens": 1, "temperature": 0.0}):
            pairs = zip(output.prompt_token_ids[1:], output.prompt_logprobs[1:])
            scored.append([tokens[token].logprob for token, tokens in pairs])
        return scored

    def _run(self, rows: list[list[int]], params: dict[str, Any]) -> list[Any]:
        from vllm import SamplingParams

        prompts: list[Any] = [{"prompt_token_ids": ids} for ids in rows]
        more: dict[str, Any] = {}
        if lora_path := self._others.get("lora_path"):
            from vllm.lora.request import LoRARequest

            more["lora_request"] = LoRARequest("lora_adapter", 1, lora_path)
        return list(self.model.generate(prompts, SamplingParams(**params), use_tqdm=False, **more))


class VLLMwithChatTemplate(VLLM):
    """OpenCompass's ``VLLMwithChatTemplate``: the tokenizer's chat template, and vLLM. It cuts nothing.

    Args:
        generation_kwargs: Arguments of ``SamplingParams`` that the task's override. Without a ``temperature`` it is greedy.
    """

    _class = "VLLMwithChatTemplate"
    _parameters: tuple[str, ...] = ("fastchat_template", "lora_path")
    _task_wins = True
    _overwritten = {}
    _max_seq_len: int | None = None
    _temperature = 0.0
