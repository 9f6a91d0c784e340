"""A tokenizer by itself, and those of other libraries."""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from metatok import _metatok
from metatok.errors import InputError, ModelError, UsageError, _warn

__all__ = ["Tokenizer"]

_SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class Tokenizer:
    """Text as ids, and ids as text, without any template.

    Args:
        source: A folder, a file (``tokenizer.json``, ``tokenizer.model``, ``tekken.json``, tiktoken's or GGUF), a repository of
            the Hugging Face Hub (``org/name``), a built-in model's name, or a loaded tokenizer of ``transformers``,
            ``tokenizers`` or ``mistral_common`` (a tekken).

    Raises:
        MetatokError: if there is none, or its files are wrong.

    >>> tokenizer = Tokenizer("demo")
    >>> ids = tokenizer.encode("Which planet is red?")
    >>> ids.dtype, tokenizer.decode(ids)
    (dtype('uint32'), 'Which planet is red?')
    """

    __slots__ = ("_core",)
    _core: _metatok.Tokenizer

    def __init__(self, source: Any) -> None:
        self._core = source if isinstance(source, _metatok.Tokenizer) else _loaded(source)

    @property
    def name(self) -> str:
        """Where it comes from."""
        return self._core.name

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""
        return self._core.vocab_size

    @property
    def bos_token_id(self) -> int | None:
        """The id that begins texts, if the files name one."""
        return self._core.special_token_ids[0]

    @property
    def eos_token_id(self) -> int | None:
        """The id that ends texts, if the files name one."""
        return self._core.special_token_ids[1]

    @property
    def pad_token_id(self) -> int | None:
        """The id of padding, if the files name one."""
        return self._core.special_token_ids[2]

    def encode(self, text: str) -> npt.NDArray[np.uint32]:
        """The ids of a text, of shape (tokens,). Nothing is added around it. Words are remembered for the next call."""
        return self._core.encode(text)

    def decode(self, ids: Iterable[SupportsIndex] | npt.NDArray[Any], skip_special_tokens: bool = False) -> str:
        """The text of ids.

        Raises:
            MetatokError: names an id that there is not.
        """
        return self._core.decode(_as_ids(ids), skip_special_tokens)

    def token(self, id: int) -> str | None:
        """The token with this id, as the vocabulary spells it; None if there is none.

        Raises:
            MetatokError: for a number that is not an id.
        """
        return self._core.id_to_token(*_as_ids((id,)))

    def token_id(self, token: str) -> int | None:
        """The id of an added token's text, or of an entry of the vocabulary."""
        return self._core.token_to_id(token)

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        return f"Tokenizer({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, (self._core,)


def _listed(ids: Iterable[SupportsIndex]) -> list[int]:
    as_list = getattr(ids, "tolist", None)
    return [operator.index(id) for id in (as_list() if as_list else ids)]


def _as_ids(ids: Iterable[SupportsIndex]) -> list[int]:
    """Ids of arrays, tensors and lists."""
    listed = _listed(ids)
    if listed and not 0 <= min(listed) <= max(listed) < 1 << 32:
        wrong = next(id for id in listed if not 0 <= id < 1 << 32)
        raise InputError(f"{wrong} is not a token id: they go from 0 to {(1 << 32) - 1}", kind="outside-vocabulary", fault="input")
    return listed


def _answer_ids(ids: Iterable[SupportsIndex]) -> list[int]:
    """The ids of an answer, without the negative ones at its end, with which transformers pads labels."""
    listed = _listed(ids)
    end = len(listed)
    while end and listed[end - 1] < 0:
        end -= 1
    return _as_ids(listed[:end])


def _loaded(source: Any) -> _metatok.Tokenizer:
    """The tokenizer with this name, or of this object of another library."""
    if isinstance(source, Tokenizer):
        return source._core
    if isinstance(source, (str, os.PathLike)):
        return _metatok.Tokenizer.load(os.fspath(source))
    return of_object(source)


