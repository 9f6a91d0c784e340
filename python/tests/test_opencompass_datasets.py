"""Dataset configurations of the opencompass package, as its loader gives them: the prompts of its own prompt code.

Every tenth file by default; METATOK_PACKAGES_EVERY=1 takes all.
"""

from __future__ import annotations

import collections
import copy
import json
import sys
import types
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("mmengine", reason="mmengine is not installed (pip install mmengine-lite)")
pytest.importorskip("opencompass.openicl", reason="opencompass is not installed, or not all that it needs", exc_type=ImportError)

import metatok
from metatok import opencompass

if sys.version_info >= (3, 11):
    import tomllib
else:
    # A part of pytest there.
    import tomli as tomllib

from opencompass_package import EVERY, REPOSITORY, Package, outcome

ROWS = 3
KNOWN = tomllib.loads((REPOSITORY / "tests/packages/opencompass.toml").read_text(encoding="utf-8"))
REASONS = [reason["message"] for reason in KNOWN["reason"]]
#: Templates that LMTemplateParser takes, for its two modes, and the chat wrapper for prompts to continue.
METAS = ("lm-none", "lm", "lm-system")


def test_datasets_build_the_prompts_of_opencompass() -> None:
    seen = Seen(Package())
    for file, config in seen.package.load("datasets", EVERY):
        seen.files["all"] += 1
        if isinstance(config, Exception):
            seen.files["its loader refuses"] += 1
        else:
            seen.files[seen.look(file, config)] += 1
    print(f"\nfiles of datasets: {dict(seen.files)}; different dicts: {dict(seen.dicts)}; prompts: {dict(seen.prompts)}")
    for reason, count in seen.reasons.most_common():
        print(f"{count} dicts refused: {reason}")
    assert not seen.different, "\n".join(str(one)[:2000] for one in {one[0]: one for one in seen.different}.values())
    assert seen.files["same prompts"] > 0.9 * (seen.files["all"] - seen.files["its loader refuses"])


class Seen:
    """What was found in all files."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.files: collections.Counter[str] = collections.Counter()
        self.dicts: collections.Counter[str] = collections.Counter()
        self.prompts: collections.Counter[str] = collections.Counter()
        self.reasons: collections.Counter[str] = collections.Counter()
        self.different: list[Any] = []
        self._known: dict[str, str] = {}
        metas = package.templates.METAS
        self.builders = {name: metatok.PromptBuilder(meta_template=metas[name] or {}, tokenizer="demo", text=True) for name in METAS}
        self.builders["chat"] = metatok.PromptBuilder(tokenizer="demo", chat_wrapper="opencompass-chat")

    def look(self, file: str, config: Any) -> str:
        """What became of a file: the worst of its dicts."""
        found = ["no datasets"]
        for dataset in opencompass.datasets(config):
            key = json.dumps([dataset.get("reader_cfg"), dataset.get("infer_cfg")], sort_keys=True)
            if key not in self._known:
                self._known[key] = self.dataset(file, dataset)
                self.dicts[self._known[key]] += 1
            found.append(self._known[key])
        return next(kind for kind in ("different", "refused", "same prompts", "no datasets") if kind in found)

    def dataset(self, file: str, dataset: dict[str, Any]) -> str:
        if not isinstance(dataset.get("infer_cfg"), dict):
            error = outcome(lambda: self.builders["lm"].task(dataset))
            return self.refused(file, error)
        rows = self.package.rows.Rows(dataset)
        given = Given(rows, dataset)
        tasks = {name: outcome(lambda: opencompass.task(builder, given.dataset, train=given.train if given.ids else None)) for name, builder in self.builders.items()}
        errors = [task for name, task in tasks.items() if isinstance(task, Exception) and name != "chat"]
        if errors:
            return self.refused(file, errors[0])
        kinds = {self.row(file, given, number, tasks) for number in range(ROWS)}
        return "different" if "different" in kinds else "same prompts"

    def refused(self, file: str, error: Any) -> str:
        reason = next((reason for reason in REASONS if reason in str(error)), None)
        if reason is None:
            self.different.append((file, error))
            return "different"
        self.reasons[reason] += 1
        return "refused"

    def row(self, file: str, given: Given, number: int, tasks: dict[str, Any]) -> str:
        """Compares the prompts of a row by all templates."""
        there = outcome(lambda: list(self.package.asking.prompts(self.package.own, given.asked(number))))
        kind = "same"
        for name, task in tasks.items():
            if name == "chat" and (isinstance(task, Exception) or task.mode == "ppl"):
                continue
            here = outcome(lambda: task.prompts(given.rows.row(number)))
            for one, other in self.pairs(name, here, there):
                self.prompts["different" if one != other else f"same, {name}"] += 1
                if one != other:
                    kind = "different"
                    self.different.append((file, name, number, one, other))
        return kind

    def pairs(self, name: str, here: Any, there: Any) -> Iterator[tuple[Any, Any]]:
        """What is built here and there, prompt by prompt, as far as OpenCompass's own code gives any."""
        if isinstance(there, Exception):
            return
        theirs = [outcome(lambda: self.theirs(name, one)) for one in there]
        if all(isinstance(one, Exception) for one in theirs):
            self.prompts[f"refused by OpenCompass, {name}"] += len(theirs)
        elif isinstance(here, Exception) or len(here) != len(theirs):
            yield here, theirs
        else:
            for one, other in zip(here, theirs):
                if not isinstance(other, Exception):
                    # The demo's tokenizer composes what is written with several characters.
                    yield (one.tolist(), other) if name == "chat" else (one.text, unicodedata.normalize("NFC", other))

    def theirs(self, name: str, one: dict[str, Any]) -> Any:
        prompt = copy.deepcopy(one["prompt"])
        if name == "chat":
            return self.package.chat_ids(prompt, one["mode"])
        return self.package.text(prompt, one["mode"], self.package.templates.METAS[name])


