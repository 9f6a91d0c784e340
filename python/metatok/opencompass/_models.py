"""Models for OpenCompass's tasks: prompts are built here, and their ids run on vLLM or on transformers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metatok import Prompt, PromptBuilder, UsageError
from metatok._limits import whole
from metatok.engines import sampling
from metatok.errors import _warn
from metatok.opencompass._configs import prompt_builder
from metatok.opencompass._cutting import at_side, in_the_middle, room
from metatok.opencompass._plain import plain

#: What a tokenizer's keyword arguments are that change no ids here.
_HARMLESS = {"cache_dir", "force_download", "local_files_only", "padding_side", "token", "trust_remote_code", "use_fast"}

#: Which inferencers ask for what these models do not have.
_ASKED_BY = {
    "chat": "AgentInferencer",
    "choice": "GLMChoiceInferencer",
    "get_logits": "CLPInferencer",
    "get_mink_percent": "MinKPercentInferencer",
    "get_ppl_tokenwise_from_template": "InferencePPLOnlyInferencer",
    "reset": "AgentInferencer",
    "set_history": "AgentInferencer",
    "tokenizer": "CLPInferencer or SWCELossInferencer",
}


class Parsed(str):
    """A prompt's text, as inferencers pass it on, with its ids."""

    prompt: Prompt

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


