#!/usr/bin/env python3
"""How long gigatoken takes for texts, and which ids it gives.

    python3 -m venv peers
    peers/bin/pip install gigatoken
    peers/bin/python tests/peers/gigatoken_encode.py FOLDER ROUNDS < texts.jsonl
    peers/bin/python tests/peers/gigatoken_encode.py FOLDER FILE.jsonl

FOLDER has a tokenizer.json. With ROUNDS, every line is a string; they are encoded in so many parts on one core. The first line
out is {"gigatoken": its version, "seconds": processor time of a part, the median without the first, which warms}; then the ids
of each text, a list on a line. With a file whose lines have a "text", all cores read and encode it, and "seconds" is by the
clock, the median of three times; its ids stay in memory."""

import json
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

import gigatoken

tokenizer = gigatoken.Tokenizer(Path(sys.argv[1]) / "tokenizer.json")


def parts(rounds):
    """The ids of all texts, and the seconds of each part."""
    texts = [json.loads(line) for line in sys.stdin]
    size = -(-len(texts) // rounds)
    ids, seconds = [], []
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        began = time.process_time()
        encoded = tokenizer.encode_batch(part, parallel=False)
        seconds.append(time.process_time() - began)
        ids += encoded.to_list()
    return ids, seconds[1:] or seconds


def whole(path):
    """No ids, and the seconds of each time."""
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        tokenizer.encode_files(gigatoken.JsonlFileSource([path], field="text"))
        seconds.append(time.perf_counter() - began)
    return [], seconds


ids, seconds = parts(int(sys.argv[2])) if sys.argv[2].isdigit() else whole(sys.argv[2])
print(json.dumps({"gigatoken": version("gigatoken"), "seconds": statistics.median(seconds)}))
for one in ids:
    print(json.dumps(one))
