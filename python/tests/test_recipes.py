"""The recipes of docs/python-recipes.md, and the README's job on a cluster: each block is a program that runs, on two questions and the demo's weights.

Those that start an engine on this machine take minutes, and run with METATOK_RECIPES=all.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import metatok
from answers import DEMO, SGLANG_ON_CPU

ROOT = DEMO.parents[1]
TEXT = (ROOT / "docs" / "python-recipes.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: The text before a block, down to its heading, and the block.
BLOCKS = re.findall(r"^## (.+?)$|^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)
ENGINES = ("vllm", "sglang", "ray.data.llm")
QUESTIONS = ["What is the capital of France?", "What is the capital of Italy?"]
#: Models in the formats of engines, and the fixtures that make them of the demo.
CONVERTED = {
    "./Qwen3-8B.gguf": "gguf",
    "./Qwen3-8B-ov": "openvino_model",
    "./Qwen3-8B-onnx": "onnx_model",
    "./Qwen3-8B-ct2": "ct2_model",
}
#: A block with one of these has a model answer the questions.
LIMITS = ("max_tokens", "max_out_len", "max_new_tokens", "max_length=")
#: What a machine without a GPU needs beside.
ON_CPU = {
    'vllm.LLM("./Qwen3-8B")': 'vllm.LLM("./Qwen3-8B", dtype="float32", enforce_eager=True, max_model_len=2048, '
    "gpu_memory_utilization=0.3)",
    '{"max_model_len": 2048}': '{"max_model_len": 2048, "dtype": "float32", "enforce_eager": True, "max_num_seqs": 8, '
    '"gpu_memory_utilization": 0.3}, '
    'log_engine_metrics=False, placement_group_config={"bundles": [{"CPU": 1}]}',
    'sglang.Engine(model_path="./Qwen3-8B")': f'sglang.Engine(model_path="./Qwen3-8B", **{SGLANG_ON_CPU})',
    'Model(pretrained="./Qwen3-8B"': 'Model(pretrained="./Qwen3-8B", device="cpu"',
    "metatok.ray, ray\n": "metatok.ray, ray\nray.init(num_cpus=4)\n",
}
CONFIG = """
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever
models = [dict(type="metatok.opencompass.VLLM", path="mine", abbr="mine", meta_template=dict(round=[
    dict(role="HUMAN", begin=[1051, "user\\n"], end="\\n"), dict(role="BOT", begin="A: ", generate=True)]))]
datasets = [dict(reader_cfg=dict(input_columns=["question"], output_column="answer"), infer_cfg=dict(
    prompt_template=dict(type=PromptTemplate, template=dict(round=[dict(role="HUMAN", prompt="{question}")])),
    retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer)))]
"""


def recipes() -> list[tuple[str, str]]:
    """Each block with its number below its heading."""
    found, heading, number = [], "", 0
    for title, block in BLOCKS:
        heading, number = (title, 0) if title else (heading, number + 1)
        if block:
            found.append((f"{heading} {number}", block))
    jobs = re.findall(r"^```python\n(import metatok.ray.+?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(jobs) == 1
    return [*found, ("README", jobs[0])]


@pytest.mark.parametrize("block", [pytest.param(block, id=name) for name, block in recipes()])
def test_recipe(block: str, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> None:
    for module in re.findall(r"^(?:import|from) ([\w., ]+)", block, re.MULTILINE):
        for name in module.split(" import")[0].split(", "):
            if not name.startswith("metatok") and importlib.util.find_spec(name.split(".")[0]) is None:
                pytest.skip(f"{name} is not installed")
    if "metatok.transformers" in block and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    if "lm_eval.models.huggingface" in block and importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed")
    if "mmengine" in block and importlib.util.find_spec("opencompass") is None:
        pytest.skip("opencompass is not installed")
    starts_engine = any(f" {engine}" in block for engine in ENGINES)
    if starts_engine and os.environ.get("METATOK_RECIPES") != "all":
        pytest.skip("it starts an engine; METATOK_RECIPES=all runs it")
    weights = request.getfixturevalue("weights") if starts_engine else str(DEMO)
    (tmp_path / "chats").mkdir()
    rows = [{"id": str(i), "messages": [{"role": "user", "content": said}]} for i, said in enumerate(QUESTIONS)]
    (tmp_path / "chats/0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "eval_mine.py").write_text(CONFIG, encoding="utf-8")
    for path, fixture in CONVERTED.items():
        if path in block:
            block = block.replace(path, request.getfixturevalue(fixture))
    for shown, here in ON_CPU.items():
        block = block.replace(shown, here)
    block = block.replace("./Qwen3-8B", weights).replace('"qwen3"', '"demo"')
    (tmp_path / "recipe.py").write_text(block, encoding="utf-8")
    package = str(pathlib.Path(metatok.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "HF_HUB_OFFLINE": "1", "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run([sys.executable, "recipe.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, f"{block}\n{ran.stdout[-2000:]}\n{ran.stderr[-4000:]}"
    if any(limit in block for limit in LIMITS):
        assert "Paris." in ran.stdout and "Rome." in ran.stdout
    assert ran.stdout or list(tmp_path.glob("*ids/*.parquet")), "it shows nothing"