class _Model:
    """What OpenCompass's inferencers ask of a model, with prompts built by metatok.

    The parameters are those of OpenCompass's class of the same name. ``metatok`` has further arguments of
    `PromptBuilder`. Content writes no control tokens, answers end at the model's own stops too. Prompts that are longer than
    that class takes are cut as it cuts them, with a warning for the first.
    """

    is_api = False
    _class = ""
    #: Its parameters besides those that all have.
    _parameters: tuple[str, ...] = ()
    #: Whether it leaves others unused, with a warning.
    _ignores_others = False
    #: Whether ``meta_template`` is one of its parameters.
    _has_template = True
    #: What ``max_seq_len`` is by default.
    _max_seq_len: int | None = None

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
        **others: Any,
    ) -> None:
        if meta_template is not None and not self._has_template:
            meta_template, others = None, {**others, "meta_template": meta_template}
        self._others = {name: value for name, value in others.items() if value is not None}
        self._check_others()
        self.path = path
        self.max_seq_len = self._max_seq_len if max_seq_len is None else whole("max_seq_len", max_seq_len, 1)
        self.generation_kwargs = dict(generation_kwargs or {})
        self.eos_token_id = (meta_template or {}).get("eos_token_id")
        self._dict: dict[str, Any] = {
            "type": f"metatok.opencompass.{self._class}",
            "path": path,
            "tokenizer_path": tokenizer_path,
            "meta_template": plain(meta_template),
            "stop_words": list(stop_words),
            "chat_template_kwargs": plain(chat_template_kwargs),
            **{name: self._others[name] for name in ("end_str", "fastchat_template") if name in self._others},
        }
        self._options = {"text": True, **(metatok or {})}
        self._builders: dict[tuple[Any, ...], PromptBuilder] = {}
        self._has_cut = False
        self.template_parser = self._parser()
        self.builder("gen")
        if not tokenizer_only:
            self._load(path, dict(model_kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        what = f"metatok.opencompass.{type(self).__name__} has no {name!r}"
        if name in _ASKED_BY:
            what += f", for which {_ASKED_BY[name]} asks; use GenInferencer, ChatInferencer, PPLInferencer or LLInferencer"
            what += ", or OpenCompass's own class"
        raise AttributeError(what)

    def _check_others(self) -> None:
        """Refuses what would change results and is not done here.

        Raises:
            TypeError: OpenCompass's class has no such parameter.
            UsageError: it has, but it does nothing here.
        """
        name, given = f"metatok.opencompass.{type(self).__name__}", self._others
        for other in [other for other in given if other not in self._parameters]:
            if not self._ignores_others:
                takes = ", ".join(self._parameters)
                raise TypeError(f"{name} has no parameter {other!r}, as OpenCompass's has none; it has {takes}, and those of all models")
            _warn(f"{name}: {other} is not used, as by OpenCompass's: {given[other]!r}")
        if (mode := given.get("mode", "none")) not in ("none", "mid"):
            raise UsageError(f"{name}: mode is {mode!r}, but must be 'none' or 'mid'", kind="usage")
        for key, value in given.get("tokenizer_kwargs", {}).items():
            if key == "truncation_side" and value not in ("left", "right"):
                raise UsageError(f"{name}: tokenizer_kwargs: truncation_side is {value!r}, but must be 'left' or 'right'", kind="usage")
            if key not in _HARMLESS and key != "truncation_side" and value is not None:
                what = f"{name}: tokenizer_kwargs: {key} is {value!r}, which may change ids, and is not used here"
                raise UsageError(f"{what}; leave it out, or give a folder whose files say it as tokenizer_path", kind="usage")
        refused = {
            "use_fastchat_template": "use HuggingFacewithChatTemplate with fastchat_template='vicuna'",
            "extract_pred_after_decode": "leave it out: answers are decoded after the ids of their prompts",
        }
        for key, way_out in refused.items():
            # vLLM's class takes the first and does nothing with it.
            if given.get(key) and not isinstance(self, VLLM):
                raise UsageError(f"{name}: {key} is {given[key]!r}, which is not done here; {way_out}", kind="usage")

    def builder(self, mode: str, strings: Sequence[str] = (), **options: Any) -> PromptBuilder:
        """The builder for a mode, ``gen`` or ``ppl``, and a dataset's stop strings."""
        # ChatInferencer replaces the parser, and then asks with one message after the other.
        each_message = type(self.template_parser).__module__.endswith("icl_chat_inferencer")
        key = (mode, each_message, tuple(strings), tuple(options.items()))
        if key not in self._builders:
            given = {**self._options, **options, "mode": mode, "each_message": each_message}
            given["stop_strings"] = [*given.get("stop_strings", ()), *strings]
            self._builders[key] = prompt_builder(self._dict, **given)
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
        texts = iter([_parsed(prompt) for prompt in self._built(mode, asked)])
        return [next(texts) if len(one) else "" for one in prompt_template]

    def get_token_len(self, prompt: str) -> int:
        """How many tokens a text has."""
        return len(self.builder("gen").tokenizer.encode(prompt))

    def get_token_len_from_template(self, templates: Any, mode: str = "ppl") -> Any:
        """How many tokens a prompt has, or each in a list."""
        if _is_one(templates):
            return len(self._built(mode, [templates])[0])
        return [len(prompt) for prompt in self._built(mode, list(templates))]

    def generate_from_template(
        self,
        templates: Sequence[Any],
        max_out_len: int,
        min_out_len: int | None = None,
        stopping_criteria: Sequence[str] = (),
        **kwargs: Any,
    ) -> list[str]:
        """The answers to prompts, cut at the model's stops and the dataset's."""
        builder = self.builder("gen", [string for string in stopping_criteria if string])
        more = {key: value for key, value in kwargs.items() if value is not None}
        more = {**more, **self.generation_kwargs}
        if min_out_len is not None:
            more[self._least] = whole("min_out_len", min_out_len)
        rows = self._ids("gen", self._built("gen", list(templates)), max_out_len)
        ids = self._generate(builder, rows, max_out_len, more)
        return [completion.text for completion in builder.complete_all(ids)]

    def generate(
        self,
        inputs: Sequence[str],
        max_out_len: int,
        min_out_len: int | None = None,
        stopping_criteria: Sequence[str] = (),
        **kwargs: Any,
    ) -> list[str]:
        """The answers to texts that are whole prompts' content, or what `parse_template` gave."""
        limits: dict[str, Any] = {"max_out_len": max_out_len, "min_out_len": min_out_len}
        return self.generate_from_template(inputs, stopping_criteria=stopping_criteria, **limits, **kwargs)

    def get_ppl_from_template(self, templates: Sequence[Any], mask_length: Sequence[int] | None = None) -> Any:
        """The negative log-probability of each text's tokens after the first ``mask_length``, over their number.

        Computed as OpenCompass's ``HuggingFaceBaseModel`` does: the first token counts, with a probability of 1.
        An array of floats.
        """
        import numpy as np

        losses = []
        for number, logprobs in enumerate(self._logprobs(self._ids("ppl", self._built("ppl", list(templates))))):
            masked = 0 if mask_length is None else mask_length[number]
            losses.append(-sum(logprobs[max(masked - 1, 0) :]) / (len(logprobs) + 1 - masked))
        return np.array(losses)

    def get_loglikelihood(self, inputs: Sequence[str], conts: Sequence[str]) -> Any:
        """The log-likelihood of texts that `parse_template` gave, as LLInferencer compares it: an array of floats.

        Args:
            inputs: The texts.
            conts: The part of each that is scored.
        """
        raise NotImplementedError

    def to(self, device: Any) -> None:
        """Nothing: the engine has chosen its device."""

    def _built(self, mode: str, asked: list[Any]) -> list[Prompt]:
        """The prompts of templates, or of the texts that `parse_template` made of them."""
        built = iter(self.builder(mode).build_all([one for one in asked if not isinstance(one, Parsed)]))
        return [one.prompt if isinstance(one, Parsed) else next(built) for one in asked]

    def _ids(self, mode: str, prompts: list[Prompt], max_out_len: int | None = None) -> list[list[int]]:
        """The ids of prompts, cut as OpenCompass's class cuts them."""
        rows = []
        for prompt in prompts:
            ids = prompt.tolist()
            cut = self._cut(_Cuttable(self, mode, prompt), max_out_len, len(prompts))
            if len(cut) < len(ids) and not self._has_cut:
                self._has_cut = True
                what = f"a prompt of {len(ids)} tokens is cut to {len(cut)}, as by OpenCompass's {self._class}"
                _warn(f"{what} with a max_seq_len of {self.max_seq_len}; others like it are cut too")
            rows.append(cut)
        return rows

    def _cut(self, of: _Cuttable, max_out_len: int | None, together: int) -> list[int]:
        """What is left of a prompt's ids.

        Args:
            of: The prompt.
            max_out_len: How long an answer may be; None for a text to score.
            together: How many prompts are given together.
        """
        return of.ids

    #: The engine's own name of the least length of an answer.
    _least = ""

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        raise NotImplementedError

    def _generate(
        self, builder: PromptBuilder, rows: list[list[int]], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        """The ids that the engine gives to prompts."""
        raise NotImplementedError

    def _logprobs(self, rows: list[list[int]]) -> list[list[float]]:
        """The log-probability of each token of a prompt after the first."""
        raise NotImplementedError


class _Cuttable:
    """A prompt that may be too long."""

    def __init__(self, model: _Model, mode: str, prompt: Prompt) -> None:
        self._model, self._mode, self._prompt = model, mode, prompt
        self.ids = prompt.tolist()

    def at(self, side: str, most: int) -> list[int]:
        """Its ids, cut at a side."""
        return self.ids if len(self.ids) <= most else at_side(self.ids, most, side, self._added())

    def _added(self) -> tuple[int, int]:
        """How many of the first and of the last ids the tokenizer adds."""
        said = self._model.builder(self._mode, special_tokens="never").build(self._prompt._said).tolist()
        starts = range(len(self.ids) - len(said) + 1)
        first = next((start for start in starts if self.ids[start : start + len(said)] == said), 0)
        return first, max(len(self.ids) - len(said) - first, 0)


def _parsed(prompt: Prompt) -> Parsed:
    text = Parsed(prompt.details["text"])
    text.prompt = prompt
    return text


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
        mode: With ``mid``, prompts to continue lose what is in their middle, so that they fit into ``max_seq_len``. Otherwise
            nothing is cut.
        lora_path: A LoRA adapter.
    """

    _class = "VLLM"
    _parameters: tuple[str, ...] = ("lora_path", "mode", "use_fastchat_template")
    _max_seq_len: int | None = 2048
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

    def _cut(self, of: _Cuttable, max_out_len: int | None, together: int) -> list[int]:
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
        params = {**sampling(builder, max_tokens=limit), **kwargs}
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
    """OpenCompass's ``VLLMwithChatTemplate``: the tokenizer's chat template, and vLLM. It cuts nothing."""

    _class = "VLLMwithChatTemplate"
    _parameters: tuple[str, ...] = ("fastchat_template", "lora_path")
    _max_seq_len: int | None = None


class HuggingFace(_Model):
    """OpenCompass's ``HuggingFace``: a meta template, or none, and transformers' ``generate``.

    Prompts lose what is after ``max_seq_len`` tokens, or what is before, if the tokenizer's ``truncation_side`` says so.

    Args:
        path: The model, a folder or a repository.
        model_kwargs: The arguments of ``AutoModelForCausalLM.from_pretrained``.
        generation_kwargs: Arguments of ``model.generate`` that override the task's.
        tokenizer_kwargs: ``truncation_side``; arguments that would change ids are refused.
        batch_padding: Several prompts may have ``max_seq_len`` tokens; otherwise they leave room for the answer in these.
        mode: With ``mid``, prompts that leave room lose what is in their middle.
        pad_token_id: The id for padding; a negative one is counted from the end of the vocabulary without added tokens.
        peft_path: An adapter.
    """

    _class = "HuggingFace"
    _parameters: tuple[str, ...] = (
        "batch_padding",
        "end_str",
        "extract_pred_after_decode",
        "hf_cache_dir",
        "mode",
        "pad_token_id",
        "peft_path",
        "tokenizer_kwargs",
        "use_fastchat_template",
    )
    _max_seq_len: int | None = 2048
    _least = "min_new_tokens"

    def get_loglikelihood(self, inputs: Sequence[str], conts: Sequence[str]) -> Any:
        """The sum of the log-probabilities of as many last tokens as a text loses without the scored part.

        As OpenCompass's class computes it; a text that is too long is cut at its end.
        """
        import numpy as np

        prompts, encode = self._built("ppl", list(inputs)), self.builder("ppl").tokenizer.encode
        rows = [prompt.tolist()[: self.max_seq_len] for prompt in prompts]
        scored = []
        for text, said, prompt, logprobs in zip(inputs, conts, prompts, self._logprobs(rows)):
            more = len(encode(text)) - len(encode(text.replace(said, "")))
            scored.append(sum(logprobs[max(len(prompt) - more - 1, 0) :]))
        return np.array(scored)

    def _cut(self, of: _Cuttable, max_out_len: int | None, together: int) -> list[int]:
        if self.max_seq_len is None:
            return of.ids
        if max_out_len is None or (self._others.get("batch_padding") and together > 1):
            return self._at_side(of, self.max_seq_len)
        most = room(self.max_seq_len, max_out_len)
        return in_the_middle(of.ids, most) if self._others.get("mode") == "mid" else self._at_side(of, most)

    def _at_side(self, of: _Cuttable, most: int) -> list[int]:
        return of.ids if len(of.ids) <= most else of.at(self._truncation_side(), most)

    def _truncation_side(self) -> str:
        """Where OpenCompass's class cuts: as the tokenizer of transformers does."""
        if (side := self._others.get("tokenizer_kwargs", {}).get("truncation_side")) is None:
            side = self._their_tokenizer().truncation_side
        return str(side)

    def _their_tokenizer(self) -> Any:
        """That of transformers, which OpenCompass's class uses."""
        from transformers import AutoTokenizer

        given = self._others.get("tokenizer_kwargs", {})
        return AutoTokenizer.from_pretrained(self._dict["tokenizer_path"] or self.path, **given)

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(path, **model_kwargs).eval()
        if peft_path := self._others.get("peft_path"):
            from peft import PeftModel

            peft_kwargs = {**self._others.get("peft_kwargs", {}), "is_trainable": False}
            self.model = PeftModel.from_pretrained(self.model, peft_path, **peft_kwargs).eval()

    def _generate(
        self, builder: PromptBuilder, rows: list[list[int]], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        import torch

        from metatok.batch import Batch
        from metatok.engines import of_batch
        from metatok.transformers import of_inputs

        if not rows:
            return []
        pad, width = self._pad(builder), max(map(len, rows))
        ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        batch = Batch(input_ids=ids, attention_mask=mask)
        inputs = {**of_batch(builder, batch, max_new_tokens=limit, device=self.model.device), "pad_token_id": pad}
        return of_inputs(self.model, builder, inputs, **kwargs)

    def _pad(self, builder: PromptBuilder) -> int:
        pad: int | None = self._others.get("pad_token_id", builder.pad_token_id)
        if pad is None:
            raise UsageError("the tokenizer has no padding token; give its id as pad_token_id", kind="usage")
        return pad + self._their_tokenizer().vocab_size if pad < 0 else pad

    def _logprobs(self, rows: list[list[int]]) -> list[list[float]]:
        import torch

        scored = []
        with torch.inference_mode():
            for row in rows:
                ids = torch.tensor([row], device=self.model.device)
                logits = self.model(ids).logits[0, :-1].float().log_softmax(-1)
                scored.append(logits.gather(-1, ids[0, 1:, None])[:, 0].tolist())
        return scored


class HuggingFaceBaseModel(HuggingFace):
    """OpenCompass's ``HuggingFaceBaseModel``: no template, also if one is given, and transformers.

    Prompts lose what is before the last ``max_seq_len`` tokens, by default the context that the model's configuration says.

    Args:
        drop_middle: Prompts lose what is in their middle.
    """

    _class = "HuggingFaceBaseModel"
    _parameters: tuple[str, ...] = ("drop_middle", "pad_token_id", "peft_kwargs", "peft_path", "tokenizer_kwargs")
    _ignores_others = True
    _has_template = False
    _max_seq_len: int | None = None

    def get_loglikelihood(self, inputs: Sequence[str], conts: Sequence[str]) -> Any:
        """The negative of `get_ppl_from_template`, where as many first tokens are masked as the scored part has.

        As OpenCompass's class computes it, and not the log-likelihood of that part.
        """
        return -self.get_ppl_from_template(inputs, [self.get_token_len(said) for said in conts])

    def _cut(self, of: _Cuttable, max_out_len: int | None, together: int) -> list[int]:
        most = self.max_seq_len
        if most is None or len(of.ids) <= most:
            return of.ids
        if self._others.get("drop_middle"):
            return [*of.ids[: most // 2], *of.ids[len(of.ids) - (most - most // 2) :]]
        return of.at(self._truncation_side(), most)

    def _truncation_side(self) -> str:
        return str(self._others.get("tokenizer_kwargs", {}).get("truncation_side", "left"))

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        super()._load(path, model_kwargs)
        if self.max_seq_len is None:
            config = self.model.config
            names = ("max_position_embeddings", "seq_length", "model_max_length")
            self.max_seq_len = next((getattr(config, name) for name in names if hasattr(config, name)), None)


class HuggingFacewithChatTemplate(HuggingFaceBaseModel):
    """OpenCompass's ``HuggingFacewithChatTemplate``: the tokenizer's chat template, and transformers.

    Prompts are cut as by ``HuggingFaceBaseModel``.

    Args:
        mode: With ``mid``, prompts lose then what is in their middle, so that they leave room for the answer.
    """

    _class = "HuggingFacewithChatTemplate"
    _has_template = True
    _parameters: tuple[str, ...] = ("fastchat_template", "mode", "pad_token_id", "peft_kwargs", "peft_path", "tokenizer_kwargs")

    def _cut(self, of: _Cuttable, max_out_len: int | None, together: int) -> list[int]:
        ids = super()._cut(of, max_out_len, together)
        if self._others.get("mode") != "mid" or max_out_len is None or self.max_seq_len is None:
            return ids
        most = self.max_seq_len - max_out_len
        return in_the_middle(ids, most) if most // 2 > 0 else ids
