"""Answers of engines as they give them: several to a prompt, with the reasons why they ended."""

from __future__ import annotations

import array
import copy
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import metatok
from metatok import PromptBuilder, engines

MARS = [44, 695]


def of_vllm(ids: Any, finish_reason: str | None = "stop", stop_reason: Any = None, index: int = 0) -> Any:
    fields = {"index": index, "text": "", "token_ids": ids, "finish_reason": finish_reason, "stop_reason": stop_reason}
    return SimpleNamespace(**fields, logprobs=None)


def output(*answers: Any) -> Any:
    return SimpleNamespace(request_id="0", prompt_token_ids=[1, 2], outputs=list(answers), finished=True)


def of_sglang(ids: Any, finish_reason: Any = None) -> dict[str, Any]:
    return {"text": "", "output_ids": ids, "meta_info": {"id": "a", "finish_reason": finish_reason, "e2e_latency": float("nan")}}


ANSWERS: dict[str, tuple[Any, tuple[list[int], str, str]]] = {
    "a stop": (output(of_vllm([*MARS, 1052])), (MARS, "Mars", "stop")),
    "a stop that the engine left out": (output(of_vllm(MARS)), (MARS, "Mars", "stop")),
    "a limit": (output(of_vllm(MARS, "length")), (MARS, "Mars", "length")),
    "an abort": (output(of_vllm(MARS, "abort")), (MARS, "Mars", "abort")),
    "no reason": (output(of_vllm(MARS, None)), (MARS, "Mars", "length")),
    "a stop of the engine": (output(of_vllm([44, 695, 13, 44], "stop", 13)), (MARS, "Mars", "stop")),
    "a string of the engine": (output(of_vllm([44, 695], "stop", "rs")), ([44], "Ma", "stop")),
    "a tuple": (output(of_vllm((*MARS, 1052))), (MARS, "Mars", "stop")),
    "an array": (output(of_vllm(array.array("i", MARS))), (MARS, "Mars", "stop")),
    "an array of NumPy": (output(of_vllm(np.array(MARS))), (MARS, "Mars", "stop")),
    "SGLang": (of_sglang([*MARS, 1052], {"type": "stop", "matched": 1052}), (MARS, "Mars", "stop")),
    "an abort of SGLang": (of_sglang(MARS, {"type": "abort", "message": "gone"}), (MARS, "Mars", "abort")),
    "a limit of SGLang": (of_sglang(MARS, {"type": "length", "length": 2}), (MARS, "Mars", "length")),
    "a stop of SGLang": (of_sglang([44, 695, 13], {"type": "stop", "matched": 13}), (MARS, "Mars", "stop")),
    "a string for a reason": (of_sglang(MARS, "abort"), (MARS, "Mars", "abort")),
    "nothing of SGLang": ({"output_ids": MARS}, (MARS, "Mars", "length")),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_ends_where_metatok_trim_ends_it(builder: PromptBuilder, name: str) -> None:
    said, expected = ANSWERS[name]
    (completion,) = engines.completions(builder, [said])
    assert (completion.token_ids, completion.text, completion.finish_reason) == expected


def test_all_answers_to_a_prompt_come_in_order(builder: PromptBuilder, tmp_path: Path) -> None:
    several = output(of_vllm([44, 1052]), of_vllm([695, 1052], index=1), of_vllm([44, 695], "abort", index=2))
    done = engines.completions(builder, [several, output(of_vllm(MARS))])
    assert [one.token_ids for one in done] == [[44], [695], MARS, MARS]
    line = {"request_id": "0", "outputs": [vars(answer) for answer in several.outputs]}
    (tmp_path / "answers.jsonl").write_text(json.dumps(line) + "\n")
    command = [sys.executable, "-m", "metatok", "trim", "-q", "-m", "demo", str(tmp_path / "answers.jsonl")]
    there = [json.loads(one) for one in subprocess.run(command, check=True, capture_output=True).stdout.splitlines()]
    assert [vars(one) for one in done[:3]] == [
        {"stop": None, "tail": [], **{key: one[key] for key in vars(done[0]) if key in one}} for one in there
    ]


def test_what_the_tokenizer_lacks_has_its_place(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.MetatokError, match="output 1: .*99999"):
        engines.completions(builder, [output(of_vllm(MARS)), output(of_vllm([99999]))])


def test_a_stream_names_its_stop_as_a_completion_does(builder: PromptBuilder) -> None:
    stream = builder.stream()
    for token in (*MARS, 1052):
        stream.push(token)
    assert stream.stop == builder.complete([*MARS, 1052]).stop and stream.stop is not None
    assert stream.stop["token"] == "<|im_end|>"
    of_string = PromptBuilder("demo", stop_strings=["rs"])
    stream = of_string.stream()
    for token in MARS:
        stream.push(token)
    assert stream.stop == of_string.complete(MARS).stop == {"string": "rs"}
    assert builder.stream().stop is None


def test_an_output_without_an_answer_is_named(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.InputError, match="output 1: it has no answer"):
        engines.completions(builder, [output(of_vllm(MARS)), output()])


def test_a_batch_is_the_prompts_that_were_generated_from() -> None:
    builder = PromptBuilder("demo")
    batch = builder.build_batch([[{"role": "user", "content": text}] for text in ("Hi!", "Which planet is red?")])
    outputs = [[*row.tolist(), 44, 695, 1052] for row in batch.input_ids]
    assert [done.text for done in builder.complete_all(outputs, prompts=batch)] == ["Mars", "Mars"]


def test_errors_of_answers_say_which_one() -> None:
    builder = metatok.PromptBuilder("demo")
    with pytest.raises(metatok.MetatokError, match="^answer 1: .*999999") as error:
        builder.complete_all([[44], [5, 999999]])
    assert error.value.place == {"answer": 1}
    with pytest.raises(metatok.InputError, match="^answer 2: -1 is not a token id") as error:
        builder.complete_all([[44], [5], [-1, 5]])
    assert error.value.place == {"answer": 2}
    for wrong in ([[44], None], [[44], [[5]]], [[44], 5]):
        with pytest.raises(TypeError, match="^answer 1 is not a list of token ids: "):
            builder.complete_all(wrong)  # type: ignore[arg-type]
    with pytest.raises(metatok.MetatokError, match="^token id 999999") as error:
        builder.complete([999999])
    assert error.value.place == {}


def test_a_stream_cannot_be_copied() -> None:
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="push its ids into a new one"):
            copied(metatok.PromptBuilder("demo").stream())
