"""What a growing dialogue is given and says besides its messages and prompts."""

import pickle
import warnings

import pytest

from metatok import InputError, MetatokWarning, PromptBuilder, UsageError

# Writes results along with their calls, as Gemma 4 does.
TEMPLATE = (
    "{% for m in messages %}{% if m.role != 'tool' %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% if m.tool_calls %}{% for r in messages %}{% if r.role == 'tool' %}{{ r.content }}{% endif %}{% endfor %}{% endif %}"
    "{% endif %}{% endfor %}"
)


def test_a_result_that_the_template_leaves_out_is_told_once() -> None:
    dialogue = PromptBuilder(tokenizer="demo", chat_template=TEMPLATE).dialogue()
    dialogue.push("user", "1+1=?")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dialogue.next_prompt()
    dialogue.answer_text("add(1, 1)")
    dialogue.push({"role": "tool", "content": "2"})
    with pytest.warns(MetatokWarning, match='1 message of role "tool" left out') as told:
        dialogue.next_prompt()
        dialogue.next_prompt()
    assert len(told) == 1


def test_a_dialogue_has_tools_and_an_answer_has_its_place() -> None:
    template = "{{ tools | tojson }}{{ style }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    builder = PromptBuilder(tokenizer="demo", chat_template=template, text=True)
    tools = [{"type": "function", "function": {"name": "moons"}}]
    dialogue = builder.dialogue(tools=tools, chat_template_kwargs={"style": "brief"})
    dialogue.push("user", "Which planet is red?")
    first = dialogue.next_prompt()
    begin = '[{"type": "function", "function": {"name": "moons"}}]briefuser: Which planet is red?\n'
    assert first.text == begin
    dialogue.push("user", "Well?")
    dialogue.answer_text("Venus")
    dialogue.answer_ids([44, 695, 1052])
    assert pickle.loads(pickle.dumps(dialogue)).next_prompt().text == dialogue.next_prompt().text
    assert dialogue.next_prompt().text == f"{begin}assistant: Mars\nuser: Well?\n"
    with pytest.raises(InputError, match="tools"):
        wrong = builder.dialogue(chat_template_kwargs={"tools": tools})
        wrong.push("user", "Hi")
        wrong.next_prompt()
    with pytest.raises(UsageError, match="headroom is -1"):
        builder.dialogue(headroom=-1)