class Given:
    """Rows for a dataset, of its test and its training set, and the examples of each row."""

    def __init__(self, rows: Any, dataset: dict[str, Any]) -> None:
        # Rows that are asked several times have the same prompts, and texts of which a part is scored those of labels.
        # OpenCompass's SCInferencer builds a prompt once, and asks it several times.
        dataset = {key: value for key, value in dataset.items() if key not in ("n", "num_repeats")}
        infer = dataset["infer_cfg"]
        if "sc_size" in (infer.get("inferencer") or {}):
            inferencer = {key: value for key, value in infer["inferencer"].items() if key != "sc_size"}
            dataset["infer_cfg"] = infer = {**infer, "inferencer": inferencer}
        if "LLInferencer" in str(infer.get("inferencer")):
            dataset["infer_cfg"] = infer = {**infer, "inferencer": {**infer["inferencer"], "type": "PPLInferencer"}}
        self.rows, self.dataset = rows, dataset
        retriever = dataset["infer_cfg"].get("retriever")
        kind = str((retriever or {}).get("type")).rsplit(".", 1)[-1]
        self.ids: list[int] = list((retriever or {}).get("fix_id_list") or ())
        if kind not in ("ZeroRetriever", "FixKRetriever") and isinstance(retriever, dict):
            # What another model, or chance, would choose.
            self.ids = [3, 1, 4, 1, 5][: retriever.get("ice_num", 1)]
            keys = {key: retriever[key] for key in ("ice_separator", "ice_eos_token") if key in retriever}
            fixed = {"type": "FixKRetriever", "fix_id_list": self.ids, **keys}
            self.dataset = {**dataset, "infer_cfg": {**dataset["infer_cfg"], "retriever": fixed}}
        self.train = [rows.row(number + 100) for number in range(max([10, *self.ids]) + 1)]

    def asked(self, number: int) -> Any:
        return types.SimpleNamespace(
            infer=copy.deepcopy(self.dataset["infer_cfg"]),
            rows=self.rows,
            train=copy.deepcopy(self.train),
            row=self.rows.row(number),
            ids=self.ids,
            answers=["Two."],
        )
