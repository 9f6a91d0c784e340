"""What OpenCompass's own code makes of its own configurations, as JSON lines for tests/opencompass.rs.

    python reference.py EXPORT.py ROOT EVERY

EXPORT.py is examples/opencompass_export.py, which runs configurations; ROOT holds the folder `opencompass`; of EVERY
files of datasets one is taken. The classes are those of the package's files; what they import beside each other is stubbed.
"""

import copy
import importlib.util
import json
import pathlib
import sys
import types

from judges import evaluators, judge_lines, keys_of, models_of
from rows import Rows, bare, class_of, dict_of

# Some configurations print, and so do the classes.
OUT, sys.stdout = sys.stdout, sys.stderr
EXPORT, ROOT, EVERY = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])


def load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Stub(types.ModuleType):
    """A module of which every name is a decorator of anything."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class Anything:
    def __init__(self, *args, **kwargs):
        pass

    @staticmethod
    def register_module(*args, **kwargs):
        return lambda one: one


STUBBED = (
    "datasets torch mmengine mmengine.config mmengine.device mmengine.dist opencompass opencompass.models opencompass.openicl"
    " opencompass.registry opencompass.utils opencompass.utils.logging"
)
REAL = {
    "opencompass.utils.types": "utils/types.py",
    "opencompass.utils.prompt": "utils/prompt.py",
    "opencompass.openicl.icl_prompt_template": "openicl/icl_prompt_template.py",
    "opencompass.openicl.icl_raw_prompt_template": "openicl/icl_raw_prompt_template.py",
    "opencompass.openicl.icl_retriever.icl_base_retriever": "openicl/icl_retriever/icl_base_retriever.py",
    "opencompass.models.base": "models/base.py",
    "opencompass.models.base_api": "models/base_api.py",
    "opencompass.models.huggingface_above_v4_33": "models/huggingface_above_v4_33.py",
}


def stub(name):
    sys.modules[name] = Stub(name)
    return sys.modules[name]


def real_classes():
    """The classes of the package, loaded from its files."""
    for name in STUBBED.split():
        stub(name)
    for name, file in REAL.items():
        load(name, ROOT / "opencompass" / file)
    found = {}
    for name in REAL:
        found.update({key: value for key, value in vars(sys.modules[name]).items() if not key.startswith("__")})
    return types.SimpleNamespace(**found)


# ---------------------------------------------------------------------------------------------------------------------
# Configurations


def configurations(export, kind):
    """The files of a kind, each with its dicts or why there are none."""
    files = sorted((ROOT / "opencompass" / "configs" / kind).rglob("*.py"))
    for file in files[:: EVERY if kind == "datasets" else 1]:
        name = str(file.relative_to(ROOT / "opencompass" / "configs"))
        try:
            yield name, export.dicts(export.load(file, ROOT), kind)
        except BaseException as error:  # Some leave by SystemExit.
            yield name, f"{type(error).__name__}: {error}"


# ---------------------------------------------------------------------------------------------------------------------
# Prompts

DEFAULT_ICE_NUM = 1
ROWS = 3


def ids_of(retriever, row):
    """The examples of a row, by a rule where the class would ask another model."""
    if "fix_id_list" in retriever:
        return list(retriever["fix_id_list"])
    if bare(retriever.get("type")) == "ZeroRetriever":
        return []
    return [(7 * row + 3 * i) % 11 for i in range(retriever.get("ice_num", DEFAULT_ICE_NUM))]


def retriever_of(oc, config, train, test, output):
    zero = bare(config.get("type")) == "ZeroRetriever"
    retriever = object.__new__(type("Retriever", (oc.BaseRetriever,), {"retrieve": None}))
    retriever.__dict__.update(
        ice_separator="" if zero else config.get("ice_separator", "\n"),
        ice_eos_token=config.get("ice_eos_token", "" if zero else "\n"),
        index_ds=train,
        test_ds=test,
        dataset_reader=types.SimpleNamespace(output_column=output),
    )
    return retriever


def template_of(oc, config):
    if config is None:
        return None
    arguments = copy.deepcopy({key: value for key, value in config.items() if key != "type"})
    kinds = {"PromptTemplate": oc.PromptTemplate, "RawPromptTemplate": oc.RawPromptTemplate}
    return kinds[bare(config["type"])](**arguments)


def prompts(oc, infer, rows, retriever, number, ids):
    """The prompts of a row, each with its label and its mode."""
    ice_template, prompt_template = (template_of(oc, infer.get(name)) for name in ("ice_template", "prompt_template"))
    inferencer = dict_of(infer, "inferencer")
    kind = class_of(infer, "inferencer")
    ice = retriever.generate_ice(ids, ice_template=ice_template)
    templates = {"ice_template": ice_template, "prompt_template": prompt_template}
    if kind in ("PPLInferencer", "LLInferencer"):
        labels = inferencer.get("labels") or retriever.get_labels(**templates)
        keep = inferencer.get("normalizing_str") is not None and kind == "PPLInferencer"
        for label in labels:
            made = retriever.generate_label_prompt(number, ice, label, **templates, remain_sep=keep)
            yield {"label": label, "mode": "ppl", "prompt": made}
        return
    token = inferencer.get("gen_field_replace_token", "")
    made = retriever.generate_prompt_for_generate_task(number, ice, gen_field_replace_token=token, **templates)
    # Nothing is left open in a text to score: it is the model's to end.
    yield {"label": None, "mode": "ppl" if "PPLOnly" in kind else "gen", "prompt": made}


def outcome(make):
    try:
        return {"ok": make()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def role(name, **keys):
    return {"role": name, **keys}


ANSWER = {"generate": True}
METAS = {
    "lm-none": None,
    "lm": {"round": [role("HUMAN", begin="<H>", end="</H>\n"), role("BOT", begin="<B>", end="</B>\n", **ANSWER)]},
    "lm-system": {
        "begin": "[start]",
        "round": [role("HUMAN", begin="H: ", end="\n"), role("BOT", begin="B: ", end="\n", prompt="?", **ANSWER)],
        "reserved_roles": [role("SYSTEM", begin="S: ", end="\n")],
        "end": "[end]",
    },
    "api": {"round": [role("HUMAN", api_role="HUMAN"), role("BOT", api_role="BOT", **ANSWER)]},
    "api-system": {
        "round": [role("HUMAN", api_role="HUMAN", begin="q ", end="."), role("BOT", api_role="BOT", **ANSWER)],
        "reserved_roles": [role("SYSTEM", api_role="SYSTEM")],
    },
}


def parsers(oc):
    """What the package's parsers and its chat wrapper give of a prompt."""
    wrapper = oc._get_meta_template(None)

    def chat(prompt, mode):
        return oc._convert_chat_messages([wrapper.parse_template(prompt, mode=mode)])[0]

    made = {"chat": chat}
    for name, meta in METAS.items():
        kind = oc.APITemplateParser if name.startswith("api") else oc.LMTemplateParser
        made[name] = kind(copy.deepcopy(meta)).parse_template
    return made


