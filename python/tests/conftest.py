"""What all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
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


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's model with heads of 32, which is the smallest that vLLM and SGLang take."""
    widen = os.environ.get("METATOK_WIDEN_HEADS") or str(SHARED / "engines/widen_heads.py")
    if not os.path.exists(widen):
        pytest.skip("METATOK_WIDEN_HEADS names no program that widens the heads of the demo's model")
    folder = tmp_path_factory.mktemp("weights") / "demo"
    subprocess.run([sys.executable, widen, str(ROOT / "models/demo"), str(folder), "2"], check=True)
    return str(folder)


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's model as llama.cpp has it."""
    pytest.importorskip("gguf", reason="gguf is not installed, which writes the demo's weights for llama.cpp")
    file = tmp_path_factory.mktemp("gguf") / "demo.gguf"
    subprocess.run([sys.executable, ROOT / "tests/engines/to_gguf.py", ROOT / "models/demo", file], check=True)
    return str(file)
