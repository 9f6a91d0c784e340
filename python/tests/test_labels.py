"""The ids of a text that are scored, as `metatok build --labels` writes them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import metatok
from metatok import PromptBuilder

ASKED, ANSWERED = {"role": "user", "content": "Which planet is red?"}, {"role": "assistant", "content": "Mars"}
RECORDS: dict[str, dict[str, Any]] = {
    "texts": {"prompt": "The red planet is", "completion": " Mars."},
    "messages": {"prompt": [ASKED], "completion": [ANSWERED]},
}


@pytest.mark.parametrize("name", ["texts", "messages"])
@pytest.mark.parametrize("details", [{}, {"spans": True}, {"text": True, "offsets": True}])
def test_labels_are_those_of_the_command(name: str, details: dict[str, Any], tmp_path: Path) -> None:
    record = RECORDS[name]
    (tmp_path / "in.jsonl").write_text(json.dumps(record))
    command = [sys.executable, "-m", "metatok", "build", "-q", "-m", "demo", "--mode", "ppl", "--labels"]
    shown = subprocess.run([*command, tmp_path / "in.jsonl"], check=True, capture_output=True)
    there = json.loads(shown.stdout)
    builder = PromptBuilder("demo", mode="ppl", **details)
    many = builder.build_all([record] * 40)
    for prompt in (builder.build(record), many[-1], builder.build(record, max_seq_len=100), pickle.loads(pickle.dumps(many[0]))):
        assert prompt.tolist() == there["input_ids"]
        assert prompt.labels is not None and prompt.labels.dtype == "int64"
        assert prompt.labels.tolist() == there["labels"]
        assert "labels" not in prompt.details
        assert (prompt.spans is not None, prompt.offsets is not None) == ("spans" in details, "offsets" in details)
    assert builder.tokenizer.decode(there["labels"][-2:] if name == "texts" else there["labels"][-4:-2]) in (" Mars.", "Mars")


def test_other_prompts_have_no_labels(builder: PromptBuilder) -> None:
    assert PromptBuilder("demo", mode="ppl").build([ASKED, ANSWERED]).labels is None
    with pytest.warns(metatok.MetatokWarning, match="1 completion left out"):
        assert builder.build(RECORDS["texts"]).labels is None


def test_a_text_to_score_is_not_cut() -> None:
    builder = PromptBuilder("demo", mode="ppl")
    long = {"prompt": "word " * 100, "completion": "end"}
    with pytest.raises(metatok.UsageError, match='never truncated.*`truncation = "refuse"`'):
        builder.build(long, max_seq_len=50, truncation="left")
    with pytest.raises(metatok.InputError):
        builder.build(long, max_seq_len=50)


def test_batches_of_texts_have_labels() -> None:
    builder = metatok.PromptBuilder("demo", mode="ppl")
    rows = [{"prompt": "1+1=", "completion": "2"}, {"prompt": "Which planet is red? ", "completion": "Mars"}]
    batch = builder.build_batch(rows, padding_side="right")
    for prompt, labels in zip(builder.build_all(rows), batch["labels"]):
        assert prompt.labels is not None
        assert labels.tolist() == [*prompt.labels.tolist(), *[-100] * (len(labels) - len(prompt))]
    whole = builder.build_batch(["All of it is scored."])
    assert whole["labels"].tolist() == whole.input_ids.tolist()
    assert "labels" not in metatok.PromptBuilder("demo").build_batch([[{"role": "user", "content": "Hi!"}]])
