"""The README's example in Python; those of docs/python.md are run by pytest itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT


class Model:
    """Takes what `generate` takes."""

    def generate(self, input_ids: Any, attention_mask: Any, eos_token_id: list[int]) -> Any:
        assert input_ids.shape == attention_mask.shape and eos_token_id
        return input_ids


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_readme(page: str, shared: Path) -> None:
    pytest.importorskip("torch")
    # The job on a cluster is among the recipes.
    blocks = re.findall(r"```python\n(?!import metatok.ray)(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        names: dict[str, Any] = {"model": Model(), "conversations": [[{"role": "user", "content": "Hi!"}]] * 2}
        exec(re.sub(r'tokenizer="[^"]*"', f'tokenizer="{shared}/tokenizers/qwen3"', block), names)
        assert len(names["batch"].input_ids) == 2
