"""Where a model's output ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Stop"]


@dataclass(frozen=True)
class Stop:
    """Where a model's output ends, as an engine needs to know it.

    >>> import metatok
    >>> stop = metatok.PromptBuilder("demo").stop
    >>> stop.token_ids, stop.strings
    ([1052, 1050], [])
    >>> stop.sources[1050]
    ['generation_config']
    """

    token_ids: list[int]
    """For ``stop_token_ids`` of vLLM, ``eos_token_id`` of ``generate``, and the like."""
    strings: list[str]
    """For ``stop``. Where output contains one of them, it ends before it."""
    sources: dict[int, list[str]] = field(default_factory=dict)
    """Who declares each id, such as ``tokenizer_config``."""

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Stop:
        ids = [stop["id"] for stop in data["ids"]]
        return cls(ids, list(data["strings"]), {stop["id"]: stop["sources"] for stop in data["ids"]})
