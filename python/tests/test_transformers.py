"""transformers: `generate` on the demo's weights gives the ids of `metatok run`."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import metatok
import metatok.transformers
from answers import DEMO, answers, conversations
from metatok.engines import generate_inputs


@pytest.fixture(scope="module")
def model() -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(str(DEMO), dtype=torch.float32).eval()


def test_generate_gives_the_ids_of_run(model: Any) -> None:
    done = metatok.transformers.generate(model, metatok.PromptBuilder("demo"), conversations(), max_new_tokens=64)
    assert [(one.token_ids, one.text, one.finish_reason) for one in done] == [
        (one["token_ids"], one["text"], one["finish_reason"]) for one in answers()
    ]


def test_a_batch_is_what_generate_takes(model: Any) -> None:
    builder = metatok.PromptBuilder("demo")
    batch = builder.build_batch(conversations(), return_tensors="pt")
    rows = model.generate(**batch, max_new_tokens=64, do_sample=False, eos_token_id=builder.stop.token_ids)
    done = builder.complete_all(rows.tolist(), prompts=builder.build_all(conversations()))
    assert [one.token_ids for one in done] == [one["token_ids"] for one in answers()]


def test_a_loaded_tokenizer_gives_the_ids_of_its_chat_template() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(DEMO))
    builder = metatok.PromptBuilder.from_tokenizer(tokenizer)
    chats = [chat[:-1] for chat in conversations() if isinstance(chat, list) and "content" in chat[0]]
    # There, what a user writes can be a control token.
    chats = [chat for chat in chats if "<|" not in str(chat)]
    there = tokenizer.apply_chat_template(chats, add_generation_prompt=True, return_dict=True)["input_ids"]
    assert [prompt.tolist() for prompt in builder.build_all(chats)] == there


def test_stop_strings_end_each_sequence(model: Any) -> None:
    chats = conversations()[:8]
    whole = metatok.transformers.generate(model, metatok.PromptBuilder("demo"), chats, max_new_tokens=64)
    # Within a word, so that no token is the string.
    string = whole[0].text[1:4]
    builder = metatok.PromptBuilder("demo", stop_strings=[string])
    inputs = generate_inputs(builder, chats, max_new_tokens=64)
    length = inputs["input_ids"].shape[1]
    criteria = metatok.transformers.StopCriteria(builder, length)
    rows = model.generate(**inputs, stopping_criteria=[criteria])
    done = builder.complete_all([row[length:].tolist() for row in rows])
    assert [one.text for one in done] == [one.text.split(string)[0] for one in whole]
    assert done[0].text == whole[0].text[:1] and done[0].finish_reason == "stop"
    # The first sequence ended there: behind it is padding.
    kept = rows[0, length:].tolist()
    assert builder.tokenizer.decode(kept[: kept.index(builder.pad_token_id)]).count(string) == 1


def test_criteria_follow_sequences_one_by_one() -> None:
    builder = metatok.PromptBuilder("demo", stop_strings=["ars"])
    criteria = metatok.transformers.StopCriteria(builder, 2)
    mars = builder.tokenizer.encode("Mars").tolist()
    venus = builder.tokenizer.encode("Venus and").tolist()[: len(mars)]
    prompt = [[0, 0], [0, 0]]
    for count in range(1, len(mars) + 1):
        rows = torch.tensor([[*prompt[0], *mars[:count]], [*prompt[1], *venus[:count]]])
        ended = criteria(rows).tolist()
    assert ended == [True, False]


def test_no_conversations_have_no_answers(model: Any) -> None:
    assert metatok.transformers.generate(model, metatok.PromptBuilder("demo"), []) == []


def test_prompts_leave_room_for_answers(model: Any) -> None:
    builder = metatok.PromptBuilder("demo")
    long = [[{"role": "user", "content": "word " * 100}]]
    ids = metatok.transformers.generate_ids(model, builder, long, max_new_tokens=4, max_seq_len=50, truncation="left")
    assert len(ids[0]) <= 4
    with pytest.raises(metatok.InputError):
        metatok.transformers.generate(model, builder, long, max_seq_len=550)


def test_generate_may_return_more_than_ids(model: Any) -> None:
    builder = metatok.PromptBuilder("demo")
    ids, more = (
        metatok.transformers.generate(model, builder, conversations(), max_new_tokens=8, return_dict_in_generate=asked)
        for asked in (False, True)
    )
    assert [one.token_ids for one in ids] == [one.token_ids for one in more]


def test_criteria_read_mixed_sequences_again(model: Any) -> None:
    builder = metatok.PromptBuilder("demo", stop_strings=["a", "the"])

    class EachWhole(transformers.StoppingCriteria):  # type: ignore[misc,name-defined]
        def __init__(self, length: int) -> None:
            self.length = length

        def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
            done = [builder.complete(row[self.length :].tolist()) for row in input_ids]
            return torch.tensor([one.finish_reason == "stop" for one in done])

    chats = conversations()[:6]
    inputs = generate_inputs(builder, chats, max_new_tokens=24)
    length = inputs["input_ids"].shape[1]
    expected = model.generate(**{**inputs, "num_beams": 3}, stopping_criteria=[EachWhole(length)])
    found = metatok.transformers.generate_ids(model, builder, chats, max_new_tokens=24, num_beams=3)
    assert found == [row[length:].tolist() for row in expected]
