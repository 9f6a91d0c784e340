"""What is pickled stays what it was."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt
import pytest

import metatok
from metatok import PromptBuilder


class Named(PromptBuilder):
    """A builder with something of its own."""

    def greet(self) -> list[int]:
        return self.build([{"role": "user", "content": "Hi!"}]).tolist()


class Slotted(PromptBuilder):
    __slots__ = ()


@pytest.mark.parametrize("of", [PromptBuilder, Named, Slotted])
def test_a_builder_keeps_its_class(of: Any) -> None:
    for builder in (of("demo"), of.from_tokenizer("demo")):
        again = pickle.loads(pickle.dumps(builder))
        assert type(builder) is type(again) is of
        assert again.fingerprint == builder.fingerprint


def test_the_order_of_options_does_not_matter() -> None:
    given: dict[str, Any] = {"spans": True, "text": True, "mode": "ppl"}
    one, other = (PromptBuilder("demo", **dict(items)) for items in (given.items(), reversed(given.items())))
    assert pickle.dumps(one) == pickle.dumps(other)


def test_a_builder_keeps_its_attributes() -> None:
    builder = Named.from_tokenizer("demo")
    builder.note = "mine"  # type: ignore[attr-defined]
    again: Any = pickle.loads(pickle.dumps(builder))
    assert again.note == "mine" and again.greet() == builder.greet()


def test_a_dialogue_knows_what_the_engine_has_seen(builder: PromptBuilder) -> None:
    dialogue = builder.dialogue(max_seq_len=60, max_out_len=10, truncation="oldest-turns")
    for question in ("Which planet is red?", "How many moons has it?", "And the Earth?"):
        dialogue.push("user", question)
        dialogue.next_prompt()
        again = pickle.loads(pickle.dumps(dialogue))
        seen = (dialogue.prefix_tokens, dialogue.prefix_break, dialogue.dropped)
        assert (again.prefix_tokens, again.prefix_break, again.dropped) == seen
        dialogue.answer_ids([44, 695, 1052])
    assert dialogue.prefix_tokens > 0 or dialogue.dropped


CFG: dict[str, Any] = {
    "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
    "infer_cfg": {
        "ice_template": {"template": "{q} {a}"},
        "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
        "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
    },
}
TRAIN = [{"q": "1+1=?", "a": "2"}]


@pytest.mark.parametrize("files", [False, True])
def test_a_task_builds_the_same(builder: PromptBuilder, files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset: Any = CFG
    train: Any = TRAIN
    if files:
        monkeypatch.chdir(tmp_path)
        dataset, train = Path("dataset.json"), "train.jsonl"
        dataset.write_text(json.dumps(CFG), encoding="utf-8")
        Path(train).write_text(json.dumps(TRAIN[0]) + "\n", encoding="utf-8")
    task = builder.task(dataset, train, keep="a", max_out_len=4)
    sent = pickle.dumps(task)
    monkeypatch.chdir(tmp_path.parent)
    again = pickle.loads(sent)
    rows = [{"q": "2+2=?", "a": "4"}, {"q": "3+3=?", "a": "6"}]
    assert again.fingerprint == task.fingerprint and repr(again) == repr(task)
    assert [(one.tolist(), one.details) for one in again.build(rows)] == [(one.tolist(), one.details) for one in task.build(rows)]
    if files:
        (tmp_path / "train.jsonl").write_text('{"q": "1+1=?", "a": "two"}\n', encoding="utf-8")
        with pytest.raises(metatok.UsageError, match=r"other prompts than when it was pickled.*train\.jsonl; pickle it again"):
            pickle.loads(sent)


def test_a_task_of_a_built_in_dataset_builds_the_same(builder: PromptBuilder) -> None:
    task = builder.task("lm_eval_gsm8k", num_fewshot=0)
    row = {"question": "1+1=?", "answer": "#### 2"}
    assert pickle.loads(pickle.dumps(task)).prompts(row) == task.prompts(row)


def test_what_is_printed_says_what_it_is(builder: PromptBuilder) -> None:
    dialogue, stream = builder.dialogue(), builder.stream()
    dialogue.push("user", "Hi!")
    stream.push(44)
    named = "PromptBuilder('demo', tokenizer='demo')"
    assert repr(builder.task(CFG, TRAIN)) == f"Task('dataset', mode='gen', builder={named})"
    assert repr(dialogue) == f"Dialogue(messages=1, builder={named})"
    assert repr(stream) == "Stream(tokens=1, finish_reason=None)"
    assert repr(builder.view("Hi!")) == f"View({len(builder.build('Hi!'))} tokens)"
    assert repr(builder.map("chat")) == f"{named}.map('chat')"


def test_stop_ids_are_numbers_of_any_kind() -> None:
    # What type checkers allow, too.
    given: list[Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]] = [[7, 8], (7, 8), np.array([7, 8]), [np.int64(7), np.uint32(8)]]
    for ids in given:
        assert PromptBuilder("demo", stop_token_ids=ids).stop.token_ids[-2:] == [7, 8]
