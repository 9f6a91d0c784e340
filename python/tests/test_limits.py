"""The limits of prompts and answers, wherever Python takes them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metatok
from metatok import PromptBuilder, engines

HI = [{"role": "user", "content": "Hi!"}]
LONG = [{"role": "user", "content": "word " * 100}]
FIT: dict[str, Any] = {"max_seq_len": 50, "truncation": "left"}


@pytest.mark.parametrize(
    ("limits", "error", "what"),
    [
        ({"max_seq_len": "40"}, TypeError, "max_seq_len must be a whole number, not '40'"),
        ({"max_seq_len": 4.5}, TypeError, "max_seq_len must be a whole number, not 4.5"),
        ({"max_seq_len": True}, TypeError, "max_seq_len must be a whole number"),
        ({"max_seq_len": 1 << 64}, metatok.UsageError, r"must be less than 2\*\*63"),
        ({"max_seq_len": -1}, metatok.UsageError, "max_seq_len is -1, but must be at least 0"),
        ({"max_seq_len": 40, "max_out_len": -1}, metatok.UsageError, "max_out_len is -1"),
        ({"max_seq_len": 40, "truncation": 3}, TypeError, "truncation must be a name"),
        ({"max_seq_len": 40, "truncation": "centre"}, metatok.UsageError, "truncation"),
        ({"truncation": "left"}, metatok.UsageError, "truncation is 'left', but does nothing without max_seq_len"),
        ({"max_seq_len": 0}, metatok.UsageError, "a context of 0 tokens has no room for a prompt"),
        ({"max_sequence": 40}, TypeError, "'max_sequence' is not a keyword argument here; limits are max_seq_len"),
    ],
)
def test_wrong_limits_are_named(builder: PromptBuilder, limits: dict[str, Any], error: Any, what: str) -> None:
    calls: list[Callable[..., Any]] = [builder.build, builder.dialogue]
    for call in calls:
        with pytest.raises(error, match=what):
            call(*([HI] if call == builder.build else []), **limits)
    with pytest.raises(error, match=what):
        builder.build_batch([HI], **limits)


def test_none_is_no_limit(builder: PromptBuilder) -> None:
    ids = builder.build(HI).tolist()
    assert builder.build(HI, max_seq_len=None, max_out_len=None, truncation=None).tolist() == ids
    assert builder.build_batch([HI], max_seq_len=None, pad_to_multiple_of=None).input_ids.tolist() == [ids]
    assert builder.build(LONG, max_seq_len=np.int64(50), truncation="left").input_ids.size == 50


@pytest.mark.parametrize("threads", [-1, 0, "2"])
def test_threads_are_at_least_one(builder: PromptBuilder, threads: Any) -> None:
    error = TypeError if threads == "2" else metatok.UsageError
    with pytest.raises(error, match="threads (is|must be)"):
        builder.build_all([HI], threads=threads)


def test_more_threads_than_there_can_be_are_all(builder: PromptBuilder) -> None:
    assert len(builder.build_all([HI] * 3, threads=10**30)) == 3


@pytest.mark.parametrize("what", ["pad_to_multiple_of", "first_row", "max_out_len", "batch_size"])
def test_numbers_that_are_too_small_are_named(builder: PromptBuilder, what: str) -> None:
    pa = pytest.importorskip("pyarrow")
    calls: dict[str, Callable[[], Any]] = {
        "pad_to_multiple_of": lambda: builder.build_batch([HI], pad_to_multiple_of=-1),
        "first_row": lambda: builder.build_arrow(pa.table({"messages": [HI]}), first_row=-1),
        "max_out_len": lambda: builder.requests([HI], max_out_len=-1),
        "batch_size": lambda: next(builder.iter_batches([HI], -1)),
    }
    with pytest.raises(metatok.UsageError, match=f"{what} is -1"):
        calls[what]()


def test_other_numbers_are_checked_too(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.UsageError, match="width is -1"):
        builder.view(HI).text(width=-1)
    with pytest.raises(metatok.InputError, match="-1 is not a token id"):
        builder.tokenizer.token(-1)
    assert builder.tokenizer.token(99999) is None


def test_engines_get_prompts_that_fit(builder: PromptBuilder) -> None:
    prompts, params = builder.vllm_inputs([LONG], max_tokens=10, **FIT)
    assert len(prompts[0]["prompt_token_ids"]) == 40 and params["max_tokens"] == 10 and "max_seq_len" not in params
    assert len(engines.sglang_inputs(builder, [LONG], max_tokens=10, **FIT)["input_ids"][0]) == 40
    request, = builder.requests([LONG], "sglang", max_seq_len=550, truncation="left")
    assert (len(request["input_ids"]), request["sampling_params"]["max_new_tokens"]) == (38, 512)
    assert len(engines.llama_cpp_inputs(builder, [LONG], max_tokens=10, **FIT).prompts[0]) == 40
    with pytest.raises(metatok.InputError, match="only 38 fit .context 550, minus 512 for the answer"):
        engines.vllm_inputs(builder, [LONG], max_seq_len=550)
    with pytest.raises(metatok.UsageError, match="max_tokens is -1"):
        engines.vllm_inputs(builder, [HI], max_tokens=-1)


def test_generate_gets_prompts_that_fit(builder: PromptBuilder) -> None:
    pytest.importorskip("torch")
    assert engines.generate_inputs(builder, [LONG], max_new_tokens=10, **FIT)["input_ids"].shape == (1, 40)
    with pytest.raises(metatok.UsageError, match="leaves no room.*lower `max_new_tokens`"):
        engines.generate_inputs(builder, [HI], max_seq_len=3)


def table_of_the_command(tmp_path: Path, *options: str) -> Any:
    lines = [{"id": "a", "messages": HI}, {"id": "b", "messages": LONG}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "metatok", "build", "-q", "-m", "demo", "--format", "parquet", "--fingerprint"]
    subprocess.run([*command, *options, "-o", tmp_path / "out.parquet", tmp_path / "in.jsonl"], check=True)
    return pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "out.parquet")


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        (["--max-out-len", "7"], {"max_out_len": 7}),
        (["--max-seq-len", "50", "--truncate", "left"], {"max_seq_len": 50, "truncation": "left"}),
        (
            ["--max-seq-len", "50", "--max-out-len", "7", "--truncate", "left"],
            {"max_seq_len": 50, "max_out_len": 7, "truncation": "left"},
        ),
        (["--max-seq-len", "500", "--max-out-len", "7"], {"max_seq_len": 500, "max_out_len": 7}),
    ],
)
def test_tables_have_the_limits_of_the_command(
    builder: PromptBuilder, tmp_path: Path, options: list[str], limits: dict[str, Any]
) -> None:
    pa = pytest.importorskip("pyarrow")
    from metatok._table import Tables

    there = table_of_the_command(tmp_path, *options)
    table = pa.table({"id": ["a", "b"], "messages": [HI, LONG]})
    for here in (pa.table(builder.build_arrow(table, **limits)), Tables({"model": "demo", **limits}).of(table)):
        assert here.equals(there)
    built = pa.table(builder.build_arrow(table, **limits))
    assert built.schema.metadata[b"metatok"] == there.schema.metadata[b"metatok"]


@pytest.mark.parametrize("keep", [(), "max_out_len", ["max_out_len"]])
def test_a_table_says_how_long_each_answer_may_be(builder: PromptBuilder, keep: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"messages": [LONG, LONG, LONG], "max_out_len": [10, None, 20]})
    built = pa.table(builder.build_arrow(table, keep=keep, max_out_len=5, **FIT))
    assert built.column_names == ["id", "repeat", "turn", "max_out_len", "input_ids"]
    assert built["max_out_len"].to_pylist() == [10, 5, 20]
    assert [len(ids) for ids in built["input_ids"].to_pylist()] == [40, 45, 30]


@pytest.mark.parametrize("limits", [[7.0, None, 0.0], ["7", "", "0"], [7, None, 0]])
def test_a_limit_of_a_row_is_read_as_in_files(builder: PromptBuilder, limits: list[Any]) -> None:
    pa = pytest.importorskip("pyarrow")
    built = pa.table(builder.build_arrow(pa.table({"messages": [HI] * 3, "max_out_len": limits})))
    assert built["max_out_len"].to_pylist() == [7, None, None]
    rows = [{"messages": HI, "max_out_len": limit} for limit in limits]
    requests = builder.requests(rows, "llama-cpp", max_out_len=9)
    assert [request["n_predict"] for request in requests] == [7, 9, 9]


@pytest.mark.parametrize("of", [dict, "pyarrow", "pandas"])
def test_map_reads_the_limit_of_a_row(builder: PromptBuilder, of: Any) -> None:
    chat = [{"role": "user", "content": "a " * 20}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    rows: Any = {"messages": [chat, chat], "max_out_len": [40, None]}
    expected = [
        builder.build({"messages": chat, "max_out_len": limit}, max_seq_len=60, max_out_len=5, truncation="oldest-turns")
        for limit in rows["max_out_len"]
    ]
    assert len(expected[0]) < len(expected[1])
    if of is not dict:
        library = pytest.importorskip(of)
        rows = (library.table if of == "pyarrow" else library.DataFrame)(rows)
    mapped = builder.map(max_seq_len=60, max_out_len=5, truncation="oldest-turns")(rows)
    assert [list(ids) for ids in (mapped["input_ids"].to_pylist() if of == "pyarrow" else mapped["input_ids"])] == [
        prompt.tolist() for prompt in expected
    ]


@pytest.mark.parametrize("wrong", [-1, 2.5, "x"])
@pytest.mark.parametrize("chunks", [1, 2])
def test_a_limit_of_a_row_is_a_number_of_tokens(builder: PromptBuilder, wrong: Any, chunks: int) -> None:
    pa = pytest.importorskip("pyarrow")
    limits = pa.array([None, None, None, wrong])
    table = pa.table({"messages": [HI] * 4, "max_out_len": limits})
    table = pa.concat_tables([table[: 4 // chunks], table[4 // chunks :]])
    with pytest.raises(metatok.InputError, match='conversation 3: column "max_out_len": .*is not a number of tokens'):
        builder.build_arrow(table)


@pytest.mark.parametrize("keep", ["topic", ["topic"]])
def test_one_column_to_keep_is_named_as_it_is(builder: PromptBuilder, keep: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    built = pa.table(builder.build_arrow(pa.table({"messages": [HI], "topic": ["greetings"]}), keep=keep))
    assert built["topic"].to_pylist() == ["greetings"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"stop_strings": "x"}, 'stop_strings: expected a list, found the string "x"'),
        ({"spans": "yes"}, 'spans: expected true or false, found the string "yes"'),
        ({"mode": 3}, "mode: expected .*found the number 3"),
    ],
)
def test_options_of_a_wrong_type_are_named(options: dict[str, Any], what: str) -> None:
    with pytest.raises(metatok.UsageError, match=what):
        PromptBuilder("demo", **options)


@pytest.mark.parametrize(
    ("sampling", "what"),
    [
        ({"seed": "x"}, 'sampling: seed: expected a whole number, 0 or more, found the string "x"'),
        ({"model": 3}, "sampling: model: expected a string, found the number 3"),
        ({"temperature": "hot"}, 'sampling: temperature: expected a number, found the string "hot"'),
    ],
)
def test_sampling_of_a_wrong_type_is_named(builder: PromptBuilder, sampling: dict[str, Any], what: str) -> None:
    with pytest.raises(metatok.UsageError, match=what):
        builder.requests([HI], sampling=sampling)


@pytest.mark.parametrize(
    "call",
    [
        lambda builder: builder.requests([HI], sampling={"temperature": float("nan")}),
        lambda builder: engines.sampling(builder, temperature=float("inf")),
        lambda builder: builder.dialogue(tools=[{"a": float("nan")}]),
        lambda _: PromptBuilder(tokenizer="demo", chat_template="{{ x }}", template_kwargs={"x": float("nan")}),
    ],
)
def test_a_wrong_option_is_no_wrong_conversation(builder: PromptBuilder, call: Callable[[PromptBuilder], Any]) -> None:
    with pytest.raises(metatok.UsageError, match="a number must be neither infinite nor NaN"):
        call(builder)
