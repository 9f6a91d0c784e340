"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

import metatok

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def builder() -> metatok.PromptBuilder:
    return metatok.PromptBuilder("demo")


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("there is no folder ../shared with tokenizers and corpora")
    return SHARED
