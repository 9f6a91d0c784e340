"""Answers, streams and dialogues."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import metatok
from metatok import PromptBuilder

HI = [{"role": "user", "content": "Hi!"}]

MARS = [44, 695]


def test_answers_end_at_their_stop(builder: PromptBuilder) -> None:
    done = builder.complete(np.array([*MARS, 1052, 1053]))
    assert (done.token_ids, done.text, done.finish_reason, done.tail) == (MARS, "Mars", "stop", [1052, 1053])
    assert done.stop and done.stop["token_id"] == 1052 and "meta_template" in done.stop["sources"]
    assert builder.complete(MARS).finish_reason == "length"
    assert builder.complete([*MARS, 1052], include_stop=True).text == "Mars<|im_end|>"
    with_string = PromptBuilder("demo", stop_strings=["rs"])
    assert with_string.complete([*MARS, 1052]).stop == {"string": "rs"}
    with pytest.raises(metatok.MetatokError, match="99999"):
        builder.complete([99999])


def test_answers_behind_their_prompts(builder: PromptBuilder) -> None:
    chats = [[{"role": "user", "content": text}] for text in ("Hi!", "Which planet is red?")]
    batch = builder.build_batch(chats)
    output = np.concatenate([batch.input_ids, np.array([[*MARS, 1052, 1053]] * 2)], axis=1)
    done = builder.complete_all(output, prompts=builder.build_all(chats))
    assert [answer.text for answer in done] == ["Mars", "Mars"]
    with pytest.raises(ValueError, match="2 answers, but 1 prompts"):
        builder.complete_all(output, prompts=builder.build_all(chats[:1]))


def test_streams_hold_back_what_may_be_a_stop() -> None:
    stream = PromptBuilder("demo", stop_strings=["arm"]).stream()
    assert [stream.push(id) for id in MARS] == ["M", "ars"]
    assert [stream.finish_reason, stream.finish(), stream.finish_reason] == [None, "", "length"]
    assert stream.token_ids == MARS


def test_negative_ids_at_the_end_are_padding(builder: PromptBuilder) -> None:
    done = builder.complete([44, 695, 1052])
    assert builder.complete(np.array([44, 695, 1052, -100, -100])) == done
    for wrong in (-100, 2**32):
        for ids in ([wrong, 44], [44, wrong, 1052]):
            with pytest.raises(metatok.InputError, match=f"{wrong} is not a token id"):
                builder.complete(ids)
        with pytest.raises(metatok.InputError, match=f"{wrong} is not a token id"):
            builder.stream().push(wrong)


def test_chat_templates_are_given_the_text_of_answers() -> None:
    dialogue = PromptBuilder(tokenizer="demo").dialogue()
    dialogue.push("user", "Which planet is red?")
    first = dialogue.next_prompt()
    dialogue.answer_ids([*MARS, 1052])
    assert dialogue.messages[-1] == {"role": "assistant", "content": "Mars"}
    dialogue.push("user", "How many moons has it?")
    assert "assistant\nMars<|im_end|>\n" in dialogue.next_prompt().text
    assert dialogue.prefix_tokens == len(first) + 3


def test_dialogues_go_on_after_pickling(builder: PromptBuilder) -> None:
    dialogue = builder.dialogue(max_seq_len=60, max_out_len=8, truncation="oldest-turns")
    dialogue.push({"role": "user", "content": "Which planet is red?"})
    first = dialogue.next_prompt()
    dialogue.answer_ids([*MARS, 1052])
    dialogue = pickle.loads(pickle.dumps(dialogue))
    dialogue.push("user", "How many moons has it?")
    second = dialogue.next_prompt()
    assert dialogue.prefix_tokens == len(first) + 3 and dialogue.prefix_break is None
    assert second.tolist()[: len(first) + 3] == [*first.tolist(), *MARS, 1052]
    dialogue.answer_text("Two.")
    dialogue.push("user", "What is the capital of France?")
    assert len(dialogue.next_prompt()) <= 52
    assert len(dialogue.dropped) == 2


def test_views_are_pages(builder: PromptBuilder) -> None:
    said = [{"role": "user", "content": "<b>Hi!</b>"}]
    prompt = builder.build(said)
    page = prompt._repr_html_()
    assert page and page.startswith("<iframe") and "<b>Hi" not in page
    assert builder.view(said).data["tokens"][0]["id"] == 1051
    # It is no longer what was built.
    said[0]["content"] = "Hello!"
    assert prompt._repr_html_() == (
        "<p>Prompt(20 tokens)</p><pre>&lt;|im_start|&gt;user\n&lt;b&gt;Hi!&lt;/b&gt;&lt;|im_end|&gt;\n&lt;|im_start|&gt;assistant\n</pre>"
    )
    cut = builder.build("And which planet has rings?", max_seq_len=3, truncation="left")
    assert cut._repr_html_() == "<p>Prompt(3 tokens)</p><pre>ings?</pre>"


def test_checks_and_differences(builder: PromptBuilder) -> None:
    template = {"round": [{"role": "HUMAN", "begin": "<|user|>"}, {"role": "BOT", "begin": "A:", "generate": True}]}
    other = PromptBuilder(tokenizer="demo", meta_template=template)
    findings = other.check([[{"role": "user", "content": "Hi!"}]])
    assert "unknown-control-token" in {finding.code for finding in findings}
    diff = builder.diff(other, [[{"role": "user", "content": "Hi!"}]])
    assert diff and (diff.equal, diff.different) == (0, 1) and sum(diff.causes.values()) == 1
    assert not builder.diff(PromptBuilder("demo"))


def test_check_and_diff_say_which_conversation_it_is(builder: PromptBuilder) -> None:
    chat = PromptBuilder(tokenizer="demo", chat_template="{{ messages[0].content }}{{ tools }}")
    said: list[object] = [HI, {"messages": HI, "tools": [{"type": "function", "function": {"name": "f"}}]}]
    # What one of them writes is read for both.
    assert [one.diff(other, said).causes["refused by one"] for one, other in ((chat, builder), (builder, chat))] == [1, 1]
    with pytest.raises(metatok.InputError) as caught:
        builder.diff(builder, said)
    assert caught.value.place["conversation"] == 1
    assert any("conversation 1" in str(finding) for finding in builder.check(said))


def test_a_dialogue_takes_what_is_behind_a_stop_and_its_prompts_are_shown_if_they_can_be(builder: PromptBuilder) -> None:
    dialogues = []
    for ids in ([*MARS, 1052], [*MARS, 1052, 200_000], [*MARS, 1052, -100]):
        dialogue = builder.dialogue()
        dialogue.push("user", "Which planet is red?")
        assert "Which" in str(dialogue.next_prompt()._repr_html_())
        dialogue.answer_ids(ids)
        dialogue.push("user", "Why?")
        dialogues.append(dialogue.next_prompt())
    assert dialogues[0] == dialogues[1] == dialogues[2]
    # The answer is ids, which a page does not take.
    assert str(dialogues[0]._repr_html_()).startswith("<p>Prompt(")
    with pytest.raises(TypeError):
        builder.complete([1.5])  # type: ignore[list-item]
