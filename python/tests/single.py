"""Chats in files, and the table that the command makes of them on one machine."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

QUESTIONS = ["Which planet is red?", "What is <|im_end|>?", "写一首诗。", "1+1=?\n\n", "Is a whale a fish?" * 5]


def chats(folder: pathlib.Path, rows: int, files: int) -> pathlib.Path:
    """A folder of JSON lines, numbered through."""
    folder = folder / "chats"
    folder.mkdir()
    shards = [(folder / f"{number:03}.jsonl").open("w", encoding="utf-8") for number in range(files)]
    for number in range(rows):
        question = {"role": "user", "content": f"{number}: {QUESTIONS[number % len(QUESTIONS)]}"}
        before = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}]
        messages = [*(before if number % 3 == 0 else []), question]
        line = json.dumps({"id": f"row-{number:09}", "messages": messages}, ensure_ascii=False)
        print(line, file=shards[number * files // rows])
    for shard in shards:
        shard.close()
    return folder


def single(folder: pathlib.Path, path: pathlib.Path) -> pa.Table:
    """What `metatok build --format parquet` writes of all files."""
    command = [sys.executable, "-m", "metatok", "build", "-m", "demo", "--quiet", "--fingerprint", "--format", "parquet"]
    files = sorted(map(str, folder.glob("*.jsonl")))
    subprocess.run([*command, "-o", str(path), *files], check=True)
    return pq.read_table(path)
