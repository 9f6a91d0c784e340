"""Makes small vocabularies in several formats and records the ids that their own libraries give:
   python record.py (pip install sentencepiece tiktoken mistral_common)."""
import base64, json, pathlib, unicodedata
import mistral_common, sentencepiece, tiktoken
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
CORPUS = ROOT / "models/demo/corpus.txt"
TEXTS = json.loads((HERE / "texts.json").read_text())

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GLM = QWEN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
LETTERS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = "|".join([
    r"[\p{Han}]+", rf"[^\r\n\p{{L}}\p{{N}}]?{LETTERS[0]}*{LETTERS[1]}+{SHORT}",
    rf"[^\r\n\p{{L}}\p{{N}}]?{LETTERS[0]}+{LETTERS[1]}*{SHORT}",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?"
          r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def folder(name):
    path = HERE / name
    path.mkdir(exist_ok=True)
    return path


def record(path, library, encode):
    ids = "".join(f"    {encode(text)},\n" for text in TEXTS).rstrip(",\n")
    version = f"{library.__name__} {getattr(library, '__version__', '')}".strip()
    (path / "ids.json").write_text(f'{{\n  "library": {json.dumps(version)},\n  "ids": [\n{ids}\n  ]\n}}\n')


def sentence_piece(name, **options):
    path = folder(name)
    sentencepiece.SentencePieceTrainer.train(
        input=CORPUS, model_prefix=path / "tokenizer", hard_vocab_limit=False, minloglevel=2, **options)
    (path / "tokenizer.vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(path / "tokenizer.model"))
    record(path, sentencepiece, model.encode)


def tiktoken_vocabulary(name, file, tokenizer_class, pattern, nfc, ranks, **config):
    path = folder(name)
    lines = [base64.b64encode(token).decode() + f" {rank}\n" for token, rank in ranks.items()]
    (path / file).write_text("".join(lines))
    config = {"tokenizer_class": tokenizer_class, **config}
    (path / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    model = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    form = (lambda text: unicodedata.normalize("NFC", text)) if nfc else str
    record(path, tiktoken, lambda text: model.encode(form(text), disallowed_special=()))


def tekken(name, ranks):
    path = folder(name)
    count = 24
    config = {"pattern": TEKKEN, "num_vocab_tokens": len(ranks), "default_vocab_size": len(ranks) - 8 + count,
              "default_num_special_tokens": count, "version": "v3"}
    encoded = [(rank, base64.b64encode(token).decode()) for token, rank in ranks.items()]
    vocab = [{"rank": rank, "token_bytes": token, "token_str": None} for rank, token in encoded]
    lines = ",\n".join("    " + json.dumps(entry) for entry in vocab)
    (path / "tekken.json").write_text(f'{{\n  "config": {json.dumps(config)},\n  "vocab": [\n{lines}\n  ]\n}}\n')
    model = Tekkenizer.from_file(path / "tekken.json")
    record(path, mistral_common, lambda text: model.encode(text, bos=False, eos=False))


def demo_ranks():
    """The demo's entries as bytes, those of one byte first."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(others)}
    vocab = json.loads((ROOT / "models/demo/tokenizer.json").read_text())["model"]["vocab"]
    tokens = [bytes(byte_of[char] for char in token) for token in sorted(vocab, key=vocab.get)]
    single = [bytes([byte]) for byte in range(256)]
    return {token: rank for rank, token in enumerate(single + [token for token in tokens if len(token) > 1])}


def added(token):
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    return {"content": token, **flags}


def main():
    ranks = demo_ranks()
    first = len(ranks)
    tekken("tekken", ranks)
    tiktoken_vocabulary("tiktoken-qwen", "qwen.tiktoken", "QWenTokenizer", QWEN, True, ranks)
    tiktoken_vocabulary("tiktoken-hunyuan", "hy.tiktoken", "HYTokenizer", QWEN, True, ranks)
    tiktoken_vocabulary("tiktoken-glm-4", "tokenizer.model", "ChatGLM4Tokenizer", GLM, False, ranks, added_tokens_decoder={
        str(first): added("<|endoftext|>"), str(first + 1): added("[gMASK]"), str(first + 2): added("<sop>")})
    tiktoken_vocabulary("tiktoken-kimi", "tiktoken.model", "TikTokenTokenizer", KIMI, False, ranks, added_tokens_decoder={
        str(first): added("[BOS]"), str(first + 1): added("[EOS]"), str(first + 2): added("<|im_end|>")},
        bos_token="[BOS]", eos_token="[EOS]")
    rules = folder("sentencepiece-unigram") / "rules.tsv"
    rules.write_text("FB01\t66 69\n2460\t31\nA\t20\n9\t20\n3000\t20\n65 301\tE9\n")
    sentence_piece("sentencepiece-unigram", vocab_size=300, model_type="unigram", normalization_rule_tsv=rules, byte_fallback=False)
    rules.unlink()
    sentence_piece("sentencepiece-bpe", vocab_size=700, model_type="bpe", normalization_rule_name="identity", byte_fallback=True,
                   remove_extra_whitespaces=False, control_symbols=["[INST]", "[/INST]"], user_defined_symbols=["[REF]"], pad_id=3)
    sentence_piece("sentencepiece-no-prefix", vocab_size=600, model_type="bpe", normalization_rule_name="identity", byte_fallback=False,
                   add_dummy_prefix=False)


if __name__ == "__main__":
    main()
