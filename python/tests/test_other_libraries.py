"""Loaded tokenizers of transformers and tokenizers, and datasets."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import metatok
from metatok import PromptBuilder

CHATS = [
    [{"role": "user", "content": "Which planet is red? \U0001f600"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi!\n\n"}],
    [{"role": "user", "content": "1+1=?"}, {"role": "assistant", "content": "2"}, {"role": "user", "content": "+1?"}],
]


def loaded(folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    try:
        return transformers.AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # It depends on what else is installed.
        pytest.skip(f"transformers cannot load it: {error}")


@pytest.mark.parametrize("name", ["qwen3", "llama3_1", "llama2", "gemma2"])
def test_the_chat_template_of_a_loaded_tokenizer(name: str, shared: Path) -> None:
    tokenizer = loaded(shared / "tokenizers" / name)
    if not tokenizer.chat_template:
        pytest.skip("it has no chat template")
    builder = PromptBuilder.from_tokenizer(tokenizer)
    options = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
    for chat in CHATS[:1] + CHATS[2:] if name == "gemma2" else CHATS:
        assert builder.build(chat).tolist() == tokenizer.apply_chat_template(chat, **options)
    assert tokenizer.eos_token_id in builder.stop.token_ids
    again = pickle.loads(pickle.dumps(builder))
    assert again.build(CHATS[0]).tolist() == builder.build(CHATS[0]).tolist()


def test_the_same_by_folder_by_object_and_by_file(shared: Path) -> None:
    folder = shared / "tokenizers/qwen3"
    by_folder = PromptBuilder("qwen3", tokenizer=folder)
    tokenizers = pytest.importorskip("tokenizers")
    by_object = PromptBuilder("qwen3", tokenizer=tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")))
    for chat in CHATS:
        assert by_object.build(chat).tolist() == by_folder.build(chat).tolist()
    with pytest.raises(metatok.ModelError, match="no chat template"):
        PromptBuilder.from_tokenizer(tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")))
    by_template = PromptBuilder.from_tokenizer(metatok.Tokenizer(folder))
    assert by_template.build(CHATS[0]).tolist() == PromptBuilder(tokenizer=folder).build(CHATS[0]).tolist()
    with pytest.raises(metatok.UsageError, match="not a tokenizer that metatok knows"):
        PromptBuilder("qwen3", tokenizer=object())


def test_a_changed_template_and_changed_tokens(shared: Path) -> None:
    tokenizer = loaded(shared / "tokenizers/qwen3")
    tokenizer.chat_template = "{% for m in messages %}<x>{{ m.content }}{{ eos_token }}{% endfor %}"
    tokenizer.add_tokens(["<x>"], special_tokens=True)
    built = PromptBuilder.from_tokenizer(tokenizer).build(CHATS[0])
    assert built.tolist() == tokenizer.apply_chat_template(CHATS[0], return_dict=False)
    assert built.tolist()[0] == tokenizer.convert_tokens_to_ids("<x>")


def test_map_of_datasets(builder: PromptBuilder) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"messages": CHATS})
    built = rows.map(builder.map(), batched=True)
    assert built["input_ids"][:] == [prompt.tolist() for prompt in builder.build_all(CHATS)]


def test_batches_of_torch(builder: PromptBuilder) -> None:
    torch = pytest.importorskip("torch")
    batch = builder.build_batch(CHATS, return_tensors="pt")
    assert batch.input_ids.dtype == torch.int64
    assert batch.input_ids.tolist() == builder.build_batch(CHATS).input_ids.tolist()
    assert batch.to("cpu").lengths == batch.lengths
