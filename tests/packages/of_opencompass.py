"""How OpenCompass's own code is asked: its templates, retriever, parsers, chat wrapper, and the turns of its inferencers."""

import copy
import inspect
import types

from judges import evaluators
from rows import bare, class_of, dict_of
from stubs import Anything, is_list_of, real_classes, stub
from templates import METAS

CONFIGS = "opencompass/configs"
STUBBED = (
    "datasets torch mmengine mmengine.config mmengine.device mmengine.dist tqdm opencompass opencompass.models"
    " opencompass.openicl opencompass.openicl.icl_inferencer opencompass.openicl.icl_inferencer.icl_base_inferencer"
    " opencompass.openicl.icl_retriever opencompass.openicl.utils opencompass.openicl.utils.logging opencompass.registry"
    " opencompass.utils opencompass.utils.logging"
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
INFERENCERS = "opencompass.openicl.icl_inferencer"
# Made once: with the parsers of the package, and with those of ChatInferencer.
PARSERS = {}


def classes(root):
    """The classes of the package. Those of its inferencers stand apart: two have the names of parsers."""
    stub(STUBBED, is_list_of=is_list_of)
    own = real_classes(root / "opencompass", REAL)
    for name in ("chat", "gen"):
        file = f"openicl/icl_inferencer/icl_{name}_inferencer.py"
        vars(own)[name] = real_classes(root / "opencompass", {f"{INFERENCERS}.icl_{name}_inferencer": file})
    return own


def retriever_of(own, asked):
    config = dict_of(asked.infer, "retriever")
    zero = bare(config.get("type")) == "ZeroRetriever"
    retriever = object.__new__(type("Retriever", (own.BaseRetriever,), {"retrieve": None}))
    retriever.__dict__.update(
        ice_separator="" if zero else config.get("ice_separator", "\n"),
        ice_eos_token=config.get("ice_eos_token", "" if zero else "\n"),
        index_ds=asked.train,
        test_ds=[asked.row],
        dataset_reader=types.SimpleNamespace(input_columns=asked.rows.inputs, output_column=asked.rows.output),
    )
    return retriever


def template_of(own, config):
    if config is None:
        return None
    arguments = copy.deepcopy({key: value for key, value in config.items() if key != "type"})
    kinds = {"PromptTemplate": own.PromptTemplate, "RawPromptTemplate": own.RawPromptTemplate}
    return kinds[bare(config["type"])](**arguments)


def prompts(own, asked):
    """The prompts of the row, each with its label and its mode."""
    infer, retriever = asked.infer, retriever_of(own, asked)
    ice_template, prompt_template = (template_of(own, infer.get(name)) for name in ("ice_template", "prompt_template"))
    inferencer, kind = dict_of(infer, "inferencer"), class_of(infer, "inferencer")
    if kind == "ChatInferencer":
        yield from map(prompt_of, chat_turns(own, asked, retriever, prompt_template))
        return
    ice = retriever.generate_ice(asked.ids, ice_template=ice_template)
    templates = {"ice_template": ice_template, "prompt_template": prompt_template}
    if kind in ("PPLInferencer", "LLInferencer"):
        labels = inferencer.get("labels") or retriever.get_labels(**templates)
        keep = inferencer.get("normalizing_str") is not None and kind == "PPLInferencer"
        for label in labels:
            made = retriever.generate_label_prompt(0, ice, label, **templates, remain_sep=keep)
            yield {"label": label, "mode": "ppl", "prompt": made}
        return
    token = inferencer.get("gen_field_replace_token", "")
    made = retriever.generate_prompt_for_generate_task(0, ice, gen_field_replace_token=token, **templates)
    if inferencer.get("multiround"):
        yield from map(prompt_of, rounds(own, asked, made))
        return
    # Nothing is left open in a text to score: it is the model's to end.
    yield {"label": None, "mode": "ppl" if "PPLOnly" in kind else "gen", "prompt": made}


def prompt_of(history):
    return {"label": None, "mode": "gen", "prompt": history}


class Model:
    """Writes down what it is given, and says one answer after the other."""

    def __init__(self, answers):
        self.answers, self.histories = answers, []

    def generate_from_template(self, histories, **kwargs):
        self.histories.append(copy.deepcopy(histories[0]))
        return [self.answers[(len(self.histories) - 1) % len(self.answers)]]


def chat_turns(own, asked, retriever, prompt_template):
    """What ChatInferencer asks for."""
    kind, model = own.chat.ChatInferencer, Model(asked.answers)
    usual = inspect.signature(kind.__init__).parameters["infer_mode"].default
    inferencer = object.__new__(kind)
    inferencer.__dict__.update(model=model, dialogue_mode=False, max_out_len=1)
    chat = inferencer.get_chat_list([[]], retriever, prompt_template=prompt_template)[0]
    mode = asked.infer["inferencer"].get("infer_mode", usual)
    getattr(inferencer, f"infer_{mode}")(chat, 0, Anything())
    return model.histories


def rounds(own, asked, chat):
    """What GenInferencer asks for with `multiround`."""
    model, inferencer = Model(asked.answers), object.__new__(own.gen.GenInferencer)
    inferencer.__dict__.update(model=model, batch_size=1, max_out_len=1)
    inferencer._generate_multiround([chat], {})
    return model.histories


def parsers(own, infer, prompt):
    """What the package's parsers and its chat wrapper give of a prompt."""
    is_chat = class_of(infer, "inferencer") == "ChatInferencer"
    if is_chat not in PARSERS:
        PARSERS[is_chat] = parsers_of(own, is_chat)
    return PARSERS[is_chat]


def parsers_of(own, is_chat):
    wrapper = own._get_meta_template(None)
    if is_chat:
        # As the inferencer replaces them.
        wrapper = own.chat.APITemplateParser(wrapper.meta_template)
    made = {"chat": lambda prompt, mode: own._convert_chat_messages([wrapper.parse_template(prompt, mode=mode)])[0]}
    classes = own.chat if is_chat else own
    for name, meta in METAS.items():
        kind = classes.APITemplateParser if name.startswith("api") else classes.LMTemplateParser
        made[name] = kind(copy.deepcopy(meta)).parse_template
    return made


def judges(own, root):
    """The classes of the evaluators that ask a judge."""
    return evaluators(root / "opencompass", lambda config: template_of(own, config), own.BaseRetriever)


def model_parser(own, model):
    """Whether a model's parser is of APIs, and what makes it."""
    meta = model.get("meta_template")
    if not isinstance(meta, dict):
        return None
    is_api = any("api_role" in one for one in meta.get("round", []) if isinstance(one, dict))
    kind = own.APITemplateParser if is_api else own.LMTemplateParser
    return is_api, lambda: kind(copy.deepcopy(meta))
