"""Prompts side by side, as models take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["Batch"]


class Batch(dict[str, Any]):
    """Prompts side by side: ``input_ids`` and ``attention_mask``, and ``labels`` of texts to score, all of shape
    (prompts, tokens of the longest).

    It is a dict, so ``model.generate(**batch)`` takes it.

    >>> import metatok
    >>> builder = metatok.PromptBuilder("demo")
    >>> batch = builder.build_batch([[{"role": "user", "content": text}] for text in ("Hi!", "What is the Sun?")])
    >>> batch.input_ids.shape == batch.attention_mask.shape
    True
    >>> int(batch.input_ids[0, 0]) == builder.pad_token_id, batch.lengths
    (True, [14, 16])
    """

    @property
    def input_ids(self) -> Any:
        """The token ids, with padding."""
        return self["input_ids"]

    @property
    def attention_mask(self) -> Any:
        """1 where a prompt's tokens are, 0 where its padding is."""
        return self["attention_mask"]

    @property
    def lengths(self) -> list[int]:
        """How many tokens each prompt has."""
        lengths: list[int] = self["attention_mask"].sum(1).tolist()
        return lengths

    def rows(self) -> Iterator[Any]:
        """The ids of each prompt, without padding, of shape (tokens,): copies."""
        for ids, mask in zip(self["input_ids"], self["attention_mask"]):
            yield ids[mask != 0]

    def to(self, device: Any) -> Batch:
        """The tensors on another device, as torch names it. Arrays become tensors."""
        import torch

        return Batch({name: torch.as_tensor(value).to(device) for name, value in self.items()})
