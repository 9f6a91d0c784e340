"""Models for OpenCompass's tasks: prompts are built here, and their ids run on vLLM or on transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metatok import Prompt, PromptBuilder
from metatok.engines import vllm_inputs
from metatok.opencompass._configs import prompt_builder
from metatok.opencompass._plain import plain


class _Model:
    """What OpenCompass's inferencers ask of a model, with prompts built by metatok.

    The parameters are those of OpenCompass's class of the same name. ``metatok`` has further arguments of
    `PromptBuilder`. Content writes no control tokens, answers end at the model's own stops too.
    """

    is_api = False
    _class = ""

    def __init__(
        self,
        path: str,
        *,
        meta_template: Mapping[str, Any] | None = None,
        tokenizer_path: str | None = None,
        max_seq_len: int | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        generation_kwargs: Mapping[str, Any] | None = None,
        stop_words: Sequence[str] = (),
        chat_template_kwargs: Mapping[str, Any] | None = None,
        tokenizer_only: bool = False,
        metatok: Mapping[str, Any] | None = None,
    ) -> None:
        self.path, self.max_seq_len = path, max_seq_len
        self.generation_kwargs = dict(generation_kwargs or {})
        self.eos_token_id = (meta_template or {}).get("eos_token_id")
        self._dict = {
            "type": f"metatok.opencompass.{self._class}",
            "path": path,
            "tokenizer_path": tokenizer_path,
            "meta_template": plain(meta_template),
            "stop_words": list(stop_words),
            "chat_template_kwargs": plain(chat_template_kwargs),
        }
        self._options = {"text": True, **(metatok or {})}
        self._builders: dict[tuple[str, bool, tuple[str, ...]], PromptBuilder] = {}
        self.template_parser = self._parser()
        self.builder("gen")
        if not tokenizer_only:
            self._load(path, dict(model_kwargs or {}))

    def builder(self, mode: str, strings: Sequence[str] = ()) -> PromptBuilder:
        """The builder for a mode, ``gen`` or ``ppl``, and a dataset's stop strings."""
        # ChatInferencer replaces the parser, and then asks with one message after the other.
        each_message = type(self.template_parser).__module__.endswith("icl_chat_inferencer")
        key = (mode, each_message, tuple(strings))
        if key not in self._builders:
            options = {**self._options, "mode": mode, "each_message": each_message}
            options["stop_strings"] = [*options.get("stop_strings", ()), *strings]
            self._builders[key] = prompt_builder(self._dict, **options)
        return self._builders[key]

    def _parser(self) -> Any:
        """What ChatInferencer replaces by its own. It parses nothing: it has no lists of strings and ids."""
        from opencompass.models.base import LMTemplateParser

        return LMTemplateParser()

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        """The text of a prompt, or of each in a list."""
        if _is_one(prompt_template):
            return self.parse_template([prompt_template], mode)[0]
        # PPLInferencer looks at a row's examples alone, also where there are none.
        asked = [one for one in prompt_template if len(one)]
        texts = iter([prompt.details["text"] for prompt in self.builder(mode).build_all(asked)])
        return [next(texts) if len(one) else "" for one in prompt_template]

    def get_token_len(self, prompt: str) -> int:
        """How many tokens a text has."""
        return len(self.builder("gen").tokenizer.encode(prompt))

    def get_token_len_from_template(self, templates: Any, mode: str = "ppl") -> Any:
        """How many tokens a prompt has, or each in a list."""
        if _is_one(templates):
            return len(self.builder(mode).build(templates))
        return [len(prompt) for prompt in self.builder(mode).build_all(list(templates))]

    def generate_from_template(
        self, templates: Sequence[Any], max_out_len: int, stopping_criteria: Sequence[str] = (), **kwargs: Any
    ) -> list[str]:
        """The answers to prompts, cut at the model's stops and the dataset's."""
        builder = self.builder("gen", [string for string in stopping_criteria if string])
        more = {key: value for key, value in kwargs.items() if value is not None}
        ids = self._generate(builder, list(templates), max_out_len, {**more, **self.generation_kwargs})
        return [completion.text for completion in builder.complete_all(ids)]

    def generate(
        self, inputs: Sequence[str], max_out_len: int, stopping_criteria: Sequence[str] = (), **kwargs: Any
    ) -> list[str]:
        """The answers to texts that are whole prompts' content."""
        return self.generate_from_template(inputs, max_out_len, stopping_criteria=stopping_criteria, **kwargs)

    def get_ppl_from_template(self, templates: Sequence[Any], mask_length: Sequence[int] | None = None) -> Any:
        """The negative log-probability of each text's tokens after the first ``mask_length``, over their number.

        Computed as OpenCompass's ``HuggingFaceBaseModel`` does: the first token counts, with a probability of 1.
        An array of floats.
        """
        import numpy as np

        prompts = self.builder("ppl").build_all(list(templates))
        losses = []
        for number, logprobs in enumerate(self._logprobs(prompts)):
            masked = 0 if mask_length is None else mask_length[number]
            losses.append(-sum(logprobs[max(masked - 1, 0) :]) / (len(logprobs) + 1 - masked))
        return np.array(losses)

    def to(self, device: Any) -> None:
        """Nothing: the engine has chosen its device."""

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        raise NotImplementedError

    def _generate(
        self, builder: PromptBuilder, templates: list[Any], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        """The ids that the engine gives to prompts."""
        raise NotImplementedError

    def _logprobs(self, prompts: list[Prompt]) -> list[list[float]]:
        """The log-probability of each token of a prompt after the first."""
        raise NotImplementedError


def _is_one(templates: Any) -> bool:
    """Whether this is one prompt: a string, OpenCompass's ``PromptList``, or a list of messages."""
    return isinstance(templates, str) or type(templates).__name__ == "PromptList" or _are_messages(templates)


def _are_messages(templates: Any) -> bool:
    return bool(templates) and all(isinstance(one, dict) for one in templates)


class VLLM(_Model):
    """OpenCompass's ``VLLM``: a meta template, or none, and vLLM.

    Args:
        path: The model, a folder or a repository.
        model_kwargs: The arguments of ``vllm.LLM``.
        generation_kwargs: Arguments of ``SamplingParams`` that override the task's.
    """

    _class = "VLLM"

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        from vllm import LLM

        self.model = LLM(path, **model_kwargs)

    def _generate(
        self, builder: PromptBuilder, templates: list[Any], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        kwargs.pop("do_sample", None)
        prompts, params = vllm_inputs(builder, templates, max_tokens=limit)
        return [list(output.outputs[0].token_ids) for output in self._run(prompts, {**params, **kwargs})]

    def _logprobs(self, prompts: list[Prompt]) -> list[list[float]]:
        scored = []
        tokens = [{"prompt_token_ids": prompt.tolist()} for prompt in prompts]
        for output in self._run(tokens, {"prompt_logprobs": 0, "max_tokens": 1, "temperature": 0.0}):
            pairs = zip(output.prompt_token_ids[1:], output.prompt_logprobs[1:])
            scored.append([tokens[token].logprob for token, tokens in pairs])
        return scored

    def _run(self, prompts: list[dict[str, Any]], params: dict[str, Any]) -> list[Any]:
        from vllm import SamplingParams

        return list(self.model.generate(prompts, SamplingParams(**params), use_tqdm=False))


class VLLMwithChatTemplate(VLLM):
    """OpenCompass's ``VLLMwithChatTemplate``: the tokenizer's chat template, and vLLM."""

    _class = "VLLMwithChatTemplate"


class HuggingFace(_Model):
    """OpenCompass's ``HuggingFaceBaseModel``: a meta template, or none, and transformers' ``generate``.

    Args:
        path: The model, a folder or a repository.
        model_kwargs: The arguments of ``AutoModelForCausalLM.from_pretrained``.
        generation_kwargs: Arguments of ``model.generate`` that override the task's.
    """

    _class = "HuggingFace"

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(path, **model_kwargs).eval()

    def _generate(
        self, builder: PromptBuilder, templates: list[Any], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        from metatok.transformers import generate_ids

        return generate_ids(self.model, builder, templates, max_new_tokens=limit, **kwargs)

    def _logprobs(self, prompts: list[Prompt]) -> list[list[float]]:
        import torch

        scored = []
        with torch.inference_mode():
            for prompt in prompts:
                ids = torch.tensor([prompt.tolist()], device=self.model.device)
                logits = self.model(ids).logits[0, :-1].float().log_softmax(-1)
                scored.append(logits.gather(-1, ids[0, 1:, None])[:, 0].tolist())
        return scored


class HuggingFacewithChatTemplate(HuggingFace):
    """OpenCompass's ``HuggingFacewithChatTemplate``: the tokenizer's chat template, and transformers."""

    _class = "HuggingFacewithChatTemplate"
