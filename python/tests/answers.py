"""The demo's conversations, and what `metatok run` answers to them."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "models" / "demo"
#: A build with the feature candle: the variable names one, or the checkout or the wheel has it.
PROGRAMS = [[os.environ.get("METATOK_RUN", "")], [str(REPOSITORY / "target/debug/metatok")], [sys.executable, "-m", "metatok"]]
#: What SGLang needs where there is no GPU.
SGLANG_ON_CPU: dict[str, Any] = {
    "device": "cpu", "dtype": "float32", "attention_backend": "torch_native", "sampling_backend": "pytorch",
    "mem_fraction_static": 0.1, "max_total_tokens": 8192, "context_length": 2048, "disable_overlap_schedule": True,
    "skip_server_warmup": True,
}  # fmt: skip


def conversations() -> list[Any]:
    """36 conversations, each with its answer as the last message, which builders leave out."""
    lines = (DEMO / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    parsed = [json.loads(line) for line in lines]
    return [line.get("messages", line.get("prompt")) for line in parsed]


def answers() -> list[dict[str, Any]]:
    """What the engine in the command line answers, greedily."""
    for program in PROGRAMS:
        if program[0] and os.path.exists(program[0]):
            command = [*program, "run", "-m", "demo", "--quiet", str(DEMO / "conversations.jsonl")]
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode == 0:
                return [json.loads(line) for line in ran.stdout.splitlines()]
    pytest.skip("no metatok here has an engine (cargo build --features candle, or METATOK_RUN names one)")
