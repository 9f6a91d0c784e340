"""The files beside ``tokenizer.json``, of older repositories and newer ones, count as in transformers."""

import json
from pathlib import Path
from typing import Any

import pytest

from metatok import PromptBuilder, Tokenizer

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

VOCABULARY = Path(__file__).parents[2] / "models/demo/tokenizer.json"

#: One more than the last id of the demo's vocabulary.
NEXT = 1054
EOS, OTHER_EOS = "<|im_end|>", "<|endoftext|>"
#: Entries of the vocabulary that are no added tokens.
WORD, OTHER_WORD = "Which", "umber"
AS_OBJECT = {"__type": "AddedToken", "content": OTHER_WORD, "lstrip": True, "rstrip": False, "normalized": False, "single_word": False, "special": True}
NEWER: dict[str, Any] = {"added_tokens_decoder": {}}

# tokenizer_config.json, special_tokens_map.json, added_tokens.json
FILES: list[tuple[dict[str, Any], dict[str, Any], dict[str, int]]] = [
    ({}, {}, {"<new>": NEXT}),
    ({"additional_special_tokens": ["<new>"]}, {}, {"<new>": NEXT}),
    ({}, {"additional_special_tokens": ["<new>"]}, {"<new>": NEXT}),
    ({"eos_token": "<b>"}, {}, {"<a>": NEXT, "<b>": NEXT + 1}),
    (NEWER, {}, {"<new>": NEXT}),
    ({"eos_token": EOS}, {"eos_token": OTHER_EOS}, {}),
    ({"eos_token": EOS, **NEWER}, {"eos_token": OTHER_EOS}, {}),
    ({"extra_special_tokens": [WORD]}, {}, {}),
    ({"additional_special_tokens": [WORD, AS_OBJECT]}, {}, {}),
    ({"extra_special_tokens": {"image_token": WORD}}, {}, {}),
    ({"image_token": WORD}, {}, {}),
    ({}, {"additional_special_tokens": [WORD]}, {}),
    (NEWER, {"additional_special_tokens": [WORD]}, {}),
    ({"eos_token": OTHER_WORD}, {}, {}),
    ({"unk_token": OTHER_WORD}, {}, {}),
]

TEXTS = [
    *(f"x{word}y {word} {word}" for word in (WORD, OTHER_WORD)),
    "a<new>b <new> c",
    "<a> <b><a>b",
    f"{EOS}{OTHER_EOS}",
]


@pytest.mark.parametrize(("config", "tokens_map", "added"), FILES)
def test_ids_are_those_of_transformers(
    config: dict[str, Any], tokens_map: dict[str, Any], added: dict[str, int], tmp_path: Path
) -> None:
    template = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": "{{ messages[0].content }}{{ eos_token }}"}
    files = {"tokenizer_config.json": {**config, **template}, "special_tokens_map.json": tokens_map, "added_tokens.json": added}
    (tmp_path / "tokenizer.json").write_bytes(VOCABULARY.read_bytes())
    for name, content in files.items():
        if content:
            (tmp_path / name).write_text(json.dumps(content))
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    ours = Tokenizer(str(tmp_path))
    assert [ours.encode(text).tolist() for text in TEXTS] == [theirs.encode(text, add_special_tokens=False) for text in TEXTS]
    assert ours.eos_token_id == theirs.eos_token_id
    chat = [{"role": "user", "content": "Hi"}]
    assert PromptBuilder(tokenizer=str(tmp_path)).build(chat).tolist() == theirs.apply_chat_template(chat, return_dict=False)
