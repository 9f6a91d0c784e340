"""What configurations name: their model dicts and dataset dicts, as builders and tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from metatok import ModelError, PromptBuilder
from metatok.errors import _warn
from metatok.opencompass._plain import plain

if TYPE_CHECKING:
    from metatok import Task

#: The classes that leave the template to the tokenizer.
_CHAT_WRAPPERS = {
    "HuggingFacewithChatTemplate",
    "HuggingFaceQwen2VLwithChatTemplate",
    "TurboMindModelwithChatTemplate",
    "VLLMOfflineVLModel",
    "VLLMwithChatTemplate",
}

#: The roles of the chat wrappers, each with that as which it speaks: those of a round, and the reserved ones.
_ROLES = {
    "opencompass-chat": ([("HUMAN", "HUMAN"), ("SYSTEM", "HUMAN"), ("BOT", "BOT")], []),
    "aisbench-chat": ([("HUMAN", "HUMAN"), ("BOT", "BOT")], [("SYSTEM", "SYSTEM")]),
}


def models(config: Any) -> list[dict[str, Any]]:
    """The model dicts of a configuration, each once, as `plain` gives them.

    They are those in the list ``models``, which OpenCompass runs, or without one those in all lists whose names end so.
    """
    return _dicts(config, "models")


def datasets(config: Any) -> list[dict[str, Any]]:
    """The dataset dicts of a configuration, each once: those in the list ``datasets``, or in all whose names end so."""
    return _dicts(config, "datasets")


def _dicts(config: Any, kind: str) -> list[dict[str, Any]]:
    variables = plain(config)
    lists = [variables[kind]] if kind in variables else [value for name, value in variables.items() if name.endswith(kind)]
    found: list[dict[str, Any]] = []
    for one in _leaves(lists):
        if one not in found:
            found.append(one)
    return found


def _leaves(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, dict):
        yield value


def prompt_builder(model: Mapping[str, Any], *, tokenizer: Any = None, **options: Any) -> PromptBuilder:
    """The builder of a model dict.

    A class with its own meta template writes that. One that leaves the template to the tokenizer, such as
    ``HuggingFacewithChatTemplate``, writes the tokenizer's chat template, or FastChat's if it has ``fastchat_template``, and
    prompts become messages as it makes them.

    Args:
        model: A dict of ``models``, with its class or the name of it.
        tokenizer: In place of the dict's ``tokenizer_path`` or ``path``: a folder, a repository, or a loaded one.
        options: As for :class:`metatok.PromptBuilder`.

    Raises:
        MetatokError: the dict is not a model, or nothing says where its tokenizer is.

    >>> model = {"type": "VLLM", "abbr": "mine", "meta_template": {"round": [
    ...     {"role": "HUMAN", "begin": "Q: ", "end": "\\n"}, {"role": "BOT", "begin": "A:", "generate": True}]}}
    >>> prompt_builder(model, tokenizer="demo").build("1+1=?").text
    '1+1=?'
    >>> prompt_builder(model, tokenizer="demo").build([{"role": "user", "content": "1+1=?"}]).text
    'Q: 1+1=?\\nA:'
    """
    model = plain(model)
    name = str(model.get("type") or "")
    if name.rsplit(".", 1)[-1] == "HuggingFaceBaseModel" and model.get("meta_template"):
        _warn("meta_template is not used, as by HuggingFaceBaseModel itself, which writes no template")
    if name.rsplit(".", 1)[-1] in _CHAT_WRAPPERS and not model.get("fastchat_template"):
        own = "aisbench-chat" if name.startswith("ais_bench") else "opencompass-chat"
        owner = _wrapper(model["meta_template"]) if model.get("meta_template") else own
        tokenizer = tokenizer or model.get("tokenizer_path") or model.get("path")
        stops = [*(model.get("stop_words") or []), *options.pop("stop_strings", ())]
        variables = model.get("chat_template_kwargs") or None
        given = {"chat_wrapper": owner, "stop_strings": stops, "template_kwargs": variables, **options}
        return PromptBuilder(tokenizer=tokenizer, **given)
    return PromptBuilder(meta_template=model, tokenizer=tokenizer, **options)


def _wrapper(template: Any) -> str:
    """The rules by which a chat wrapper makes messages, by its template of roles."""
    given = template if isinstance(template, dict) else {}
    lists = tuple([_speaks(role) for role in given.get(key) or []] for key in ("round", "reserved_roles"))
    for wrapper, roles in _ROLES.items():
        if lists == roles and not given.get("begin"):
            return wrapper
    what = "the tokenizer's chat template is used, and of roles only HUMAN, BOT and SYSTEM as themselves"
    raise _unsupported("meta_template", what, "leave it out, or put SYSTEM into reserved_roles, and no other")


def _speaks(role: Any) -> tuple[str, str] | None:
    """A role and for whom it speaks, if its template says nothing else of it."""
    said = {key: value for key, value in role.items() if value and key != "generate"} if isinstance(role, dict) else {}
    return (said["role"], said["api_role"]) if set(said) == {"role", "api_role"} else None


def _unsupported(key: str, what: str, way_out: str) -> ModelError:
    return ModelError(f"{key}: {what}; {way_out}", "unsupported", "model", {"key": key}, way_out)


def task(
    model: PromptBuilder | Mapping[str, Any],
    dataset: Mapping[str, Any],
    *,
    train: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
    **of_builder: Any,
) -> Task:
    """The prompts of a dataset dict for a model.

    Args:
        model: A builder, or a model dict, for which :func:`prompt_builder` makes one with the other arguments.
        dataset: A dict of ``datasets``: its ``reader_cfg`` and ``infer_cfg`` decide.
        train: The rows for examples, or a file of them.
        of_builder: As for :func:`prompt_builder`.

    Raises:
        DatasetError: what about the dataset is not supported, and why.
    """
    builder = model if isinstance(model, PromptBuilder) else prompt_builder(model, **of_builder)
    return builder.task(plain(dataset), train=train)
