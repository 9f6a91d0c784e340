"""Rows of a dataset as prompts: templates, examples and labels, as in OpenCompass."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metatok import _json, _metatok
from metatok._limits import whole
from metatok._several import several
from metatok.errors import MetatokError, UsageError
from metatok.prompt import Prompt
from metatok.stop import Stop

if TYPE_CHECKING:
    from metatok.builder import PromptBuilder

__all__ = ["Task"]


class Task:
    """A dataset with a builder; from :meth:`PromptBuilder.task`.

    >>> import metatok
    >>> cfg = {
    ...     "reader_cfg": {"input_columns": ["q"], "output_column": "a"},
    ...     "infer_cfg": {
    ...         "ice_template": {"template": "{q} {a}"},
    ...         "prompt_template": {"template": "</E>{q}", "ice_token": "</E>"},
    ...         "retriever": {"type": "FixKRetriever", "fix_id_list": [0]},
    ...     },
    ... }
    >>> task = metatok.PromptBuilder("demo").task(cfg, train=[{"q": "1+1=?", "a": "2"}])
    >>> task.prompts({"q": "2+2=?"})[0].text
    '1+1=? 2\\n2+2=?'
    """

    __slots__ = ("_builder", "_core", "_made_of")

    def __init__(
        self,
        builder: PromptBuilder,
        dataset: str | os.PathLike[str] | Mapping[str, Any],
        train: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        path, text, rows = None, None, None
        if isinstance(dataset, Mapping):
            text = _json.text(dataset, "dataset")
        else:
            path = os.fspath(dataset)
        options = _plain(options)
        if isinstance(train, (str, os.PathLike)):
            options["train"] = os.fspath(train)
        elif train is not None:
            examples = enumerate(several(train, "rows", "prompts()"), 1)
            rows = "".join(_metatok.row_json(row, number, "train") + "\n" for number, row in examples)
        self._open(builder, _Made(path, text, rows, options))

    def _open(self, builder: PromptBuilder, of: _Made) -> None:
        self._builder, self._made_of = builder, of
        if of.rows is None:
            self._core = _metatok.Task(builder._core, of.path, of.text, of.options)
            return
        with tempfile.TemporaryDirectory(prefix="metatok-") as folder:
            file = os.path.join(folder, "train.jsonl")
            with open(file, "w", encoding="utf-8") as train:
                train.write(of.rows)
            try:
                self._core = _metatok.Task(builder._core, of.path, of.text, {**of.options, "train": file})
            except MetatokError as error:
                raise error._saying(file, "train") from None

    def prompts(self, row: Mapping[str, Any]) -> list[Prompt]:
        """The prompts of one row: one to continue, or one of each label to score.

        It is the first row of a dataset: where examples are drawn by chance, or by the row's position, every call draws
        those of the first row. For the prompts of a dataset, give all its rows to :meth:`build`.

        Raises:
            MetatokError: as for :meth:`build`.
        """
        return self.build([row])

    def build(self, rows: Iterable[Mapping[str, Any]], *, threads: int | None = None) -> list[Prompt]:
        """The prompts of rows, on all cores, in order, as ``metatok build --dataset`` writes them.

        A prompt's ``details`` have the ``id`` of its row, and of a text to score its ``label``; its ``labels`` are the
        ids that are scored, and -100 for all others, of shape (tokens,).

        Args:
            rows: All rows of a dataset, from the first on: the examples that are drawn depend on a row's position.
            threads: As for :meth:`metatok.PromptBuilder.build_all`.

        Raises:
            MetatokError: of the first row that fails; ``error.place["line"]`` is its number, from 1.
            DatasetError: if no row has a column of the template.

        Warns:
            MetatokWarning: if some rows lack a column or lose turns or examples, if later turns of a dialogue need the model's
                answers, and if the template names a column that it does not use.
        """
        built, stop = self._core.build(several(rows, "rows", "prompts()"), threads), self.stop
        return [Prompt(ids, self._builder, None, known, stop) for ids, known in built]

    @property
    def mode(self) -> str:
        """``"gen"`` if a model goes on, ``"ppl"`` if texts are scored."""
        return self._core.mode

    @property
    def name(self) -> str:
        """Its short name."""
        return self._core.name

    @property
    def max_out_len(self) -> int | None:
        """How many tokens an answer may have, if the dataset says so."""
        return self._core.max_out_len

    @property
    def stop(self) -> Stop:
        """Where answers end: the model's stops, and the dataset's."""
        return Stop._of(self._core.stop)

    @property
    def fingerprint(self) -> str:
        """What determines the ids, as JSON."""
        return self._core.fingerprint

    @property
    def notes(self) -> list[str]:
        """What is worth telling about the dataset's file."""
        return self._core.notes


    def __repr__(self) -> str:
        return f"Task({self.name!r}, mode={self.mode!r}, builder={self._builder!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._builder, self._made_of._anywhere(), self.fingerprint)


class _Made(NamedTuple):
    """What a task is made of."""

    #: The dataset's file or built-in name, or else its text as JSON.
    path: str | None
    text: str | None
    #: The rows of examples, as lines of JSON.
    rows: str | None
    options: dict[str, Any]

    def _anywhere(self) -> _Made:
        """The same with the full names of its files."""
        files = {name: _full(self.options[name]) for name in ("train", "neighbours") if self.options.get(name) is not None}
        return self._replace(path=None if self.path is None else _full(self.path), options={**self.options, **files})


def _full(path: str) -> str:
    # Others are built-in names, or repositories.
    return os.path.abspath(path) if os.path.exists(path) else path


def _again(of: type[Task], builder: PromptBuilder, made: _Made, fingerprint: str) -> Task:
    """A task that was pickled.

    Raises:
        UsageError: one of its files is another now.
    """
    task = of.__new__(of)
    task._open(builder, made)
    if task.fingerprint != fingerprint:
        files = [name for name in (made.path, made.options.get("train"), made.options.get("neighbours")) if name]
        what = f"the task {task.name!r} would build other prompts than when it was pickled, as a file has changed: {', '.join(files)}"
        raise UsageError(f"{what}; pickle it again, or give a dict and rows in place of files", kind="usage")
    return task


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options as the library takes them: a column to keep is a list of one, and numbers and paths are Python's own."""
    plain = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}
    if isinstance(plain.get("keep"), str):
        plain["keep"] = [plain["keep"]]
    for name in ("num_fewshot", "max_seq_len", "max_out_len"):
        if plain.get(name) is not None:
            plain[name] = whole(name, plain[name])
    return plain
