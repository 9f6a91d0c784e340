"""The keyword arguments of builders and of what they build, as type checkers and editors see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex, TypedDict

import numpy as np
import numpy.typing as npt


class Options(TypedDict, total=False):
    """Of :class:`metatok.PromptBuilder`, besides the model and its template. docs/python.md says what each does."""

    mode: str
    special_tokens: str | None
    content: str
    reserve: Sequence[str]
    unreserve: Sequence[str]
    stop_token_ids: Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]
    stop_strings: Sequence[str]
    round_fallback: bool
    each_message: bool
    chat_wrapper: str | None
    continue_final_message: bool
    open_answer: bool
    compat: bool
    allow_empty_prompts: bool
    always_render: bool
    spans: bool
    offsets: bool
    text: bool


class OptionsOfTokenizer(Options, total=False):
    """Of :meth:`metatok.PromptBuilder.from_tokenizer`."""

    template_kwargs: Mapping[str, Any] | None


class ContextLimits(TypedDict, total=False):
    """How long prompts may be, where an answer's limit is an argument of its own."""

    max_seq_len: SupportsIndex | None
    truncation: str | None


class Limits(ContextLimits, total=False):
    """How long prompts may be."""

    max_out_len: SupportsIndex | None


class BatchOptions(Limits, total=False):
    """Of :meth:`metatok.PromptBuilder.build_batch`."""

    padding_side: str
    pad_to_multiple_of: int | None
    return_tensors: str
    dtype: Any
    threads: int | None


class TaskOptions(TypedDict, total=False):
    """Of :meth:`metatok.PromptBuilder.task`."""

    num_fewshot: SupportsIndex | None
    layout: str | None
    infer_mode: str | None
    neighbours: str | None
    id_column: str | None
    keep: Sequence[str]
    max_seq_len: SupportsIndex | None
    max_out_len: SupportsIndex | None
    arrow_compat: bool
    compat: bool
    strict: bool
