#!/usr/bin/env python3
"""How long transformers' apply_chat_template takes for conversations, and which ids it gives.

    python3 -m venv peers
    peers/bin/pip install transformers jinja2
    peers/bin/python tests/peers/apply_chat_template.py FOLDER < conversations.jsonl

FOLDER has a tokenizer.json and a tokenizer_config.json with a chat template. The first line out is
{"transformers": its version, "seconds": processor time of one thread, the median of three rounds}; then the ids of each
conversation, a list on a line."""

import json
import os
import statistics
import sys
import time

# One core. Set before the library starts its threads.
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import transformers

tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
conversations = [json.loads(line) for line in sys.stdin]


def build():
    options = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
    return [tokenizer.apply_chat_template(messages, **options) for messages in conversations]


ids = build()
rounds = []
for _ in range(3):
    start = time.process_time()
    build()
    rounds.append(time.process_time() - start)
print(json.dumps({"transformers": transformers.__version__, "seconds": statistics.median(rounds)}))
for one in ids:
    print(json.dumps(one))
