"""Models for OpenCompass's tasks and its own classes of the same names: the ids that a model is given, and its parameters."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import warnings
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("mmengine", reason="mmengine is not installed (pip install mmengine-lite)")
pytest.importorskip("opencompass.models.base", reason="opencompass is not installed, or not all that it needs", exc_type=ImportError)
torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import numpy as np

import metatok
from answers import DEMO
from metatok import opencompass

META = {
    "round": [
        {"role": "HUMAN", "begin": "<|im_start|>user\n", "end": "<|im_end|>\n"},
        {"role": "BOT", "begin": "<|im_start|>assistant\n", "end": "<|im_end|>\n", "generate": True},
    ]
}
SHORT, LONG = "Which planet is red?", "What is the capital of France? " * 8
FILES = {
    "HuggingFace": "huggingface",
    "HuggingFaceBaseModel": "huggingface_above_v4_33",
    "HuggingFacewithChatTemplate": "huggingface_above_v4_33",
    "VLLM": "vllm",
    "VLLMwithChatTemplate": "vllm_with_tf_above_v4_33",
}
LEFT, RIGHT = {"truncation_side": "left"}, {"truncation_side": "right"}


def classes(kind: str) -> tuple[Any, Any]:
    """OpenCompass's class, and metatok's."""
    return getattr(importlib.import_module(f"opencompass.models.{FILES[kind]}"), kind), getattr(opencompass, kind)


def asked(texts: Sequence[str]) -> list[Any]:
    from opencompass.utils.prompt import PromptList

    begin, end = ({"section": "round", "pos": pos} for pos in ("begin", "end"))
    return [PromptList([begin, {"role": "HUMAN", "prompt": text}, {"role": "BOT", "prompt": ""}, end]) for text in texts]


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The demo with a tokenizer that adds a token at the beginning."""
    folder = tmp_path_factory.mktemp("beginning")
    model = transformers.AutoModelForCausalLM.from_pretrained(str(DEMO))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(DEMO))
    from tokenizers.processors import TemplateProcessing

    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|endoftext|> $A", pair=None, special_tokens=[("<|endoftext|>", 1050)]
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def both(kind: str, monkeypatch: pytest.MonkeyPatch, path: str = str(DEMO), **given: Any) -> list[tuple[Any, list[list[int]]]]:
    """OpenCompass's model and metatok's, each with a list of the ids that its weights will have been given."""
    # transformers 5 has no such method.
    monkeypatch.setattr(
        transformers.PreTrainedTokenizerBase, "batch_encode_plus", lambda self, texts, **more: self(texts, **more), raising=False
    )
    made = []
    for of in classes(kind):
        dtype = "torch.float" if kind == "HuggingFace" else "float32"
        kwargs = {"torch_dtype": dtype, "device_map": "cpu"} if not of.__module__.startswith("metatok") else {"dtype": "float32"}
        model = of(path=path, model_kwargs=kwargs, **given)
        made.append((model, spied(model.model, monkeypatch)))
    return made


