"""What a package's own code makes of its own configurations, as JSON lines for tests/library/packages/.

    python reference.py PACKAGE EXPORT.py ROOT EVERY

PACKAGE is opencompass or aisbench; EXPORT.py is examples/opencompass_export.py, which runs configurations; ROOT holds the
package's folder; of EVERY files of datasets one is taken.
"""

import copy
import dataclasses
import importlib
import json
import pathlib
import sys

from judges import judge_lines, keys_of, models_of
from rows import Rows, bare, class_of, dict_of
from stubs import load
from templates import CONVERSATIONS, METAS

# Some configurations print, and so do the classes.
OUT, sys.stdout = sys.stdout, sys.stderr
EXPORT, ROOT, EVERY = sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
# What is known of the package: where its configurations are, and how its own code is asked.
PACKAGE = importlib.import_module(f"of_{sys.argv[1]}")

DEFAULT_ICE_NUM = 1
ROWS = 3
# What a model says, turn by turn.
ANSWERS = ["Two.", "", " {idx} is\n\nthe {question}'s </B> answer "]
ASK_BY_MODE = {"ChatInferencer", "MultiTurnGenInferencer"}


def configurations(export, kind):
    """The files of a kind, each with its dicts or why there are none."""
    configs = ROOT / PACKAGE.CONFIGS
    files = sorted((configs / kind).rglob("*.py"))
    for file in files[:: EVERY if kind == "datasets" else 1]:
        name = str(file.relative_to(configs))
        try:
            yield name, export.dicts(export.load(file, ROOT), kind)
        except BaseException as error:  # Some leave by SystemExit.
            yield name, f"{type(error).__name__}: {error}"


def variants(dataset):
    """A dataset as it is, and with each other way to ask for the turns of a dialogue."""
    yield dataset
    if class_of(dict_of(dataset, "infer_cfg"), "inferencer") in ASK_BY_MODE:
        for mode in (None, "last", "every", "every_with_gt"):
            other = copy.deepcopy(dataset)
            inferencer = other["infer_cfg"]["inferencer"]
            inferencer.pop("infer_mode", None)
            inferencer.update({"infer_mode": mode} if mode else {})
            yield other


def ids_of(retriever, row):
    """The examples of a row, by a rule where the class would ask another model."""
    if "fix_id_list" in retriever:
        return list(retriever["fix_id_list"])
    if bare(retriever.get("type")) == "ZeroRetriever":
        return []
    return [(7 * row + 3 * i) % 11 for i in range(retriever.get("ice_num", DEFAULT_ICE_NUM))]


@dataclasses.dataclass
class Asked:
    """A row, and what is asked of it."""

    infer: dict
    rows: object
    train: list
    row: dict
    ids: list
    answers: list


def outcome(make):
    try:
        return {"ok": make()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def compared(parsers, prompt, mode):
    return {name: outcome(lambda: parse(copy.deepcopy(prompt), mode)) for name, parse in parsers.items()}


def dataset_lines(own, dataset):
    """A dataset with rows, and what the package makes of them."""
    infer, rows = dataset["infer_cfg"], Rows(dataset)
    config = dict_of(infer, "retriever")
    ids = [outcome(lambda: ids_of(config, number)) for number in range(ROWS)]
    ids = [one.get("ok", []) for one in ids]
    count = max([11, *(number + 1 for one in ids for number in one)])
    train, test = [rows.row(number + 100) for number in range(count)], [rows.row(number) for number in range(ROWS)]
    made = []
    for number in range(ROWS):
        asked = Asked(infer, rows, copy.deepcopy(train), copy.deepcopy(test[number]), ids[number], ANSWERS)
        found = outcome(lambda: list(PACKAGE.prompts(own, asked)))
        for one in found.get("ok", []):
            one["as"] = compared(PACKAGE.parsers(own, infer, one["prompt"]), one.pop("prompt"), one["mode"])
        made.append(found)
    return {"rows": test, "train": train, "ids": ids, "answers": ANSWERS, "made": made}


def judge(own, judges, dataset, models):
    """What a judge is asked of rows, by the package's parsers."""
    lines = judge_lines(judges, dataset, *keys_of(dataset), models)
    prompts = lines["prompts"].get("ok", [])
    if prompts:
        lines["prompts"] = {"ok": [compared(PACKAGE.parsers(own, {}, prompt), prompt, "gen") for prompt in prompts]}
    return lines


def write_judges(own, judges, file, dicts, known):
    """The judges of a file that were not seen yet."""
    for dataset in dicts:
        key = json.dumps([dataset.get(part) for part in ("reader_cfg", "infer_cfg", "eval_cfg")], sort_keys=True)
        if keys_of(dataset) and key not in known:
            known.add(key)
            for models in models_of(keys_of(dataset)[0]):
                write("judge", file=file, dataset=dataset, **judge(own, judges, dataset, models))


def model_lines(own, model):
    """What the parser of a model makes of a few conversations, where its template is of either parser."""
    found = PACKAGE.model_parser(own, model)
    if found is None:
        return None
    is_api, parser = found
    made = []
    for conversation in CONVERSATIONS:
        for mode in ("gen", "ppl"):
            prompt = conversation if isinstance(conversation, str) else own.PromptList(copy.deepcopy(conversation))
            line = outcome(lambda: parser().parse_template(prompt, mode))
            made.append({"conversation": conversation, "mode": mode, "is_api": is_api, **line})
    return made


def write(kind, **line):
    print(json.dumps({kind: line}, ensure_ascii=False, default=str), file=OUT)


def main():
    sys.setrecursionlimit(2000)
    export = load("opencompass_export", EXPORT)
    files = {kind: list(configurations(export, kind)) for kind in ("datasets", "models")}
    # The configurations are run with names in the place of classes; now come the classes.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, export.Finder)]
    own = PACKAGE.classes(ROOT)
    for name, meta in METAS.items():
        write("template", name=name, template=meta)
    known, judged = {}, set()
    judges = PACKAGE.judges(own, ROOT)
    for file, dicts in files["datasets"]:
        if isinstance(dicts, str):
            write("file", file=file, error=dicts)
            continue
        numbers = []
        for dataset in (variant for one in dicts for variant in variants(one)):
            key = json.dumps([dataset.get("reader_cfg"), dataset.get("infer_cfg")], sort_keys=True)
            if key not in known:
                known[key] = len(known)
                made = dataset_lines(own, dataset) if isinstance(dataset.get("infer_cfg"), dict) else {}
                write("dataset", number=known[key], dataset=dataset, **made)
            numbers.append(known[key])
        if judges:
            write_judges(own, judges, file, dicts, judged)
        write("file", file=file, datasets=sorted(set(numbers)))
    for file, dicts in files["models"]:
        for model in [] if isinstance(dicts, str) else dicts:
            write("model", file=file, model=model, made=model_lines(own, model))


main()
