"""Rows that lack a column: an error or a warning, as on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import metatok
from metatok import PromptBuilder

CFG: dict[str, Any] = {
    "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
    "infer_cfg": {"prompt_template": {"template": "{q} ({hint})"}, "inferencer": {"type": "GenInferencer"}},
}
FULL, LACKING = {"q": "1+1=?", "a": "2", "hint": "add"}, {"q": "2+2=?", "a": "4"}


def command(tmp_path: Path, rows: list[dict[str, str]], *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "d.json").write_text(json.dumps(CFG))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    built = [sys.executable, "-m", "metatok", "build", "-m", "demo", "--dataset", "d.json", *options, "rows.jsonl"]
    return subprocess.run(built, cwd=tmp_path, capture_output=True, text=True)


@pytest.mark.parametrize("rows", [[LACKING], [LACKING, LACKING]])
def test_a_column_that_no_row_has_is_an_error(builder: PromptBuilder, tmp_path: Path, rows: Any) -> None:
    there = command(tmp_path, rows)
    assert there.returncode == 2 and "there is no column for {hint}" in there.stderr
    task = builder.task(CFG)
    with pytest.raises(metatok.DatasetError, match=r"there is no column for \{hint\}.*no row has it.*`compat`"):
        task.build(rows)
    with pytest.raises(metatok.DatasetError, match="no row has it"):
        task.prompts(rows[0])


def test_a_built_in_dataset_says_which_column_it_wants(builder: PromptBuilder) -> None:
    with pytest.raises(metatok.DatasetError, match=r"\{question\}"):
        builder.task("gsm8k", num_fewshot=0).prompts({"q": "x"})


def test_a_column_that_some_rows_lack_is_a_warning(builder: PromptBuilder, tmp_path: Path) -> None:
    rows = [FULL, LACKING]
    there = command(tmp_path, rows)
    assert there.returncode == 0 and 'lacks the column "hint"' in there.stderr
    with pytest.warns(metatok.MetatokWarning, match='1 of 2 rows lacks the column "hint"') as told:
        prompts = builder.task(CFG).build(rows)
    assert [prompt.tolist() for prompt in prompts] == [json.loads(line)["input_ids"] for line in there.stdout.splitlines()]
    assert all(warning.filename == __file__ for warning in told)


@pytest.mark.parametrize(("options", "is_error"), [({"strict": True}, True), ({"compat": True}, False)])
def test_options_decide(builder: PromptBuilder, options: dict[str, Any], is_error: bool) -> None:
    task = builder.task(CFG, **options)
    if is_error:
        with pytest.raises(metatok.InputError, match="hint"):
            task.build([FULL, LACKING])
    else:
        with pytest.warns(metatok.MetatokWarning):
            assert "{hint}" in task.prompts(LACKING)[0].text


def test_full_rows_are_not_warned_about(builder: PromptBuilder) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert builder.task(CFG).prompts(FULL)[0].text.count("(add)") == 1
        assert builder.task(CFG).build([]) == []


def test_missing_values_of_pandas_are_none(builder: PromptBuilder) -> None:
    task, nan = builder.task(CFG), float("nan")
    for key in ("unread", "hint"):
        assert task.prompts({**FULL, key: nan})[0].text == task.prompts({**FULL, key: None})[0].text


@pytest.mark.parametrize("rows", [FULL, "rows.jsonl", b"rows", None, 3])
def test_one_row_is_no_list_of_rows(builder: PromptBuilder, rows: Any) -> None:
    with pytest.raises(TypeError, match="a list of rows"):
        builder.task(CFG).build(rows)


@pytest.mark.parametrize(
    ("row", "error", "what"),
    [
        (None, TypeError, "row 2 must be a dict, not NoneType"),
        ("x", TypeError, "row 2 must be a dict, not str"),
        ({"q": [float("nan")]}, metatok.InputError, r"row 2: q\[0\]: a number must be neither infinite nor NaN"),
    ],
)
def test_a_wrong_row_has_its_number(builder: PromptBuilder, row: Any, error: Any, what: str) -> None:
    with pytest.raises(error, match=what) as caught:
        builder.task(CFG).build([FULL, row])
    if error is metatok.InputError:
        assert caught.value.place == {"line": 2, "key": "q[0]"}
