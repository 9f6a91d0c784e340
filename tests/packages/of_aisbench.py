"""How AISBench's own code is asked: its retrievers, templates, inferencers and parsers, and the requests of its chat model."""

import asyncio
import copy
import dataclasses
import inspect
import json
import sys
import types

from rows import bare, class_of, dict_of
from stubs import Anything, real_classes, stub
from templates import METAS

CONFIGS = "ais_bench/benchmark/configs"
BASE = "ais_bench.benchmark"
OPENICL = f"{BASE}.openicl"
STUBBED = f"""
    aiohttp datasets mmengine mmengine.config mmengine.device mmengine.dist requests torch tqdm transformers
    ais_bench {BASE} {BASE}.registry {BASE}.global_consts {BASE}.datasets {BASE}.datasets.bfcl
    {BASE}.datasets.bfcl.bfcl_dependency {BASE}.models {BASE}.models.api_models {BASE}.models.local_models
    {BASE}.models.output {BASE}.utils {BASE}.utils.core {BASE}.utils.core.types {BASE}.utils.logging
    {BASE}.utils.logging.error_codes {BASE}.utils.logging.logger {BASE}.utils.prompt {OPENICL}
    {OPENICL}.icl_prompt_template {OPENICL}.icl_retriever {OPENICL}.icl_inferencer
    {OPENICL}.icl_inferencer.icl_base_api_inferencer {OPENICL}.icl_inferencer.icl_base_local_inferencer
    {OPENICL}.icl_inferencer.output_handler
    {OPENICL}.icl_inferencer.output_handler.bfcl_v3_output_handler
    {OPENICL}.icl_inferencer.output_handler.gen_inferencer_output_handler
    {OPENICL}.icl_inferencer.output_handler.lmm_gen_inferencer_output_handler
    {OPENICL}.icl_inferencer.output_handler.ppl_inferencer_output_handler
"""
# In the order in which they import each other, and where else their names are imported from.
REAL = {
    f"{BASE}.utils.prompt.prompt": f"{BASE}.utils.prompt",
    f"{OPENICL}.icl_prompt_template.icl_prompt_template_base": None,
    f"{OPENICL}.icl_prompt_template.icl_prompt_template": None,
    f"{OPENICL}.icl_prompt_template.icl_prompt_template_mm": None,
    f"{OPENICL}.icl_prompt_template.icl_prompt_template_multiturn": None,
    f"{OPENICL}.icl_retriever.icl_base_retriever": f"{OPENICL}.icl_retriever",
    f"{OPENICL}.icl_retriever.icl_fix_k_retriever": None,
    f"{OPENICL}.icl_retriever.icl_zero_retriever": None,
    f"{BASE}.models.local_models.base": f"{BASE}.models",
    f"{BASE}.models.api_models.base_api": f"{BASE}.models",
    f"{BASE}.models.api_models.vllm_custom_api_chat": None,
    f"{BASE}.models.local_models.huggingface_above_v4_33": None,
    f"{OPENICL}.icl_inferencer.icl_gen_inferencer": None,
    f"{OPENICL}.icl_inferencer.icl_lmm_gen_inferencer": None,
    f"{OPENICL}.icl_inferencer.icl_multiturn_inferencer": None,
    f"{OPENICL}.icl_inferencer.icl_bfcl_v3_inferencer": None,
    f"{OPENICL}.icl_inferencer.ppl_inferencer": None,
}
BFCL_EVAL = "GORILLA_TO_OPENAPI convert_to_tool func_doc_language_specific_pre_processing make_json_serializable"
# Made once.
PARSERS = {}
EXCEPTIONS = (
    "AISBenchImplementationError AISBenchKeyError AISBenchModuleNotFoundError AISBenchNotImplementedError"
    " AISBenchRuntimeError AISBenchTypeError AISBenchValueError ParameterValueError"
)




class Output(Anything):
    """What a request came to."""

    def __init__(self, *args):
        self.inference_log, self.content, self.reasoning_content = [], "", ""


def classes(root):
    """The classes of the package. What bfcl_eval makes of functions stands in the rows."""
    own = types.SimpleNamespace()
    templates = Anything()
    templates.build = lambda config: template_of(own, config)
    stub(STUBBED)
    stub("tqdm", trange=lambda count, **keys: range(count))
    stub(f"{BASE}.registry", ICL_PROMPT_TEMPLATES=templates)
    stub(f"{BASE}.utils.core.types", check_type_list=lambda value, types: value)
    stub(f"{BASE}.utils.logging.exceptions", **{name: type(name, (Exception,), {}) for name in EXCEPTIONS.split()})
    stub(f"{BASE}.models.output", FunctionCallOutput=Output, RequestOutput=Output)
    for kind in ("api", "local"):
        name = f"Base{kind.capitalize()}Inferencer"
        stub(f"{OPENICL}.icl_inferencer.icl_base_{kind}_inferencer", **{name: type(name, (), {})})
    of_bfcl = dict.fromkeys(BFCL_EVAL.split(), lambda found, *args: found)
    stub(f"{BASE}.datasets.bfcl.bfcl_dependency", ModelStyle=Anything(), **of_bfcl)
    for name, package in REAL.items():
        made = vars(real_classes(root, {name: name.replace(".", "/") + ".py"}))
        vars(own).update(made)
        vars(sys.modules[package or name]).update(made)
    return own


class Table(list):
    """Rows, and their columns."""

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else super().__getitem__(key)


def template_of(own, config):
    arguments = copy.deepcopy({key: value for key, value in config.items() if key != "type"})
    return vars(own)[bare(config["type"])](**arguments)


