"""metatok gives mistral_common's ids for the tokenizer files that it ships."""

import json
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import metatok

pytest.importorskip("mistral_common", reason="needs mistral_common")
pytest.importorskip("sentencepiece", reason="needs sentencepiece")

import mistral_common  # noqa: E402
from mistral_common.protocol.instruct.request import ChatCompletionRequest  # noqa: E402
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer  # noqa: E402
from mistral_common.tokens.tokenizers.tekken import Tekkenizer  # noqa: E402

DATA = pathlib.Path(mistral_common.__file__).parent / "data"
ROOT = pathlib.Path(__file__).parents[2]
TEXTS = json.loads((ROOT / "tests/vocabularies/texts.json").read_text())

# Each file's model, and whether its template writes SentencePiece's leading space itself.
FILES = {
    "tokenizer.model.v1": ("mistral-instruct-v1", True),
    "mistral_instruct_tokenizer_240323.model.v3": ("mistral-instruct-v3", True),
    "mistral_instruct_tokenizer_241114.model.v7": ("mistral-instruct-v7", False),
    "tekken_240718.json": ("mistral-instruct-tekken", False),
    "tekken_240911.json": ("mistral-instruct-tekken", False),
}


@pytest.mark.parametrize("name", FILES)
def test_texts_have_the_same_ids(name: str) -> None:
    tokenizer = metatok.Tokenizer(str(DATA / name))
    reference: Any = MistralTokenizer.from_file(DATA / name).instruct_tokenizer.tokenizer
    for text in TEXTS:
        assert tokenizer.encode(text).tolist() == reference.encode(text, bos=False, eos=False), text


def chats() -> Iterator[list[dict[str, str]]]:
    roles = ["user", "assistant", "user"]
    for at in range(len(TEXTS)):
        # mistral_common strips some contents.
        contents = [text.strip() for text in (TEXTS[at:] + TEXTS)[:3]]
        messages = [{"role": role, "content": content} for role, content in zip(roles, contents)]
        yield messages[:1]
        yield messages
        yield [{"role": "system", "content": "Be brief."}, *messages]


def compare(model: str, file: pathlib.Path) -> None:
    builder = metatok.PromptBuilder(model, tokenizer=str(file))
    reference = MistralTokenizer.from_file(file)
    for chat in chats():
        expected = reference.encode_chat_completion(ChatCompletionRequest(messages=chat)).tokens
        assert builder.build(chat).input_ids.tolist() == expected, chat


@pytest.mark.parametrize("name", FILES)
def test_chats_have_the_same_ids(name: str, tmp_path: pathlib.Path) -> None:
    model, writes_space = FILES[name]
    # As Mistral's repositories have it.
    shutil.copy(DATA / name, tmp_path)
    if writes_space:
        config = {"tokenizer_class": "LlamaTokenizer", "legacy": False, "bos_token": "<s>", "eos_token": "</s>"}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    compare(model, tmp_path / name)


@pytest.mark.parametrize("version", ["v7", "v11", "v13"])
def test_later_versions_of_tekken_have_the_same_ids(version: str, tmp_path: pathlib.Path) -> None:
    tekken = json.loads((DATA / "tekken_240911.json").read_text())
    tekken["config"]["version"] = version
    # Later files list the special tokens that earlier ones leave to the library, and some more.
    names = [str(token["token_str"].value) for token in Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    names += ["[AUDIO]", "[BEGIN_AUDIO]", "[CALL_ID]", "[ARGS]", "[THINK]", "[/THINK]"]
    special = [{"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(names)]
    tekken["special_tokens"] = special
    file = tmp_path / "tekken.json"
    file.write_text(json.dumps(tekken))
    compare("mistral-instruct-v7", file)


@pytest.mark.parametrize("loaded", [MistralTokenizer, Tekkenizer])
def test_loaded_tekken_tokenizers_are_taken(loaded: Any) -> None:
    file = DATA / "tekken_240911.json"
    tokenizer = metatok.Tokenizer(loaded.from_file(file))
    assert tokenizer.encode(TEXTS[0]).tolist() == metatok.Tokenizer(str(file)).encode(TEXTS[0]).tolist()


def test_other_tokenizers_of_mistral_common_are_refused() -> None:
    with pytest.raises(metatok.UsageError, match="a tekken of mistral_common"):
        metatok.Tokenizer(MistralTokenizer.from_file(DATA / "tokenizer.model.v1"))
