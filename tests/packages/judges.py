"""What the package's own evaluators ask a judge: their `score` is run up to the inferencer, which keeps the prompts.

Beside them are stubbed: the model, the inferencer, rules that refuse every answer, and the `datasets` library, by a list of rows.
"""

import copy
import logging
import re
import types

from rows import Rows, bare, class_of, dict_of, messages, texts
from stubs import load, stub

NUMBERS = (0, 2, 3)  # Rows whose dialogues end with the model.
MADE = re.compile(r"prediction\d*(_r\d+|_(en|cn)_word_count)?|obj_gold|reference")
# Columns of OpenCompass's loaders hold templates too.
HIDDEN = " {prediction} {prediction2} {prediction_r1} {prediction1_r2} {prediction_cn_word_count} {prediction2_en_word_count}"
SAID = ["Mars, and don't ask {other}", "火星。 It is\n\n«red» B2B", "4 {question} <think>no</think>"]


class Prompts(Exception):
    """What the inferencer was to ask."""


class Keeper:
    """GenInferencer, as far as it makes prompts."""

    def __init__(self, model, max_out_len=None, **kwargs):
        self.max_out_len = max_out_len

    def inference(self, retriever, prompt_template):
        ids = retriever.retrieve()
        ice = [retriever.generate_ice(one) for one in ids]
        make = retriever.generate_prompt_for_generate_task
        prompts = [make(i, one, prompt_template=prompt_template) for i, one in enumerate(ice)]
        raise Prompts(prompts, self.max_out_len)


class Evaluator:
    """BaseEvaluator; its postprocessors are Python, and not run."""

    dataset_replica_idx = _dataset_replica_idx = 0
    _out_dir = output_path = "out"

    def __init__(self, pred_postprocessor=None):
        pass

    def pred_postprocess(self, predictions):
        return predictions


class Rule(Evaluator):
    """Refuses every answer."""

    def score(self, predictions, references):
        return {"accuracy": 0}


class Table:
    """A Dataset of the library `datasets`."""

    def __init__(self, rows):
        self.rows = copy.deepcopy(rows)

    @property
    def column_names(self):
        return list(self.rows[0])

    def add_column(self, name, values):
        if name in self.column_names or len(values) != len(self.rows):
            raise ValueError(name)
        return Table([{**row, name: value} for row, value in zip(self.rows, values)])

    def select(self, numbers):
        return Table([self.rows[number] for number in numbers])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, key):
        return [row[key] for row in self.rows] if isinstance(key, str) else self.rows[key]


class Data:
    """A BaseDataset."""

    def __init__(self, rows, reader_cfg=None, **columns):
        if rows is None:  # An LMEvalDataset.
            columns = {name: values for name, values in columns.items() if values}
            rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
        dataset = {"train": Table(rows), "test": Table(rows)}
        self.reader = types.SimpleNamespace(dataset=dataset, input_columns=[], output_column=None)

    train = property(lambda self: self.reader.dataset["train"])
    test = property(lambda self: self.reader.dataset["test"])


class JudgedRows(Rows):
    """Rows with all that the judge's template names, and with templates in their columns."""

    def __init__(self, dataset, keys):
        super().__init__(dataset)
        self.is_lm = bare(keys["type"]) == "LMEvaluator"
        fields = re.findall(r"\{([A-Za-z_]\w*)\}", " ".join(texts(keys["prompt_template"])))
        self.columns += [field for field in dict.fromkeys(fields) if field not in self.columns and not MADE.fullmatch(field)]

    def said(self, column, number):
        return messages(2 + number % 3, self.is_multiround) if column == "dialogue" else f"the {column}"

    def value(self, column, position, number):
        if self.is_lm and column == self.output:
            return {"question_id": number, "others": [column, None]}
        value = super().value(column, position, number)
        return value + HIDDEN if isinstance(value, str) and not self.labels else value


def keys_of(dataset):
    """The evaluator that asks a judge, and the one around it; nothing where there is none."""
    evaluator = dict_of(dict_of(dataset, "eval_cfg"), "evaluator")
    keys = dict_of(evaluator, "llm_evaluator") or evaluator
    return (keys, evaluator) if isinstance(keys.get("prompt_template"), dict) else None


