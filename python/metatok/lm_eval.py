"""lm-evaluation-harness: models of its own whose chat prompts have the ids that metatok builds.

`Prompts` is put before one of its classes and replaces only how chats become ids::

    class Model(metatok.lm_eval.Prompts, lm_eval.models.huggingface.HFLM):
        pass

    model = Model(pretrained="Qwen/Qwen3-8B", metatok={"model": "qwen3", "tokenizer": "Qwen/Qwen3-8B"})
    lm_eval.simple_evaluate(model, tasks=["gsm8k"], apply_chat_template=True)

Text without a chat template is tokenized as by the class without `Prompts`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from metatok import InputError, PromptBuilder, UsageError


class Built(str):
    """A prompt's text, as the harness passes it on, with its ids and its messages."""

    input_ids: list[int]
    messages: list[dict[str, Any]]
    #: Whether its last message is the beginning of the answer.
    has_begun: bool

    def __reduce__(self) -> tuple[Any, ...]:
        return _built, (str(self), self.input_ids, self.messages, self.has_begun)


def _built(text: str, input_ids: list[int], messages: list[dict[str, Any]], has_begun: bool) -> Built:
    built = Built(text)
    built.input_ids, built.messages, built.has_begun = input_ids, messages, has_begun
    return built


class Prompts:
    """Builds the ids of chats, for classes of lm-evaluation-harness that come after it (``TemplateLM``).

    Args:
        metatok: The arguments of :class:`metatok.PromptBuilder`.
        enable_thinking: A variable of the chat template, which the class takes too.
        chat_template_args: Other variables of the chat template, which the class takes too.

    Raises:
        UsageError: a variable of the chat template has two values, or there is no chat template that reads it.
    """

    def __init__(self, *args: Any, metatok: Mapping[str, Any], **kwargs: Any) -> None:
        metatok = {**metatok, "template_kwargs": _variables(metatok.get("template_kwargs"), kwargs)}
        try:
            self._asking = PromptBuilder(**metatok, text=True)
        except UsageError as error:
            given = [name for name in ("enable_thinking", "chat_template_args") if kwargs.get(name) is not None]
            raise error._saying("`template_kwargs`", ", ".join(given) or "`template_kwargs`") from None
        self._going_on = PromptBuilder(**metatok, text=True, continue_final_message=True)
        scoring = {**metatok, "mode": "ppl", "open_answer": True, "text": True}
        self._scoring = PromptBuilder(**scoring)
        self._scoring_begun = PromptBuilder(**scoring, continue_final_message=True)
        made = "".join(builder.fingerprint for builder in (self._asking, self._going_on))
        self._digest = f"metatok-{hashlib.sha256(made.encode()).hexdigest()[:16]}"
        super().__init__(*args, **kwargs)

    @property
    def tokenizer_name(self) -> str:
        """The class's own, with what determines the ids: the harness keeps prompts under this name (``cache_requests``)."""
        return f"{super().tokenizer_name}-{self._digest}"  # type: ignore[misc]

    def apply_chat_template(self, chat_history: Sequence[Mapping[str, Any]], add_generation_prompt: bool = True) -> Built:
        """The prompt of a chat, to continue with a new answer or with the last one."""
        messages = [dict(message) for message in chat_history]
        prompt = (self._asking if add_generation_prompt else self._going_on).build(messages)
        return _built(prompt.details["text"], prompt.tolist(), messages, not add_generation_prompt)

    def tok_encode(self, string: Any, *args: Any, left_truncate_len: int | None = None, **kwargs: Any) -> Any:
        """The ids of a text, or of several."""
        strings = [string] if isinstance(string, str) else list(string)
        if not any(isinstance(one, Built) for one in strings):
            more = {} if left_truncate_len is None else {"left_truncate_len": left_truncate_len}
            return super().tok_encode(string, *args, **more, **kwargs)  # type: ignore[misc]
        ids = [self._ids(one, *args, **kwargs)[-(left_truncate_len or 0) :] for one in strings]
        return ids[0] if isinstance(string, str) else ids

    def _ids(self, string: str, *args: Any, **kwargs: Any) -> list[int]:
        if isinstance(string, Built):
            return list(string.input_ids)
        return list(super().tok_encode(string, *args, **kwargs))  # type: ignore[misc]

    def tok_batch_encode(
        self, strings: Sequence[str], padding_side: str = "left", left_truncate_len: int | None = None, **kwargs: Any
    ) -> Any:
        """The ids of texts and their mask, padded: tensors of ``int64`` with shape (texts, longest)."""
        if not any(isinstance(one, Built) for one in strings):
            return super().tok_batch_encode(  # type: ignore[misc]
                strings, padding_side=padding_side, left_truncate_len=left_truncate_len, **kwargs
            )
        import torch

        rows = [self._ids(one)[-(left_truncate_len or 0) :] for one in strings]
        width = max(map(len, rows))
        pad = self._asking.pad_token_id or 0
        ids, mask = torch.full((len(rows), width), pad), torch.zeros((len(rows), width), dtype=torch.long)
        for number, row in enumerate(rows):
            place = slice(width - len(row), width) if padding_side == "left" else slice(0, len(row))
            ids[number, place], mask[number, place] = torch.tensor(row), 1
        return ids, mask

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The ids of a context, and those of an answer to score, of which the text is one.

        As in the harness, white space at the end of the context is scored with the answer.

        Raises:
            InputError: the template does not write the answer as it is after the context.
        """
        if not isinstance(context, Built):
            return super()._encode_pair(context, continuation)  # type: ignore[misc, no-any-return]
        messages, begun, builders = context.messages, "", [self._scoring]
        if context.has_begun:
            *messages, last = messages
            # Some templates leave out white space at its end.
            begun = last["content"] if context.endswith(last["content"]) else last["content"].rstrip()
            # Before an answer that is there, a template may write what it does not write before one to come, such as
            # empty thoughts. Others leave out white space at an answer's end, which is scored.
            builders = [self._scoring_begun, self._scoring]
        said = [*messages, {"role": "assistant", "content": begun + continuation}]
        written = ""
        for builder in builders:
            prompt = builder.build(said)
            written = prompt.details["text"]
            if written == context + continuation:
                whole = prompt.tolist()
                before = builder._core.context_tokens(said, len(continuation.encode()))
                return whole[:before], whole[before:]
        way_out = "leave out of it what the template leaves out"
        what = f"the answer {continuation!r} cannot be scored: the template writes {written[-100:]!r} at the end, not {(context + continuation)[-100:]!r}"
        raise InputError(f"{what}; {way_out}", "conversation", "input", way_out=way_out)


def _variables(given: Mapping[str, Any] | None, kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The variables of the chat template: the builder's, and those among a class's arguments."""
    variables = dict(given or {})
    of_class = {**(kwargs.get("chat_template_args") or {})}
    if kwargs.get("enable_thinking") is not None:
        of_class["enable_thinking"] = kwargs["enable_thinking"]
    for name, value in of_class.items():
        if variables.setdefault(name, value) != value:
            what = f"the chat template's variable {name!r} is {value!r} among the model's arguments, but {variables[name]!r} in metatok's template_kwargs"
            raise UsageError(f"{what}; give it once", kind="usage")
    return variables or None