def spied(weights: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    given: list[list[int]] = []
    generate, forward = weights.generate, weights.forward

    def of_mask(ids: Any, mask: Any) -> None:
        mask = torch.ones_like(ids) if mask is None else mask
        given.extend(row[kept == 1].tolist() for row, kept in zip(ids, mask))

    def generating(**kwargs: Any) -> Any:
        of_mask(kwargs["input_ids"], kwargs.get("attention_mask"))
        monkeypatch.setattr(weights, "forward", forward)
        found = generate(**{**kwargs, "max_new_tokens": 1, "min_new_tokens": None})
        monkeypatch.setattr(weights, "forward", scoring)
        return found

    def scoring(input_ids: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:
        of_mask(input_ids, attention_mask)
        return forward(input_ids=input_ids, attention_mask=attention_mask, **kwargs)

    monkeypatch.setattr(weights, "generate", generating)
    monkeypatch.setattr(weights, "forward", scoring)
    return given


CUT = [
    ("HuggingFace", {"meta_template": META}, 8),
    ("HuggingFace", {"meta_template": META, "max_seq_len": 24}, 8),
    ("HuggingFace", {"meta_template": META, "max_seq_len": 24, "batch_padding": True}, 8),
    ("HuggingFace", {"meta_template": META, "max_seq_len": 24, "batch_padding": True, "tokenizer_kwargs": {**LEFT, "padding_side": "left"}}, 8),
    ("HuggingFace", {"max_seq_len": 24, "tokenizer_kwargs": LEFT}, 8),
    ("HuggingFace", {"max_seq_len": 24, "tokenizer_kwargs": RIGHT}, 7),
    ("HuggingFace", {"max_seq_len": 24, "mode": "mid"}, 8),
    ("HuggingFace", {"max_seq_len": 24, "mode": "mid", "batch_padding": True}, 8),
    ("HuggingFaceBaseModel", {}, 8),
    ("HuggingFaceBaseModel", {"max_seq_len": 24}, 8),
    ("HuggingFaceBaseModel", {"max_seq_len": 24, "tokenizer_kwargs": RIGHT}, 8),
    ("HuggingFacewithChatTemplate", {}, 8),
    ("HuggingFacewithChatTemplate", {"max_seq_len": 24}, 8),
    ("HuggingFacewithChatTemplate", {"max_seq_len": 24, "tokenizer_kwargs": RIGHT}, 8),
    ("HuggingFacewithChatTemplate", {"max_seq_len": 24, "mode": "mid"}, 7),
    ("HuggingFacewithChatTemplate", {"max_seq_len": 24, "mode": "mid"}, 23),
]


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize(("kind", "given", "limit"), CUT)
def test_prompts_are_cut_as_by_opencompass(
    kind: str, given: dict[str, Any], limit: int, adds: bool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if adds and given.get("mode") == "mid" and kind == "HuggingFace":
        pytest.skip("OpenCompass encodes the two halves again, and loses what the tokenizer adds")
    path = request.getfixturevalue("beginning") if adds else str(DEMO)
    there, here = both(kind, monkeypatch, path, **given)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for model, _ in (there, here):
            model.generate_from_template(asked([LONG, LONG[:-4]]), max_out_len=limit)
            model.generate_from_template(asked([SHORT]), max_out_len=limit)
    assert here[1] == there[1] and len(here[1]) == 3
    said = [str(one.message) for one in told if one.category is metatok.MetatokWarning and "cut" in str(one.message)]
    is_cut = len(here[1][0]) < 30
    assert is_cut == ("max_seq_len" in given) and len(said) == is_cut
    assert not is_cut or f"is cut to {len(here[1][0])}, as by OpenCompass's {kind} with a max_seq_len of 24" in said[0]


def test_the_middle_is_dropped_as_by_opencompass(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (8, 9):
        there, here = both("HuggingFaceBaseModel", monkeypatch, max_seq_len=most, drop_middle=True)
        for model, _ in (there, here):
            model.generate_from_template([LONG], max_out_len=4)
            model.get_ppl_from_template([LONG])
        assert here[1] == there[1] and [len(ids) for ids in here[1]] == [most, most]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("HuggingFace", {"meta_template": META}),
        ("HuggingFace", {"meta_template": META, "max_seq_len": 24}),
        ("HuggingFace", {"meta_template": META, "max_seq_len": 24, "tokenizer_kwargs": LEFT}),
        ("HuggingFaceBaseModel", {}),
        ("HuggingFaceBaseModel", {"max_seq_len": 24}),
    ],
)
@pytest.mark.parametrize("text", [SHORT, LONG])
def test_texts_are_scored_as_by_opencompass(kind: str, given: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there, here = both(kind, monkeypatch, **given)
    templates = asked([text, text + " Mars"])
    likely = {"HuggingFace": " Mars", "HuggingFaceBaseModel": "Mars"}[kind]
    found = []
    for model, _ in (there, here):
        texts = model.parse_template(templates, "ppl")
        found.append(
            [
                # With several, OpenCompass's classes count padding, or take the first length for all.
                *[model.get_ppl_from_template([one]) for one in templates],
                *[model.get_ppl_from_template([one], mask_length=[3]) for one in templates],
                *[model.get_loglikelihood([one], [likely]) for one in texts],
            ]
        )
    for one, other in zip(*found):
        np.testing.assert_allclose(other, one, rtol=1e-4)
    assert here[1] == there[1]


def test_a_least_length_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in FILES:
        assert "min_out_len" in inspect.signature(classes(kind)[1].generate).parameters
    model = opencompass.HuggingFace(str(DEMO), meta_template=META)
    passed: list[Any] = []
    generate = model.model.generate

    def spy(**more: Any) -> Any:
        passed.append(more.get("min_new_tokens"))
        return generate(**more)

    monkeypatch.setattr(model.model, "generate", spy)
    for least in (None, 5):
        model.generate_from_template(asked([SHORT]), max_out_len=8, min_out_len=least)
    assert passed == [None, 5]


def arguments_of(weights: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments that ``generate`` will have been given."""
    passed: dict[str, Any] = {}
    generate = weights.generate

    def spy(**more: Any) -> Any:
        passed.update(more)
        return generate(**more)

    monkeypatch.setattr(weights, "generate", spy)
    return passed


@pytest.mark.parametrize("kind", [kind for kind in FILES if not kind.startswith("VLLM")])
@pytest.mark.parametrize(
    ("own", "asked_with"),
    [
        ({"do_sample": False, "temperature": 0.1}, {"do_sample": True, "temperature": 0.7, "top_k": 40}),
        ({"max_new_tokens": 3, "pad_token_id": 5}, {}),
        ({"eos_token_id": [7], "min_new_tokens": 1}, {"min_out_len": 4}),
        ({"num_return_sequences": 2, "do_sample": True}, {}),
        ({}, {"num_beams": 2}),
    ],
)
def test_arguments_of_generate_are_those_of_opencompass(
    kind: str, own: dict[str, Any], asked_with: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    given: dict[str, Any] = {"generation_kwargs": dict(own), **({"meta_template": META} if kind == "HuggingFace" else {})}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for model, _ in both(kind, monkeypatch, **given):
            passed = arguments_of(model.model, monkeypatch)
            answers = model.generate_from_template(asked([SHORT]), max_out_len=8, **asked_with)
            names = ["do_sample", "temperature", "top_k", "max_new_tokens", "min_new_tokens", "num_return_sequences", "num_beams"]
            # What OpenCompass leaves to transformers is greedy; its HuggingFace lets the model pad.
            names += [name for name in ("eos_token_id", "pad_token_id") if name in own or name == "pad_token_id" and kind != "HuggingFace"]
            found.append(({name: passed.get(name) for name in names} | {"do_sample": passed.get("do_sample", False)}, len(answers)))
    assert found[0] == found[1]
    said = " ".join(str(one.message) for one in told if one.category is metatok.MetatokWarning)
    assert ("max_new_tokens is not used, as by OpenCompass's: 3; max_out_len counts" in said) == ("max_new_tokens" in own)


def test_the_models_own_configuration_of_answers_counts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = transformers.AutoModelForCausalLM.from_pretrained(str(DEMO))
    weights.generation_config.repetition_penalty = 50.0
    weights.save_pretrained(tmp_path)
    transformers.AutoTokenizer.from_pretrained(str(DEMO)).save_pretrained(tmp_path)
    monkeypatch.setattr(
        transformers.PreTrainedTokenizerBase, "batch_encode_plus", lambda self, texts, **more: self(texts, **more), raising=False
    )
    said = []
    for of in classes("HuggingFace"):
        kwargs = {"dtype": "float32"} if of.__module__.startswith("metatok") else {"torch_dtype": "torch.float"}
        model = of(path=str(tmp_path), model_kwargs=kwargs, meta_template=META)
        said.append(model.generate_from_template(asked([SHORT]), max_out_len=8, stopping_criteria=["<|im_end|>"]))
    plain = opencompass.HuggingFace(str(DEMO), meta_template=META).generate_from_template(asked([SHORT]), max_out_len=8)
    assert said[0] == said[1] != plain


class Answer:
    def __init__(self, ids: list[int]) -> None:
        self.token_ids = ids


class Output:
    def __init__(self, ids: list[int]) -> None:
        self.outputs, self.prompt_token_ids = [Answer([1052])], ids
        self.prompt_logprobs = [None, *[{token: type("Logprob", (), {"logprob": -float(token)})} for token in ids[1:]]]


def on_vllm(kind: str, monkeypatch: pytest.MonkeyPatch, **given: Any) -> tuple[Any, list[Any]]:
    """A model without vLLM, and what vLLM would be given."""
    model, seen = classes(kind)[1](path=str(DEMO), tokenizer_only=True, **given), []

    def run(rows: list[list[int]], params: dict[str, Any]) -> list[Output]:
        seen.extend([rows, params])
        return [Output(ids) for ids in rows]

    monkeypatch.setattr(model, "_run", run)
    return model, seen


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("VLLM", {"meta_template": META, "max_seq_len": 24}, None),
        ("VLLM", {"meta_template": META, "max_seq_len": 24, "mode": "mid"}, 8),
        ("VLLM", {"meta_template": META, "mode": "mid"}, None),
        ("VLLMwithChatTemplate", {"max_seq_len": 24}, None),
    ],
)
def test_vllm_is_given_what_opencompass_gives(kind: str, given: dict[str, Any], kept: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = on_vllm(kind, monkeypatch, **given)
    model.generate_from_template(asked([LONG]), max_out_len=7, min_out_len=3)
    whole = model.builder("gen").build(asked([LONG])[0]).tolist()
    assert seen[0] == [whole if kept is None else whole[:kept] + whole[-kept:]]
    assert seen[1]["min_tokens"] == 3


def theirs_on_vllm(kind: str, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """OpenCompass's model without vLLM, and the arguments of the sampling that vLLM would be given."""
    module, given = importlib.import_module(f"opencompass.models.{FILES[kind]}"), {}

    def sampling(**params: Any) -> Any:
        given.update(params)

    monkeypatch.setattr(module, "SamplingParams", sampling)
    model = object.__new__(classes(kind)[0])
    model.tokenizer = transformers.AutoTokenizer.from_pretrained(str(DEMO))
    model.model = type("Engine", (), {"generate": lambda self, prompts, sampling: []})()
    attributes: dict[str, Any] = {"generation_kwargs": own, "stop_words": [], "lora_path": None, "mode": "none"}
    for name, value in {**attributes, "fastchat_template": None}.items():
        setattr(model, name, value)
    model.chat_template_kwargs, model.logger = {}, type("Logger", (), {"info": lambda self, said: None})()
    return model, given


@pytest.mark.parametrize("kind", ["VLLM", "VLLMwithChatTemplate"])
@pytest.mark.parametrize(
    ("own", "asked_with"),
    [
        ({}, {}),
        ({"temperature": 0.0}, {"temperature": 0.7, "top_k": 40}),
        ({"temperature": 0.5}, {}),
        ({"max_tokens": 3, "stop": ["x"]}, {}),
    ],
)
def test_arguments_of_sampling_are_those_of_opencompass(
    kind: str, own: dict[str, Any], asked_with: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    there, given = theirs_on_vllm(kind, monkeypatch, dict(own))
    there.generate([SHORT], 8, **asked_with)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        here, seen = on_vllm(kind, monkeypatch, generation_kwargs=dict(own))
    here.generate([SHORT], 8, **asked_with)
    # Neither says what vLLM does by itself.
    usual = {"temperature": 1.0, "top_k": -1}
    for name in ("temperature", "top_k", "max_tokens", "stop"):
        assert seen[1][name] == given.get(name, usual.get(name)), name
    assert len(told) == (2 if kind == "VLLM" and "stop" in own else 0)


def test_vllm_scores_a_part_as_opencompass_does(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = on_vllm("VLLM", monkeypatch, meta_template=META)
    [prompt] = model.parse_template(asked([SHORT + " Mars"]), "ppl")
    ids = prompt.prompt.tolist()
    found = model.get_loglikelihood([prompt], [" Mars"])
    # The last tokens, which are the template's.
    assert found.tolist() == [-float(ids[-1]) / (len(ids) - 1)]


@pytest.mark.parametrize("kind", FILES)
def test_all_parameters_of_opencompass_are_known(kind: str) -> None:
    there, here = classes(kind)
    own = set(inspect.signature(there.__init__).parameters) - {"self", "other_kwargs"}
    known = {*inspect.signature(here.__init__).parameters, *here._parameters}
    assert own <= known


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("HuggingFace", {"tokenizer_kwargs": {"padding_side": "left", "truncation_side": "left", "trust_remote_code": True}}, None),
        ("HuggingFace", {"batch_padding": False, "hf_cache_dir": "cache", "end_str": "</s>", "pad_token_id": -1}, None),
        ("HuggingFace", {"use_fastchat_template": False, "extract_pred_after_decode": False, "peft_path": None}, None),
        ("HuggingFacewithChatTemplate", {"fastchat_template": "vicuna", "mode": "mid", "pad_token_id": 0}, None),
        ("VLLM", {"mode": "mid", "use_fastchat_template": True, "lora_path": "adapter"}, None),
        ("HuggingFace", {"tokenizer_kwargs": {"add_bos_token": False}}, "tokenizer_kwargs: add_bos_token is False, which may change"),
        ("HuggingFace", {"tokenizer_kwargs": {"truncation_side": "top"}}, "truncation_side is 'top', but must be 'left' or 'right'"),
        ("HuggingFace", {"use_fastchat_template": True}, "use_fastchat_template is True, which is not done here"),
        ("HuggingFace", {"extract_pred_after_decode": True}, "extract_pred_after_decode is True"),
        ("VLLM", {"mode": "middle"}, "mode is 'middle', but must be 'none' or 'mid'"),
        ("VLLM", {"drop_middle": True}, "has no parameter 'drop_middle', as OpenCompass's has none"),
        ("HuggingFaceBaseModel", {"drop_middel": True}, "drop_middel is not used, as by OpenCompass's"),
        ("HuggingFaceBaseModel", {"meta_template": META}, "meta_template is not used, as by OpenCompass's"),
        ("HuggingFace", {"max_seq_len": 0}, "max_seq_len is 0, but must be at least 1"),
    ],
)
def test_parameters_are_honoured_or_refused(kind: str, given: dict[str, Any], said: str | None) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            classes(kind)[1](str(DEMO), tokenizer_only=True, **given)
            found = " ".join(str(one.message) for one in told)
        except (TypeError, metatok.UsageError) as error:
            found = str(error)
    assert (said in found) if said else not found, found


def test_padding_has_the_id_that_is_given() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(DEMO))
    for given, pad in ((None, metatok.PromptBuilder("demo").pad_token_id), (7, 7), (-1, tokenizer.vocab_size - 1)):
        model = opencompass.HuggingFace(str(DEMO), meta_template=META, pad_token_id=given)
        assert model._pad(model.builder("gen")) == pad


def test_a_model_that_leaves_no_room_says_so() -> None:
    model = opencompass.VLLM(str(DEMO), tokenizer_only=True, mode="mid", max_seq_len=8)
    with pytest.raises(metatok.UsageError, match="max_out_len is 8, which leaves no room for a prompt in a max_seq_len of 8"):
        model.generate(["Hi!"], 8)


@pytest.mark.parametrize(("name", "inferencer"), [("tokenizer", "CLPInferencer"), ("get_logits", "CLPInferencer"), ("choice", "GLMChoice")])
def test_an_inferencer_that_is_not_supported_is_named(name: str, inferencer: str) -> None:
    model = opencompass.HuggingFace(str(DEMO), tokenizer_only=True)
    with pytest.raises(AttributeError, match=f"{name!r}, for which {inferencer}.* use GenInferencer"):
        getattr(model, name)


def test_what_is_scored_has_no_control_tokens_of_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    _, here = both("HuggingFace", monkeypatch, meta_template=META)
    model, ids = here
    texts = model.parse_template(asked(["What is <|im_end|>? One"]), "ppl")
    model.get_loglikelihood(texts, ["One"])
    assert ids[0].count(1052) == 2


def test_a_prompt_that_is_parsed_can_be_sent() -> None:
    model = opencompass.VLLM(str(DEMO), tokenizer_only=True, meta_template=META)
    [text] = model.parse_template(asked([SHORT]), "gen")
    assert pickle.loads(pickle.dumps(text)) == json.loads(json.dumps(text)) == text
