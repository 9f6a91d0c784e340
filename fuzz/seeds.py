#!/usr/bin/env python3
"""Writes the fuzz targets' first inputs into fuzz/corpus/TARGET: the cases of tests/, and small tokenizers.

    python3 fuzz/seeds.py

Needs Python 3.11 and nothing else. A part of an input ends with the byte 0xff, see fuzz/src/lib.rs."""

import hashlib
import itertools
import json
import pathlib
import shutil
import tomllib

FUZZ = pathlib.Path(__file__).resolve().parent
ROOT = FUZZ.parent
TESTS = ROOT / "tests"


def write(target, *parts, head=b""):
    """An input whose name is its hash, as libFuzzer names them."""
    data = head + b"\xff".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    folder = FUZZ / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def cases(folder):
    return [tomllib.loads(path.read_text()) for path in sorted((TESTS / "cases" / folder).glob("*.toml"))]


def models():
    for case in cases("prompts"):
        conversation = json.dumps(case.get("conversation", "a"), ensure_ascii=False)
        for flags in (0, 1, 8):
            write("models", case.get("model", ""), conversation, head=bytes([flags]))
    chat = json.dumps([{"role": role, "content": "Hi <|im_end|>"} for role in ("system", "user", "assistant", "user")])
    for path in sorted((ROOT / "models").rglob("*.toml")):
        write("models", path.read_bytes(), chat, head=b"\0")
    for case in cases("conversations"):
        write("models", case.get("model", ""), json.dumps(case.get("messages", "a")), head=b"\0")


def datasets():
    for case in cases("rows"):
        answers = "\n".join(case.get("answers", []))
        write("datasets", case["dataset"], case["rows"], case.get("train", ""), answers)
    paths = sorted((ROOT / "datasets").glob("*.toml"))
    for number, path in enumerate(paths):
        rows = path.with_suffix(".jsonl").read_bytes()
        write("datasets", path.read_bytes(), rows, rows)
        write("rows", rows, head=bytes([number]))
        for line in rows.splitlines():
            write("rows", line, head=bytes([number]))


def conversations():
    formats = 10
    endings = {".jsonl": 0, ".json": 0, ".csv": 1, ".tsv": 2, ".gz": 3, ".zst": 4}
    for path in sorted((TESTS / "files").iterdir()):
        kind = endings.get(path.suffix)
        if kind is not None and path.stat().st_size < 20_000:
            for format in range(formats):
                write("conversations", path.read_bytes(), head=bytes([format, kind]))
    for case in cases("cli"):
        for name, text in case.get("files", {}).items():
            kind = endings.get(pathlib.Path(name).suffix)
            if kind is not None:
                for of_rows in (0, 5):
                    write("conversations", text if isinstance(text, str) else bytes(text), head=bytes([0, kind + of_rows]))


def answers():
    for flags in range(32):
        for strings in ("", "\n\n", "Paris\nParis.\n.", "<|im_end|>\na\nab\nabc\nbc", "é\n\ufffd\n"):
            ids = b"".join(bytes([id >> 8, id & 255]) for id in (773, 13, 44, 695, 1052, 1053, 1060, 195, 169, 40))
            write("answers", strings, ids, head=bytes([flags]))


def journal():
    for answered, kind in itertools.product(range(7), range(7)):
        for at in (0, 90, 128, 200, 255):
            write("journal", bytes([answered, kind, at, 40]))


def parquet():
    write("parquet", (TESTS / "data" / "rows.parquet").read_bytes())


WORDS = ["a", "b", "c", "d", "e", "h", "i", "s", " ", "\u2581", "\u0120", "<", ">", "ab", "abc", "\u2581a", "\u0120a", "<s", "<s>", "##b", "\u00e9"]
MERGES = [["a", "b"], ["ab", "c"], ["\u2581", "a"], ["\u0120", "a"], ["<", "s"], ["<s", ">"]]
NORMALIZERS = [
    None, {"type": "NFC"}, {"type": "NFD"}, {"type": "NFKC"}, {"type": "NFKD"}, {"type": "Nmt"}, {"type": "Lowercase"},
    {"type": "StripAccents"}, {"type": "ByteLevel"}, {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": ""},
    {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
]
PRE_TOKENIZERS = [
    None, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}, {"type": "BertPreTokenizer"},
    {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "UnicodeScripts"}, {"type": "Digits", "individual_digits": True},
    {"type": "Punctuation", "behavior": "Isolated"}, {"type": "CharDelimiterSplit", "delimiter": " "},
    {"type": "FixedLength", "length": 3},
    {"type": "Split", "pattern": {"Regex": "[a-z]+(?=[^a-z]|$)|\\s+|."}, "behavior": "Isolated", "invert": False},
    {"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext", "invert": True},
]
DECODERS = [
    None, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}, {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}, {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
]
POST_PROCESSORS = [
    None, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
    {"type": "BertProcessing", "sep": ["</s>", 22], "cls": ["<s>", 18]},
    {"type": "RobertaProcessing", "sep": ["</s>", 22], "cls": ["<s>", 18], "trim_offsets": True, "add_prefix_space": True},
    {"type": "TemplateProcessing",
     "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
     "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
     "special_tokens": {"<s>": {"id": "<s>", "ids": [18], "tokens": ["<s>"]}}},
]


def tokenizer_models():
    vocab = {word: id for id, word in enumerate(WORDS)}
    bytes_too = vocab | {f"<0x{byte:02X}>": 30 + byte for byte in range(256)}
    bpe = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
           "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": MERGES}
    yield bpe
    yield bpe | {"byte_fallback": True, "vocab": bytes_too, "unk_token": "a", "fuse_unk": True}
    yield bpe | {"continuing_subword_prefix": "##", "merges": [["a", "##b"]], "ignore_merges": True}
    yield bpe | {"end_of_word_suffix": "</w>"}
    yield {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}
    yield {"type": "WordLevel", "unk_token": "a", "vocab": vocab}
    yield {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [[word, -float(id)] for id, word in enumerate(WORDS)]}


def tokenizers():
    flags = ["special", "normalized", "lstrip", "rstrip", "single_word"]
    added = [{"id": 18, "content": "<s>"} | {flag: flag == "special" for flag in flags},
             {"id": 22, "content": "</s>"} | {flag: flag == "special" for flag in flags}]
    added += [{"id": 23 + i, "content": f"<{flag}>"} | {other: other == flag for other in flags} for i, flag in enumerate(flags)]
    text = "<s>abc  <lstrip> \u00e9h<normalized>is</s> \u2581\U0001f642 d<single_word>e <rstrip> "
    config = json.dumps({"bos_token": "<s>", "eos_token": "</s>", "added_tokens_decoder": {"40": added[2]}})
    shapes = list(itertools.zip_longest(NORMALIZERS, PRE_TOKENIZERS, DECODERS, POST_PROCESSORS))
    for model, (normalizer, pre_tokenizer, decoder, post_processor) in itertools.product(tokenizer_models(), shapes):
        tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": normalizer,
                     "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder, "model": model}
        write("tokenizers", json.dumps(tokenizer, ensure_ascii=False), config, text)


def main():
    shutil.rmtree(FUZZ / "corpus", ignore_errors=True)
    for seed in (models, datasets, conversations, answers, journal, parquet, tokenizers):
        seed()
    for folder in sorted((FUZZ / "corpus").iterdir()):
        print(f"{folder.name}: {len(list(folder.iterdir()))}")


if __name__ == "__main__":
    main()
