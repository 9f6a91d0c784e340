"""What is pickled stays what it was."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

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
