"""Tokenizers that transformers loaded by the name of a repository: what the Hub's cache has beside them."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any

import pytest

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
constants = pytest.importorskip("huggingface_hub.constants", reason="huggingface_hub is not installed")

import metatok
from answers import DEMO

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def snapshot(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The demo's tokenizer as a repository in a cache of its own."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repository = tmp_path / "models--Acme--Chat-1B"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        shutil.copy(DEMO / name, snapshot / name)
    return snapshot


def tokenizer(snapshot: pathlib.Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained("Acme/Chat-1B", cache_dir=str(snapshot.parents[2]))


def test_stops_are_those_of_the_generation_config(snapshot: pathlib.Path) -> None:
    (snapshot / "generation_config.json").write_text(json.dumps({"eos_token_id": [1050, 1053]}), encoding="utf-8")
    builder = metatok.PromptBuilder.from_tokenizer(tokenizer(snapshot))
    assert {1050, 1053} <= set(builder.stop.token_ids)


def test_a_generation_config_that_may_exist_is_named(snapshot: pathlib.Path) -> None:
    with pytest.warns(metatok.MetatokWarning, match="generation_config.json is not in the Hub's cache"):
        metatok.PromptBuilder.from_tokenizer(tokenizer(snapshot))


def test_one_that_is_known_not_to_exist_is_not(snapshot: pathlib.Path, recwarn: pytest.WarningsRecorder) -> None:
    missing = snapshot.parents[1] / ".no_exist" / COMMIT
    missing.mkdir(parents=True)
    (missing / "generation_config.json").touch()
    metatok.PromptBuilder.from_tokenizer(tokenizer(snapshot))
    assert not [one for one in recwarn if issubclass(one.category, metatok.MetatokWarning)]
