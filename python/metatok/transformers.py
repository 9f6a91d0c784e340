"""transformers: a stopping criterion made of a builder's stops, and answers of ``model.generate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from transformers import StoppingCriteria

from metatok import PromptBuilder
from metatok._several import several
from metatok.engines import generate_inputs

if TYPE_CHECKING:
    from metatok import Completion, Stream


class StopCriteria(StoppingCriteria):  # type: ignore[misc]
    """Ends each sequence at the builder's stop ids and stop strings, whatever the tokens are that a string spans.

    Beam search mixes sequences: those that do not go on from the step before are read again.

    Args:
        builder: Whose stops count.
        prompt_length: The width of the batch of prompts, in tokens, padding included.
    """

    def __init__(self, builder: PromptBuilder, prompt_length: int) -> None:
        self._builder = builder
        self._prompt_length = prompt_length
        self._streams: list[Stream] = []
        self._seen: torch.Tensor | None = None

    def __call__(self, input_ids: torch.LongTensor, scores: Any = None, **kwargs: Any) -> torch.BoolTensor:
        """Whether each sequence has ended: ``bool``, shape (sequences,)."""
        rows, start = input_ids.shape[0], self._prompt_length
        goes_on = [False] * rows
        if self._seen is not None and self._seen.shape[0] == rows and self._seen.shape[1] <= input_ids.shape[1]:
            start = self._seen.shape[1]
            goes_on = (input_ids[:, :start] == self._seen).all(dim=1).tolist()
        self._seen = input_ids.clone()
        self._streams = [self._streams[row] if goes_on[row] else self._builder.stream() for row in range(rows)]
        news = [ids[start if goes_on[row] else self._prompt_length :].tolist() for row, ids in enumerate(input_ids)]
        ended = [_push(stream, new) for stream, new in zip(self._streams, news)]
        return torch.tensor(ended, dtype=torch.bool, device=input_ids.device)


def _push(stream: Stream, ids: Sequence[int]) -> bool:
    for token in ids:
        if stream.finish_reason is None:
            stream.push(token)
    return stream.finish_reason is not None


def generate(
    model: Any,
    builder: PromptBuilder,
    conversations: Sequence[Any],
    *,
    max_new_tokens: int | None = None,
    max_seq_len: int | None = None,
    truncation: str | None = None,
    **kwargs: Any,
) -> list[Completion]:
    """The model's answers to conversations, in one batch, cut at the stops.

    Args:
        model: A causal language model of transformers.
        builder: Builds the prompts, and knows where answers end.
        conversations: As for :meth:`metatok.PromptBuilder.build_batch`.
        max_new_tokens: As for :func:`metatok.engines.generate_inputs`.
        max_seq_len: As for :func:`metatok.engines.generate_inputs`.
        truncation: As for :func:`metatok.engines.generate_inputs`.
        kwargs: More arguments of ``model.generate``, such as ``do_sample``.
    """
    limits: dict[str, Any] = {"max_new_tokens": max_new_tokens, "max_seq_len": max_seq_len, "truncation": truncation}
    return builder.complete_all(generate_ids(model, builder, conversations, **limits, **kwargs))


def generate_ids(
    model: Any,
    builder: PromptBuilder,
    conversations: Sequence[Any],
    *,
    max_new_tokens: int | None = None,
    max_seq_len: int | None = None,
    truncation: str | None = None,
    **kwargs: Any,
) -> list[list[int]]:
    """The same as the ids that the model gives, with the stop and the padding after it."""
    conversations = list(several(conversations))
    if not conversations:
        return []
    limits: dict[str, Any] = {"max_new_tokens": max_new_tokens, "max_seq_len": max_seq_len, "truncation": truncation}
    return of_inputs(model, builder, generate_inputs(builder, conversations, device=model.device, **limits), **kwargs)


def of_inputs(model: Any, builder: PromptBuilder, inputs: dict[str, Any], **kwargs: Any) -> list[list[int]]:
    """The ids that the model gives after those of :func:`metatok.engines.generate_inputs`."""
    length = inputs["input_ids"].shape[1]
    if builder.stop.strings:
        inputs["stopping_criteria"] = [StopCriteria(builder, length)]
    with torch.inference_mode():
        generated = model.generate(**{**inputs, **kwargs})
    # With `return_dict_in_generate` it has more than the ids.
    rows = getattr(generated, "sequences", generated)
    return [row[length:].tolist() for row in rows]