def of_object(source: Any) -> _metatok.Tokenizer:
    """The tokenizer of an object of ``transformers`` or ``tokenizers``, as it is now."""
    fast = getattr(source, "backend_tokenizer", source)
    if not hasattr(fast, "to_str"):
        if (tekken := _tekken_file(source)) is not None:
            return _metatok.Tokenizer.load(os.fspath(tekken))
        name = type(source).__name__
        raise UsageError(
            f"an object of type {name} is not a tokenizer that metatok knows; give a fast one of transformers, one of tokenizers, a tekken of mistral_common, or a name",
            kind="unsupported-tokenizer",
        )
    name = getattr(source, "name_or_path", None) or type(source).__name__
    config: dict[str, Any] = {name: str(token) for name in _SPECIAL if (token := getattr(source, name, None)) is not None}
    commit = (getattr(source, "init_kwargs", None) or {}).get("_commit_hash")
    generation = _generation_config(getattr(source, "name_or_path", None) or "", commit)
    # A model's own, such as image_token.
    named = getattr(source, "special_tokens_map", None) or {}
    config["extra_special_tokens"] = {name: str(token) for name, token in named.items() if not isinstance(token, list)}
    return _metatok.Tokenizer.of_files(str(name), fast.to_str().encode(), json.dumps(config).encode(), None, generation, None)


def _tekken_file(source: Any) -> Any:
    """The file of a ``Tekkenizer`` of ``mistral_common``, also within its or transformers' other objects; else ``None``."""
    inner = source
    for name in ("tokenizer", "instruct_tokenizer", "tokenizer"):
        inner = getattr(inner, name, inner)
    if type(inner).__name__ != "Tekkenizer":
        return None
    try:
        return inner.file_path
    except ValueError:  # It was not read from a file.
        return None


def _generation_config(name: str, commit: str | None) -> bytes | None:
    """What is beside a tokenizer that was loaded from a folder, or by the name of a repository."""
    file = "generation_config.json"
    if not name or (path := os.path.join(name, file) if os.path.isdir(name) else _cached(name, file, commit)) is None:
        return None
    try:
        with open(path, "rb") as found:
            return found.read()
    except OSError:
        return None


def _cached(name: str, file: str, commit: str | None) -> str | None:
    """A repository's file in the Hub's cache, with a warning if it is unknown whether there is one."""
    # It is loaded if the tokenizer came by this name.
    if (hub := sys.modules.get("huggingface_hub")) is None:
        return None
    try:
        path, config = (hub.try_to_load_from_cache(name, one, revision=commit) for one in (file, "tokenizer_config.json"))
    except ValueError:  # It is not the name of a repository.
        return None
    if path is None and isinstance(config, str):
        what = f"the stop ids of {name} are those of its tokenizer alone: its {file} is not in the Hub's cache"
        _warn(f"{what}; load the model first, or use PromptBuilder(tokenizer={name!r})")
    return path if isinstance(path, str) else None


def chat_template_of(source: Any) -> tuple[str, str | None]:
    """The chat template of an object of ``transformers``, and that for conversations with tools.

    Raises:
        ModelError: if it has none.
    """
    template = getattr(source, "chat_template", None)
    if isinstance(template, dict):
        default, tool_use = template.get("default"), template.get("tool_use")
    else:
        default, tool_use = template, None
    if not default and template:
        what = f"this tokenizer has the chat templates {', '.join(template)}, and none named default"
        raise ModelError(f"{what}; choose one with chat_template", kind="usage", fault="model")
    if not default:
        what = "this tokenizer has no chat template, so it is unknown how its model wants messages"
        raise ModelError(f"{what}; name a model, or give chat_template", kind="usage", fault="model")
    return default, tool_use


def named_chat_template(source: Any, name: str) -> str:
    """The chat template with this name of an object of ``transformers``; the name itself if it may be a file or Jinja.

    Raises:
        UsageError: names the templates that there are.
    """
    templates = getattr(source, "chat_template", None)
    if not isinstance(templates, dict) or "{" in name or "\n" in name or os.path.isfile(name):
        return name
    if name not in templates:
        what = f"there is no file {name!r}, and the tokenizer has no chat template of that name"
        raise UsageError(f"{what}; it has {', '.join(templates)}", kind="not-found")
    return str(templates[name])