def evaluators(root, template_of, base_retriever):
    """The package's evaluators."""
    retrievers = "opencompass.openicl.icl_retriever"
    for name, names in {
        "opencompass.openicl.icl_evaluator": {"BaseEvaluator": Evaluator},
        "opencompass.openicl.icl_inferencer": {"GenInferencer": Keeper},
        "opencompass.datasets.lmeval": {"LMEvalDataset": lambda **columns: Data(None, **columns)},
        retrievers: {"BaseRetriever": base_retriever},
    }.items():
        stub(name, **names)
    zero = load(f"{retrievers}.icl_zero_retriever", root / "openicl/icl_retriever/icl_zero_retriever.py")
    stub(retrievers, ZeroRetriever=zero.ZeroRetriever)
    files = {
        "GenericLLMEvaluator": "evaluator/generic_llm_evaluator.py",
        "CascadeEvaluator": "evaluator/cascade_evaluator.py",
        "LMEvaluator": "openicl/icl_evaluator/lm_evaluator.py",
    }
    found = {}
    for name, file in files.items():
        module = load(f"judges.{name}", root / file)
        log = logging.getLogger("judges")
        build = types.SimpleNamespace(build=template_of)
        vars(module).update(ICL_PROMPT_TEMPLATES=build, logger=log, get_logger=lambda *_: log)
        vars(module).update(build_model_from_cfg=lambda **_: None, build_dataset_from_cfg=Data)
        found[name] = getattr(module, name)
    return found


def models_of(keys):
    """How many models' answers the judge is shown: one, and two where it compares them."""
    return (1, 2) if bare(keys["type"]) == "LMEvaluator" else (1,)


def predictions_of(rows, dataset, models):
    """What this many models say: of each a text for each row, or one for each turn."""
    inferencer = dict_of(dict_of(dataset, "infer_cfg"), "inferencer")
    turns = class_of(dataset["infer_cfg"], "inferencer") == "ChatInferencer" and inferencer.get("infer_mode") == "every"
    # Of models that are compared it writes the names into the reference.
    said = lambda model, row: SAID[(model + row) % len(SAID)] + ("" if models > 1 else " {obj_gold} {reference}")
    if not turns:
        return [[said(model, i) for i in range(len(rows))] for model in range(models)]
    lengths = [len(row["dialogue"]) // 2 for row in rows]
    return [[[said(model, i + turn) for turn in range(length)] for i, length in enumerate(lengths)] for model in range(models)]


def as_lm_has_them(rows, predictions):
    """What its inferencers write down for LMEvaluator."""
    made = []
    for model, said in enumerate(predictions):
        if isinstance(said[0], list):
            chats = [(row["dialogue"], turns) for row, turns in zip(rows, said)]
            said = [
                [{"round": i + 1, "user": chat[2 * i]["content"], "assistant": one} for i, one in enumerate(turns)]
                for chat, turns in chats
            ]
        made.append({"model_name": f"model {model}", "model_preds": list(said)})
    return made if len(made) > 1 else made[0]


def asked(classes, keys, outer, rows, output, predictions):
    """The prompts that the judge is to be asked, and how long its answers may be."""
    name, references = bare(outer["type"]), [copy.deepcopy(row.get(output)) for row in rows]
    kept = {key: keys[key] for key in ("prompt_template", "pack_all_predictions", "keep_predictions") if key in keys}
    judge_cfg = {"batch_size": 1, **(keys.get("judge_cfg") or {})}
    try:
        if name == "LMEvaluator":
            evaluator = classes[name](**kept, judge_cfg=judge_cfg, output_path="out/x.json", dataset_cfg=rows)
            evaluator.score(as_lm_has_them(rows, predictions), references=references, infer_order=None)
        generic = {**kept, "type": classes["GenericLLMEvaluator"], "judge_cfg": judge_cfg, "dataset_cfg": rows}
        if name == "CascadeEvaluator":
            evaluator = classes[name](generic, {"type": Rule}, parallel=outer.get("parallel", True))
            evaluator.score(predictions[0], references, Table(rows))
        generic.pop("type")
        classes[name](**generic).score(predictions[0], references)
    except Prompts as made:
        return made.args
    raise AssertionError("it asked nothing")


def judge_lines(classes, dataset, keys, outer, models):
    """A judge with rows and answers of this many models, and what the package asks it."""
    rows = JudgedRows(dataset, keys)
    made = [rows.row(number) for number in NUMBERS]
    predictions = predictions_of(made, dataset, models)
    lines = {"rows": made, "predictions": predictions}
    try:
        prompts, limit = asked(classes, copy.deepcopy(keys), outer, made, rows.output, predictions)
    except Exception as error:
        return {**lines, "prompts": {"error": f"{type(error).__name__}: {error}"}}
    return {**lines, "max_out_len": limit, "prompts": {"ok": prompts}}