def compared(parsers, prompt, mode):
    return {name: outcome(lambda: parse(copy.deepcopy(prompt), mode)) for name, parse in parsers.items()}


def dataset_lines(oc, parsers, dataset):
    """A dataset with rows, and what the package makes of them."""
    infer = dataset["infer_cfg"]
    rows = Rows(dataset)
    config = dict_of(infer, "retriever")
    ids = [outcome(lambda: ids_of(config, number)) for number in range(ROWS)]
    ids = [one.get("ok", []) for one in ids]
    count = max([11, *(number + 1 for one in ids for number in one)])
    train, test = [rows.row(number + 100) for number in range(count)], [rows.row(number) for number in range(ROWS)]
    retriever = retriever_of(oc, config, train, test, rows.output)
    made = []
    for number in range(ROWS):
        found = outcome(lambda: list(prompts(oc, infer, rows, retriever, number, ids[number])))
        for one in found.get("ok", []):
            one["as"] = compared(parsers, one.pop("prompt"), one["mode"])
        made.append(found)
    return {"rows": test, "train": train, "ids": ids, "made": made}


# ---------------------------------------------------------------------------------------------------------------------
# Models


def marker(section, pos):
    return {"section": section, "pos": pos}


ROUND = [role("HUMAN", prompt="1+1=?"), role("BOT", prompt="2"), role("HUMAN", prompt="And\n2?"), role("BOT", prompt="4")]
CONVERSATIONS = [
    [marker("round", "begin"), *ROUND, marker("round", "end")],
    [
        marker("begin", "begin"),
        role("SYSTEM", fallback_role="HUMAN", prompt="Be brief."),
        "A line.",
        marker("begin", "end"),
        marker("round", "begin"),
        *ROUND[:2],
        marker("round", "end"),
    ],
    [
        marker("begin", "begin"),
        marker("ice", "begin"),
        *ROUND[:2],
        marker("ice", "end"),
        marker("begin", "end"),
        marker("round", "begin"),
        role("HUMAN", prompt="", begin="own "),
        role("BOT", prompt=""),
        marker("round", "end"),
    ],
    "A text.",
]


