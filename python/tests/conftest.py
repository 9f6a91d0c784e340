"""What all tests share."""

from __future__ import annotations

import json
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


def to_gguf(file: Path, *options: str) -> str:
    pytest.importorskip("gguf", reason="gguf is not installed, which writes the demo's weights for llama.cpp")
    program = ROOT / "tests/engines/to_gguf.py"
    subprocess.run([sys.executable, program, ROOT / "models/demo", file, *options], check=True)
    return str(file)


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's model as llama.cpp has it."""
    return to_gguf(tmp_path_factory.mktemp("gguf") / "demo.gguf")


@pytest.fixture(scope="session")
def openvino_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's model as a GGUF that OpenVINO GenAI takes."""
    return to_gguf(tmp_path_factory.mktemp("openvino") / "demo.gguf", "--f16")


@pytest.fixture(scope="session")
def onnx_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's model as ONNX Runtime GenAI's own builder writes it."""
    for name in ("onnxruntime_genai", "onnx_ir", "torch", "transformers"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("onnx")
    command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(ROOT / "models/demo")]
    subprocess.run([*command, "-o", str(folder), "-p", "fp32", "-e", "cpu"], cwd=folder, check=True)
    return str(folder)


@pytest.fixture(scope="session")
def ct2_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo's model as CTranslate2's own converter writes it."""
    for name in ("ctranslate2", "torch", "transformers"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("ct2")
    command = [sys.executable, "-m", "ctranslate2.converters.transformers", "--model", str(ROOT / "models/demo")]
    subprocess.run([*command, "--output_dir", str(folder), "--force"], check=True)
    # Of a Llama without a BOS the converter writes null, which the engine does not load.
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "bos_token": config["eos_token"]}), encoding="utf-8")
    return str(folder)
