"""OpenCompass's own package: its configurations through mmengine's loader, and the prompts of its own code.

What rows hold and how its classes are asked is that of `tests/packages`, where Rust compares the same.
"""

from __future__ import annotations

import copy
import importlib
import os
import pathlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "models" / "demo"
PACKAGES = REPOSITORY / "tests" / "packages"
#: Of so many files of datasets one is taken.
EVERY = int(os.environ.get("METATOK_PACKAGES_EVERY", "10"))


class Package:
    """The package, its classes, and the tokenizer that both sides use."""

    def __init__(self) -> None:
        from transformers import AutoTokenizer

        own = importlib.import_module
        wrapper = own("opencompass.models.huggingface_above_v4_33")
        inferencers = "opencompass.openicl.icl_inferencer"
        self.own = types.SimpleNamespace(
            **vars(own("opencompass.utils.prompt")),
            **{name: value for name, value in vars(own("opencompass.models.base")).items() if "Parser" in name},
            APITemplateParser=own("opencompass.models.base_api").APITemplateParser,
            PromptTemplate=own("opencompass.openicl.icl_prompt_template").PromptTemplate,
            RawPromptTemplate=own("opencompass.openicl.icl_raw_prompt_template").RawPromptTemplate,
            BaseRetriever=own("opencompass.openicl.icl_retriever").BaseRetriever,
            _get_meta_template=wrapper._get_meta_template,
            _convert_chat_messages=wrapper._convert_chat_messages,
            _format_with_fast_chat_template=wrapper._format_with_fast_chat_template,
            chat=own(f"{inferencers}.icl_chat_inferencer"),
            gen=own(f"{inferencers}.icl_gen_inferencer"),
        )
        sys.path.append(str(PACKAGES))
        self.rows, self.templates = own("rows"), own("templates")
        self.asking = own("of_opencompass")
        self.tokenizer = AutoTokenizer.from_pretrained(str(DEMO))
        self.configs = pathlib.Path(own("opencompass").__path__[0]) / "configs"

    def load(self, kind: str, every: int = 1) -> Iterator[tuple[str, Any]]:
        """The files of a kind, each with what mmengine loads, or why it cannot."""
        from mmengine.config import Config

        for file in sorted((self.configs / kind).rglob("*.py"))[::every]:
            name = str(file.relative_to(self.configs))
            try:
                yield name, Config.fromfile(str(file), format_python_code=False)
            except Exception as error:
                yield name, error

    def chat_ids(self, prompt: Any, mode: str, meta: Any = None, fastchat_template: str | None = None) -> list[int]:
        """The ids of its chat wrappers: a parser, messages, and the tokenizer's chat template or one of FastChat's."""
        parsed = self.own._get_meta_template(meta).parse_template(prompt, mode)
        messages = self.own._convert_chat_messages([parsed])[0]
        if fastchat_template:
            [text] = self.own._format_with_fast_chat_template([messages], fastchat_template)
            return list(self.tokenizer.encode(text))
        text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def text(self, prompt: Any, mode: str, meta: Any) -> str:
        """The text of its models that have a meta template, or none."""
        return str(self.own.LMTemplateParser(copy.deepcopy(meta)).parse_template(copy.deepcopy(prompt), mode))

    def conversations(self) -> list[Any]:
        given = self.templates.CONVERSATIONS
        return [one if isinstance(one, str) else self.own.PromptList(copy.deepcopy(one)) for one in given]


def outcome(make: Callable[[], Any]) -> Any:
    """What is made, or the error."""
    try:
        return make()
    except Exception as error:
        return error
