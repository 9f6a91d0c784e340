"""What every model for OpenCompass's tasks does: prompts are built here, and their ids run on an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metatok import Prompt, PromptBuilder, UsageError
from metatok._limits import whole
from metatok.errors import _warn
from metatok.opencompass._configs import prompt_builder
from metatok.opencompass._cutting import Cuttable
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


class Model:
    """What OpenCompass's inferencers ask of a model, with prompts built by metatok.

    The parameters are those of OpenCompass's class of the same name. ``metatok`` has further arguments of
    `PromptBuilder`. Content writes no control tokens, answers end at the model's own stops too. Prompts that are longer than
    that class takes are cut as it cuts them, with a warning for the first.
    """

    is_api = False
    _class = ""
    #: Its parameters besides those that all have.
    _parameters: tuple[str, ...] = ()
    #: Those that change results and are not done here, with what to do instead.
    _refused: Mapping[str, str] = {}
    #: Whether it leaves others unused, with a warning.
    _ignores_others = False
    #: Whether ``meta_template`` is one of its parameters.
    _has_template = True
    #: Whether the task's arguments of an answer win over ``generation_kwargs``.
    _task_wins = False
    #: What is not used of ``generation_kwargs``, with what counts instead.
    _overwritten: Mapping[str, str] = {}
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
        self._warn_of_overwritten()
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
        for key, way_out in self._refused.items():
            if given.get(key):
                raise UsageError(f"{name}: {key} is {given[key]!r}, which is not done here; {way_out}", kind="usage")

    def _warn_of_overwritten(self) -> None:
        for key, instead in self._overwritten.items():
            if key in self.generation_kwargs:
                what = f"metatok.opencompass.{type(self).__name__}: generation_kwargs: {key} is not used, as by OpenCompass's"
                _warn(f"{what}: {self.generation_kwargs[key]!r}; {instead} counts")

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
        more = {**self.generation_kwargs, **more} if self._task_wins else {**more, **self.generation_kwargs}
        if max_out_len is not None:
            more = {key: value for key, value in more.items() if key not in self._overwritten}
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
            of = Cuttable(prompt, lambda: self.builder(mode, special_tokens="never"))
            cut = self._cut(of, max_out_len, len(prompts))
            if len(cut) < len(ids) and not self._has_cut:
                self._has_cut = True
                what = f"a prompt of {len(ids)} tokens is cut to {len(cut)}, as by OpenCompass's {self._class}"
                _warn(f"{what} with a max_seq_len of {self.max_seq_len}; others like it are cut too")
            rows.append(cut)
        return rows

    def _cut(self, of: Cuttable, max_out_len: int | None, together: int) -> list[int]:
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


def _parsed(prompt: Prompt) -> Parsed:
    text = Parsed(prompt.details["text"])
    text.prompt = prompt
    return text


def _is_one(templates: Any) -> bool:
    """Whether this is one prompt: a string, OpenCompass's ``PromptList``, or a list of messages."""
    return isinstance(templates, str) or type(templates).__name__ == "PromptList" or _are_messages(templates)


def _are_messages(templates: Any) -> bool:
    return bool(templates) and all(isinstance(one, dict) for one in templates)