def model_lines(oc, model):
    """What the parser of a model makes of a few conversations, where its template is of either parser."""
    meta = model.get("meta_template")
    if not isinstance(meta, dict):
        return None
    is_api = any("api_role" in one for one in meta.get("round", []) if isinstance(one, dict))
    made = []
    for conversation in CONVERSATIONS:
        for mode in ("gen", "ppl"):
            prompt = conversation if isinstance(conversation, str) else oc.PromptList(copy.deepcopy(conversation))
            kind = oc.APITemplateParser if is_api else oc.LMTemplateParser
            found = outcome(lambda: kind(copy.deepcopy(meta)).parse_template(prompt, mode))
            made.append({"conversation": conversation, "mode": mode, "is_api": is_api, **found})
    return made


def judge(classes, parsers, dataset, models):
    """What a judge is asked of rows, by the package's parsers."""
    lines = judge_lines(classes, dataset, *keys_of(dataset), models)
    prompts = lines["prompts"].get("ok", [])
    if prompts:
        lines["prompts"] = {"ok": [compared(parsers, prompt, "gen") for prompt in prompts]}
    return lines


def write(kind, **line):
    print(json.dumps({kind: line}, ensure_ascii=False, default=str), file=OUT)


def main():
    sys.setrecursionlimit(2000)
    export = load("opencompass_export", EXPORT)
    files = {kind: list(configurations(export, kind)) for kind in ("datasets", "models")}
    # The configurations are run with names in the place of classes; now come the classes.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, export.Finder)]
    oc = real_classes()
    parse = parsers(oc)
    for name, meta in METAS.items():
        write("template", name=name, template=meta)
    classes = evaluators(load, stub, ROOT / "opencompass", lambda config: template_of(oc, config), oc.BaseRetriever)
    known, judged = {}, set()
    for file, dicts in files["datasets"]:
        if isinstance(dicts, str):
            write("file", file=file, error=dicts)
            continue
        numbers = []
        for dataset in dicts:
            key = json.dumps([dataset.get("reader_cfg"), dataset.get("infer_cfg")], sort_keys=True)
            if key not in known:
                known[key] = len(known)
                made = dataset_lines(oc, parse, dataset) if isinstance(dataset.get("infer_cfg"), dict) else {}
                write("dataset", number=known[key], dataset=dataset, **made)
            numbers.append(known[key])
            if keys_of(dataset) and (key := json.dumps([key, dataset["eval_cfg"]], sort_keys=True)) not in judged:
                judged.add(key)
                for models in models_of(keys_of(dataset)[0]):
                    write("judge", file=file, dataset=dataset, **judge(classes, parse, dataset, models))
        write("file", file=file, datasets=sorted(set(numbers)))
    for file, dicts in files["models"]:
        for model in [] if isinstance(dicts, str) else dicts:
            write("model", file=file, model=model, made=model_lines(oc, model))


main()
