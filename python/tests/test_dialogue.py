"""What a growing dialogue says besides its prompts."""

import warnings

import pytest

from metatok import MetatokWarning, PromptBuilder

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
