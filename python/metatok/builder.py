"""Prompts of one model: load once, build per conversation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from metatok import _json, _metatok
from metatok._several import several
from metatok.answers import Completion, Stream
from metatok.batch import Batch
from metatok.building import Building
from metatok.checks import Diff, Finding
from metatok.dialogue import Dialogue
from metatok.errors import InputError, UsageError, _warn
from metatok.task import Task
from metatok.tokenizer import Tokenizer, _answer_ids, _as_ids, _loaded, chat_template_of, named_chat_template
from metatok.view import View

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from metatok._keywords import Limits, Options, OptionsOfTokenizer, TaskOptions
    from metatok.engines import VllmInputs

__all__ = ["PromptBuilder"]


class PromptBuilder(Building):
    """Turns conversations into token ids, for one model.

    A conversation is a list of messages (dicts with ``role`` and ``content``), a string, a prompt list of OpenCompass,
    or a dict with ``messages`` and perhaps ``tools``, ``documents``, ``chat_template_kwargs``. Messages may also be
    objects of pydantic or dataclasses, and lists may be arrays or columns of other libraries.

    Args:
        model: A built-in model (``metatok models`` lists them), a repository that belongs to one, the path of a model
            file, or a dict with the keys of one, or of a model in OpenCompass's configurations (with names of classes).
        tokenizer: A name as for :class:`Tokenizer`, or a loaded tokenizer of ``transformers`` or ``tokenizers``. By
            default the model's own. Without a model, its chat template is used.
        meta_template: A dict as in OpenCompass's ``meta_template``, of strings and ids; or a model dict that has one.
        chat_template: Jinja, the path of a file of it, or the name of one of the tokenizer's chat templates. It replaces
            the model's own template.
        conversation_template: The name of one of FastChat's templates, or the path of a file. It replaces the model's
            own template.
        template_kwargs: Variables of the chat template, such as ``{"enable_thinking": False}``.
        options: ``mode`` (``"gen"`` or ``"ppl"``), ``special_tokens`` (``"auto"``, ``"always"``, ``"never"``),
            ``content`` (``"data"`` or ``"trusted"``), ``reserve``, ``unreserve``, ``stop_token_ids``, ``stop_strings``,
            ``round_fallback``, ``each_message``, ``chat_wrapper``, ``continue_final_message``, ``open_answer``,
            ``compat``, ``allow_empty_prompts``, ``always_render``, ``spans``, ``offsets``, ``text``.

    Raises:
        MetatokError: says what of the model does not fit the tokenizer, and where it is written.
        UsageError: for two templates, and for an option that there is not.

    >>> builder = PromptBuilder("demo")
    >>> prompt = builder.build([{"role": "user", "content": "Which planet is red?"}])
    >>> prompt.input_ids[:5]
    array([1051,  375,  263,  198,  338], dtype=uint32)
    """

    __slots__ = ()

    def __init__(
        self,
        model: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        tokenizer: Any = None,
        meta_template: Mapping[str, Any] | None = None,
        chat_template: str | os.PathLike[str] | None = None,
        conversation_template: str | os.PathLike[str] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> None:
        if model is not None and meta_template is not None:
            raise _two_templates("model", "meta_template")
        what = "meta_template"
        if isinstance(model, Mapping):
            if isinstance(model.get("type"), type):
                raise TypeError("model: its type is a class, as OpenCompass loads it; metatok.opencompass.prompt_builder reads it")
            what, model, meta_template = "model", None, model
        elif meta_template is not None and (chat_template or conversation_template):
            raise _two_templates("meta_template", "chat_template" if chat_template else "conversation_template")
        if chat_template is not None and conversation_template is not None:
            raise _two_templates("chat_template", "conversation_template")
        loaded: str | _metatok.Tokenizer | None
        if tokenizer is None or isinstance(tokenizer, (str, os.PathLike)):
            loaded = None if tokenizer is None else os.fspath(tokenizer)
        else:
            loaded = _loaded(tokenizer)
        is_object = isinstance(loaded, _metatok.Tokenizer) and not isinstance(tokenizer, Tokenizer)
        template: tuple[str, str | None, bool] | None = None
        if chat_template is not None:
            name = os.fspath(chat_template)
            template = (named_chat_template(tokenizer, name) if is_object else name), None, False
        is_named = model is not None or meta_template is not None or template is not None or conversation_template
        if not is_named and is_object:
            template = *chat_template_of(tokenizer), True
        self._core = _metatok.Builder.open(
            None if model is None else os.fspath(model),
            None if meta_template is None else _json.text(meta_template, what),
            loaded,
            template,
            None if conversation_template is None else os.fspath(conversation_template),
            template_kwargs,
            options,
        )
        for what in self.warnings:
            _warn(what)

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        chat_template: str | os.PathLike[str] | None = None,
        **options: Unpack[OptionsOfTokenizer],
    ) -> Self:
        """With a loaded tokenizer's own chat template, as ``apply_chat_template`` renders it.

        Args:
            tokenizer: A tokenizer of ``transformers``, or any that :class:`Tokenizer` takes.
            chat_template: Another one, as for the class.
            options: As for the class.

        >>> PromptBuilder.from_tokenizer("demo").build([{"role": "user", "content": "Hi!"}]).tolist()[:4]
        [1051, 375, 263, 198]
        """
        return cls(tokenizer=tokenizer, chat_template=chat_template, **options)

    def complete(
        self, ids: Iterable[SupportsIndex], *, prompt: Any = None, include_stop: bool = False, skip_special_tokens: bool = True
    ) -> Completion:
        """A model's output, trimmed to where it should have ended.

        Args:
            ids: The generated ids. If the engine returns the prompt before them, perhaps padded on the left, give it too.
            prompt: A :class:`Prompt` or its ids.
            include_stop: Whether the stop is kept.
            skip_special_tokens: Whether special tokens before the stop are left out of the text.

        Raises:
            MetatokError: names an id before the stop that the tokenizer does not have.

        >>> PromptBuilder("demo").complete([44, 695, 1052, 1053])  # doctest: +ELLIPSIS
        Completion(token_ids=[44, 695], text='Mars', finish_reason='stop', stop={...}, tail=[1052, 1053])
        """
        prompts = None if prompt is None else [prompt]
        return self._complete([_answer_ids(ids)], prompts, include_stop, skip_special_tokens)[0]

    def complete_all(
        self,
        ids: Iterable[Iterable[SupportsIndex]],
        *,
        prompts: Iterable[Any] | None = None,
        include_stop: bool = False,
        skip_special_tokens: bool = True,
    ) -> list[Completion]:
        """The same for many, such as the rows of ``model.generate(**batch)``. Negative ids at the end of one are padding.

        Args:
            ids: The generated ids of each.
            prompts: Each answer's :class:`Prompt` or its ids; or the :class:`Batch` that was generated from.
            include_stop: As for :meth:`complete`.
            skip_special_tokens: As for :meth:`complete`.

        Raises:
            MetatokError: as for :meth:`complete`, with the number of the answer.
            TypeError: for what is not an answer's ids.

        >>> builder = PromptBuilder("demo")
        >>> prompt = builder.build([{"role": "user", "content": "Which planet is red?"}])
        >>> [done.text for done in builder.complete_all([[1053, *prompt.tolist(), 44, 695, 1052]], prompts=[prompt])]
        ['Mars']
        """
        answers = [_numbered(number, answer) for number, answer in enumerate(several(ids, "answers", "complete()"))]
        return self._complete(answers, prompts, include_stop, skip_special_tokens)

    def _complete(
        self, answers: list[list[int]], prompts: Iterable[Any] | None, include_stop: bool, skip_special_tokens: bool
    ) -> list[Completion]:
        prompts = prompts.rows() if isinstance(prompts, Batch) else prompts
        before = None if prompts is None else [_as_ids(getattr(prompt, "input_ids", prompt)) for prompt in prompts]
        if before is not None and len(before) != len(answers):
            raise ValueError(f"there are {len(answers)} answers, but {len(before)} prompts")
        done = _metatok.complete(self._core, answers, before, include_stop, skip_special_tokens)
        return [Completion(**completion) for completion in done]

    def stream(self, *, include_stop: bool = False, skip_special_tokens: bool = True) -> Stream:
        """An answer while it is generated: ids go in, text comes out, up to the stop.

        Args:
            include_stop: As for :meth:`complete`.
            skip_special_tokens: As for :meth:`complete`.
        """
        return Stream(self, include_stop=include_stop, skip_special_tokens=skip_special_tokens)

    def dialogue(
        self,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        headroom: int = 0,
        strip_thoughts: bool = False,
        **budget: Unpack[Limits],
    ) -> Dialogue:
        """A dialogue that grows turn by turn.

        Args:
            tools: Descriptions of tools, as in OpenAI's requests, which chat templates read.
            documents: Documents, which chat templates read.
            chat_template_kwargs: Variables of the chat template, such as ``enable_thinking``.
            headroom: Whenever something is dropped, drops as much more that this many tokens stay free, if it can: the
                next prompts then fit, and share their beginning.
            strip_thoughts: Whether a model's thoughts, up to ``</think>``, are left out of later prompts.
            budget: As for :meth:`build`.
        """
        return Dialogue(
            self,
            tools=tools,
            documents=documents,
            chat_template_kwargs=chat_template_kwargs,
            headroom=headroom,
            strip_thoughts=strip_thoughts,
            **budget,
        )

    def view(self, conversation: object) -> View:
        """A prompt to look at, each token with its origin: a page in a notebook, text in a terminal."""
        return View(self, conversation)

    def check(self, conversations: Iterable[object] = ()) -> list[Finding]:
        """What is likely a mistake in the meta template, its tokenizer, or these conversations; the worst first.

        Raises:
            UsageError: for chat templates, in which nothing is checked.

        >>> PromptBuilder("demo").check()
        []
        """
        return [Finding(**finding) for finding in _metatok.check(self._core, several(conversations))]

    def diff(self, other: PromptBuilder, conversations: Iterable[object] | None = None) -> Diff:
        """How the prompts of two builders differ, on these conversations, or on generated ones.

        >>> diff = PromptBuilder("demo").diff(PromptBuilder("demo", special_tokens="never"))
        >>> diff.different
        0
        """
        if not isinstance(other, Building):
            raise TypeError(f"diff() takes another PromptBuilder, not {type(other).__name__}")
        said = None if conversations is None else several(conversations)
        return Diff(**_metatok.diff(self._core, other._core, said))

    def vllm_inputs(self, conversations: Iterable[object], **sampling: Any) -> VllmInputs:
        """What vLLM's ``LLM.generate`` takes: prompts, and the arguments of ``SamplingParams``.

        Other engines are in :mod:`metatok.engines`.

        Args:
            conversations: Any iterable.
            sampling: As for :func:`metatok.engines.sampling`; ``max_seq_len`` and ``truncation`` make prompts fit, as
                for :func:`metatok.engines.vllm_inputs`.

        >>> inputs = PromptBuilder("demo").vllm_inputs([[{"role": "user", "content": "Hi!"}]], max_tokens=8)
        >>> inputs.prompts[0]["prompt_token_ids"][:3], inputs.sampling_params["stop_token_ids"]
        ([1051, 375, 263], [1052, 1050])
        """
        from metatok.engines import vllm_inputs

        return vllm_inputs(self, conversations, **sampling)

    def task(
        self,
        dataset: str | os.PathLike[str] | Mapping[str, Any],
        train: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
        **options: Unpack[TaskOptions],
    ) -> Task:
        """A dataset whose rows become prompts.

        Args:
            dataset: A file, a built-in dataset (``metatok datasets`` lists them), or a dict as in OpenCompass's
                configurations, with ``reader_cfg`` and ``infer_cfg`` and the names of classes as strings.
            train: The rows of in-context examples: a file, or dicts.
            options: ``num_fewshot``, ``layout``, ``infer_mode``, ``neighbours``, ``id_column``, ``keep``, ``max_seq_len``,
                ``max_out_len``, ``arrow_compat``, ``compat``, ``strict``, as for ``metatok build --dataset``.

        Raises:
            DatasetError: names what in the dataset is wrong.
        """
        return Task(self, dataset, train, **options)

    def __repr__(self) -> str:
        return f"PromptBuilder({self.model!r}, tokenizer={self.tokenizer.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_core, (type(self), self._core), getattr(self, "__dict__", None) or None


def _numbered(number: int, answer: Iterable[SupportsIndex]) -> list[int]:
    """The ids of an answer of several."""
    try:
        return _answer_ids(answer)
    except InputError as error:
        raise error._at_answer(number) from None
    except TypeError as error:
        raise TypeError(f"answer {number} is not a list of token ids: {error}") from None


def _of_core(of: type[PromptBuilder], core: _metatok.Builder) -> PromptBuilder:
    """A builder that was pickled."""
    builder = of.__new__(of)
    builder._core = core
    return builder


def _two_templates(one: str, other: str) -> UsageError:
    return UsageError(f"both {one} and {other} say how prompts are written; give one of them", kind="usage")