def retriever_of(own, asked):
    config = dict_of(asked.infer, "retriever")
    test = Table([asked.row])
    reader = types.SimpleNamespace(
        output_column=asked.rows.output,
        dataset={"test": test},
        get_max_out_len=lambda: None,
        get_timestamp=lambda: None,
    )
    dataset = types.SimpleNamespace(abbr="d", reader=reader, train=asked.train, test=test)
    templates = {name: asked.infer.get(name) for name in ("ice_template", "prompt_template")}
    arguments = {key: value for key, value in config.items() if key != "type"}
    return vars(own)[bare(config["type"])](dataset, **templates, **arguments)


class Model:
    """Writes down what it is given, and says one answer after the other."""

    max_out_len = 1

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def get_token_len_from_template(self, prompt, mode):
        return 0

    def parse_template(self, prompt, mode):
        return Prompt(prompt, mode)

    async def generate(self, prompt, max_out_len, output, session, tools=None, **data):
        self.asked.append({"prompt": copy.deepcopy(prompt), "tools": tools})
        answer = self.answers[(len(self.asked) - 1) % len(self.answers)] if self.answers else None
        output.success, output.content = answer is not None, answer or ""


@dataclasses.dataclass
class Prompt:
    """A prompt before it is parsed, and what it is for."""

    prompt: object
    mode: str


class Done:
    """Whatever is reported or counted."""

    def __getattr__(self, name):
        async def done(*args, **kwargs):
            pass

        return done


def prompts(own, asked):
    """The prompts of the row, each with its label and its mode."""
    name = class_of(asked.infer, "inferencer")
    kind, config = vars(own)[name], dict_of(asked.infer, "inferencer")
    # A model that fails ends what is asked after the results of functions.
    model = Model([] if name.startswith("BFCL") else asked.answers)
    inferencer = object.__new__(kind)
    inferencer.__dict__.update(
        model=model,
        logger=Anything(),
        status_counter=Done(),
        output_handler=Done(),
        gen_field_replace_token=config.get("gen_field_replace_token", ""),
        labels=config.get("labels"),
        infer_mode=config.get("infer_mode", usual(kind, "infer_mode")),
        perf_mode=False,
        model_name="m",
        returns_tool_calls=True,
        impl=own.BFCLV3FunctionInferencer(),
    )
    data = inferencer.get_data_list(retriever_of(own, asked))[0]
    if name == "PPLInferencer":
        for label, one in data["qa"].items():
            yield {"label": label, "mode": one["prompt"].mode, "prompt": one["prompt"].prompt}
    elif name in ("MultiTurnGenInferencer", "BFCLV3FunctionCallInferencer"):
        if name.startswith("BFCL"):
            # What bfcl_eval makes of the functions.
            data["function"] = json.dumps(asked.row["tools"])
        asyncio.run(inferencer.do_request(data, None, None))
        for one in model.asked:
            parsed = one["prompt"]
            prompt = parsed.prompt if isinstance(parsed, Prompt) else parsed
            yield {"label": None, "mode": "gen", "prompt": prompt, "tools": one["tools"]}
    else:
        yield {"label": None, "mode": data["prompt"].mode, "prompt": data["prompt"].prompt}


def usual(kind, argument):
    """What an inferencer takes where nothing is said."""
    found = inspect.signature(kind.__init__).parameters.get(argument)
    return found.default if found else None


def parsers(own, infer, prompt):
    """What the package's parsers, its chat wrapper and the requests of its chat model give of a prompt."""
    if class_of(infer, "inferencer").startswith("BFCL"):
        # Sent as they are.
        return {"server": lambda prompt, mode: messages(own, prompt)}
    if not PARSERS:
        PARSERS.update(parsers_of(own))
    has_parts = any(isinstance(item, dict) and "prompt_mm" in item for item in prompt)
    # Its parser for language models loses the parts; metatok refuses them.
    return {name: parse for name, parse in PARSERS.items() if not (has_parts and name.startswith("lm"))}


def parsers_of(own):
    wrapper, server = own._get_meta_template(None), chat_model(own).template_parser
    made = {
        "chat": lambda prompt, mode: own._convert_chat_messages([wrapper.parse_template(prompt, mode)])[0],
        "server": lambda prompt, mode: messages(own, server.parse_template(prompt, mode)),
    }
    for name, meta in METAS.items():
        kind = own.APITemplateParser if name.startswith("api") else own.LMTemplateParser
        made[name] = kind(copy.deepcopy(meta)).parse_template
    return made


def chat_model(own):
    return own.VLLMCustomAPIChat(model="m", generation_kwargs={})


def messages(own, prompt):
    """The messages of a request."""
    body = asyncio.run(chat_model(own).get_request_body(prompt, 1, Output()))
    return body["messages"]


def judges(own, root):
    """None is asked: its judges have dicts of their own, `judge_infer_cfg`."""
    return None


def model_parser(own, model):
    """Whether a model's parser is of APIs, and what makes it. None of the package's models says a meta template."""
    kind = bare(model["type"])
    if kind in ("HuggingFacewithChatTemplate", "HuggingFaceQwen2VLwithChatTemplate", "VLLMOfflineVLModel"):
        return True, lambda: own._get_meta_template(None)
    if kind == "VLLMCustomAPIChat":
        return True, lambda: chat_model(own).template_parser
    # VITA takes parts of one user alone, and QwenImageEdit makes images.
    if kind in ("VITAGenerateAPI", "QwenImageEditModel"):
        return None
    return False, lambda: own.LMTemplateParser(None)
