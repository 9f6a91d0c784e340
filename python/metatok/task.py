"""Rows of a dataset as prompts: templates, examples and labels, as in OpenCompass."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from metatok import _json, _metatok
from metatok._limits import whole
from metatok._several import several
from metatok.errors import MetatokError
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

    __slots__ = ("_builder", "_core")

    def __init__(
        self,
        builder: PromptBuilder,
        dataset: str | os.PathLike[str] | Mapping[str, Any],
        train: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> None:
        self._builder = builder
        path, text = None, None
        if isinstance(dataset, Mapping):
            text = _json.text(dataset, "dataset")
        else:
            path = os.fspath(dataset)
        options = _plain(options)
        if train is None or isinstance(train, (str, os.PathLike)):
            given = {} if train is None else {"train": os.fspath(train)}
            self._core = _metatok.Task(builder._core, path, text, {**options, **given})
            return
        examples = enumerate(several(train, "rows", "prompts()"), 1)
        with tempfile.TemporaryDirectory(prefix="metatok-") as folder:
            file = os.path.join(folder, "train.jsonl")
            with open(file, "w", encoding="utf-8") as rows:
                rows.writelines(_json.text(row, f"train: row {number}") + "\n" for number, row in examples)
            try:
                self._core = _metatok.Task(builder._core, path, text, {**options, "train": file})
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
        return [Prompt(ids, self._builder, None, known, known.get("label"), labels, stop) for ids, labels, known in built]

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


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Options as the library takes them: a column to keep is a list of one, and numbers and paths are Python's own."""
    plain = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}
    if isinstance(plain.get("keep"), str):
        plain["keep"] = [plain["keep"]]
    for name in ("num_fewshot", "max_seq_len", "max_out_len"):
        if plain.get(name) is not None:
            plain[name] = whole(name, plain[name])
    return plain
