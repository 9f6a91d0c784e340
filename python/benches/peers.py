#!/usr/bin/env python3
"""How long 10,000 conversations of real text take: metatok from Python, its library alone, and what people use instead.

    python -m venv peers
    peers/bin/pip install ./python transformers jinja2 gigatoken fastokens
    peers/bin/python python/benches/peers.py FOLDER TEXT

FOLDER has a tokenizer with a chat template, and TEXT is a text whose paragraphs are parted by blank lines. A conversation is
three messages of successive paragraphs, none of which comes twice while the text lasts. Times are processor time of all
threads; each row is measured several times in turns, and its best time is shown. Rows of metatok and gigatoken begin with
empty caches, unless they say that they are warm: then everything was built once before. Whoever is not installed is left out.
All ids are compared with those of apply_chat_template. Padded batches of so many prompts are mostly padding, which takes its time.

With --grow N, one batch of questions after the other is built until there were N prompts, and the memory is shown.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

# One core for the libraries that have threads. Set before they start.
os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import metatok

Chat = list[dict[str, str]]


def conversations(path: str, count: int) -> list[Chat]:
    """Questions and answers of a text's paragraphs."""
    paragraphs = [part.strip() for part in Path(path).read_text(encoding="utf-8").split("\n\n")]
    paragraphs = [part for part in paragraphs if part and "<|" not in part]
    endless = itertools.chain.from_iterable(itertools.repeat(paragraphs))
    roles = ("user", "assistant", "user")
    return [[{"role": role, "content": next(endless)} for role in roles] for _ in range(count)]


def best(rows: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least processor time of each, in turns."""
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, row in rows.items():
            row = row()
            began = time.process_time()
            row()
            spent = time.process_time() - began
            seconds[name] = min(spent, seconds.get(name, spent))
    return seconds


def ours(folder: str, chats: list[Chat], model: str | None) -> dict[str, Callable[[], Any]]:
    """What is measured of metatok, each time with empty caches."""
    tokenizer = metatok.Tokenizer(folder)

    def fresh() -> metatok.PromptBuilder:
        return metatok.PromptBuilder(model, tokenizer=folder if model is None else tokenizer)

    def row(build: Callable[[metatok.PromptBuilder], Any], warm: bool = False) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            builder = fresh()
            if warm:
                build(builder)
            return lambda: build(builder)

        return prepare

    return {
        "metatok build_all, 1 thread": row(lambda builder: builder.build_all(chats, threads=1)),
        "metatok build_all, 1 thread, warm": row(lambda builder: builder.build_all(chats, threads=1), warm=True),
        "metatok build_all, all threads, warm": row(lambda builder: builder.build_all(chats), warm=True),
        "metatok build_batch (padded), 1 thread": row(lambda builder: builder.build_batch(chats, threads=1)),
        "metatok build_batch (padded), 1 thread, warm": row(
            lambda builder: builder.build_batch(chats, threads=1), warm=True
        ),
    }


def same(row: Callable[[], Any]) -> Callable[[], Any]:
    """A row that needs nothing before."""
    return row


def theirs(folder: str, chats: list[Chat]) -> tuple[dict[str, Callable[[], Any]], list[list[int]]]:
    """What people use instead, and the ids that they get."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    tokenizer.padding_side = "left"

    def rendered(chat: Chat) -> str:
        text: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        return text

    def batch() -> Any:
        return tokenizer.apply_chat_template(chats, add_generation_prompt=True, return_dict=False)

    def padded() -> Any:
        options: dict[str, Any] = {"add_generation_prompt": True, "padding": True, "return_tensors": "np", "return_dict": True}
        return tokenizer.apply_chat_template(chats, **options)

    def one_by_one() -> Any:
        return [tokenizer.encode(rendered(chat), add_special_tokens=False) for chat in chats]

    def rendered_batch() -> Any:
        return tokenizer([rendered(chat) for chat in chats], padding="longest", add_special_tokens=False)

    texts = [rendered(chat) for chat in chats]
    rows: dict[str, Callable[[], Any]] = {
        "transformers apply_chat_template(batch)": batch,
        "transformers apply_chat_template(batch, padding=True)": padded,
        "as vLLM: template, then encode, one by one": one_by_one,
        "as lm-eval: template, then a padded batch": rendered_batch,
        "tokenizers encode_batch, of texts alone": lambda: tokenizer.backend_tokenizer.encode_batch(
            texts, add_special_tokens=False
        ),
    }
    try:
        import gigatoken

        giga = gigatoken.Tokenizer
    except ImportError:
        giga = None
    expected = one_by_one()
    prepared: dict[str, Callable[[], Any]] = {name: partial(same, row) for name, row in rows.items()}
    if giga is not None:

        def fresh() -> Callable[[], Any]:
            encoder = giga(Path(folder) / "tokenizer.json")
            return lambda: encoder.encode_batch(texts, parallel=False).to_list()

        prepared["gigatoken encode_batch, of texts alone, as lists"] = fresh
    return prepared, expected


def patched(folder: str, chats: list[Chat], rounds: int) -> dict[str, float]:
    """The first of these after fastokens' patch, if it is installed."""
    try:
        import fastokens
    except ImportError:
        return {}
    fastokens.patch_transformers()
    try:
        rows, _ = theirs(folder, chats)
        name = "transformers apply_chat_template(batch)"
        return {f"{name}, patched by fastokens": best({name: rows[name]}, rounds)[name]}
    except Exception as error:  # Another library's own.
        print(f"fastokens: {error}", file=sys.stderr)
        return {}
    finally:
        fastokens.unpatch_transformers()


def library(folder: str, chats: list[Chat], model: str | None, rounds: int) -> dict[str, float]:
    """Prompts per second of the Rust library, by the `metatok bench` that comes along: the best of some runs."""
    rates: dict[str, float] = {}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"messages": chat}) + "\n" for chat in chats)
        file.flush()
        named = [] if model is None else ["--model", model]
        command = [sys.executable, "-m", "metatok", "bench", "--json", "--seconds", "2", *named]
        for _ in range(rounds):
            shown = subprocess.run([*command, "--tokenizer", folder, file.name], check=True, capture_output=True)
            for speed in json.loads(shown.stdout)["speeds"]:
                name = f"{speed['work']}, {speed['cores']} core{'s' * (speed['cores'] > 1)}"
                rates[name] = max(rates.get(name, 0.0), speed.get("prompts_per_second", speed.get("prompts", 0.0)))
    return rates


def memory() -> float:
    """The most memory that this process had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def now() -> float:
    """The memory that it has, in MiB, where the system says so."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * 4096 / 2**20 if pages.exists() else memory()


def grow(builder: metatok.PromptBuilder, chats: list[Chat], prompts: int) -> Iterator[tuple[int, float]]:
    """The memory after each tenth of so many prompts, all of them different."""
    step, done = max(prompts // 10, len(chats)), 0
    while done < prompts:
        until = done + step
        while done < until:
            questions = (f"{number}. {chat[0]['content']}" for number, chat in enumerate(chats, done))
            batch: list[Chat] = [[{"role": "user", "content": question}] for question in questions]
            done += len(builder.build_all(batch))
        yield done, now()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("text")
    parser.add_argument("--model", help="a built-in model; by default the tokenizer's chat template")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--grow", type=int, default=0)
    args = parser.parse_args()
    chats = conversations(args.text, args.count)
    if args.grow:
        builder = metatok.PromptBuilder(args.model, tokenizer=args.folder)
        for done, mib in grow(builder, chats, args.grow):
            print(f"{done:>12,} prompts  {mib:8.1f} MiB", flush=True)
        return
    rows, expected = theirs(args.folder, chats)
    own = ours(args.folder, chats, args.model)
    built = own["metatok build_all, 1 thread"]()()
    equal = sum(prompt.tolist() == ids for prompt, ids in zip(built, expected))
    names = {name: version(name) for name in ("metatok", "transformers", "tokenizers")}
    print(f"{names}\n{len(chats)} conversations, {sum(map(len, expected))} tokens, {equal} with the same ids")
    seconds = best({**own, **rows}, args.rounds) | patched(args.folder, chats, args.rounds)
    first = seconds["transformers apply_chat_template(batch)"]
    for name, spent in seconds.items():
        print(f"{len(chats) / spent:>10.0f} prompts/s of processor time  {first / spent:6.1f} x  {name}")
    for name, rate in library(args.folder, chats, args.model, args.rounds).items():
        print(f"{rate:>10.0f} prompts/s by the clock           {'':8}  {name}")


if __name__ == "__main__":
    main()
