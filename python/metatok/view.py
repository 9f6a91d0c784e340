"""A prompt to look at: each token with its origin."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

from metatok import _metatok
from metatok._limits import whole

if TYPE_CHECKING:
    from metatok.building import Building

__all__ = ["View"]


class View:
    """A prompt to look at; from :meth:`PromptBuilder.view`. A notebook shows it as a page, a terminal as text.

    >>> import metatok
    >>> view = metatok.PromptBuilder("demo").view([{"role": "user", "content": "Hi!"}])
    >>> view.html.startswith("<!doctype html>")
    True
    >>> "user" in str(view)
    True
    """

    __slots__ = ("_core",)

    def __init__(self, builder: Building, conversation: object) -> None:
        self._core = _metatok.View(builder._core, conversation)

    @property
    def html(self) -> str:
        """A page that needs no other file."""
        return self._core.html()

    @property
    def data(self) -> dict[str, Any]:
        """Everything that is shown, as for programs."""
        return self._core.data()

    def text(self, width: int | None = None, colour: bool = False, ids: bool = False) -> str:
        """For a terminal with this many columns, perhaps with colours, and with each token's id below it."""
        columns = shutil.get_terminal_size().columns if width is None else whole("width", width, 1)
        return self._core.terminal(columns, colour, ids)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"View({len(self._core.input_ids)} tokens)"

    def show(self) -> None:
        """Prints it."""
        sys.stdout.write(self.text(colour=sys.stdout.isatty()))

    def _repr_html_(self) -> str:
        return in_notebook(self.html)


def in_notebook(page: str) -> str:
    """A page within another, which keeps their styles apart."""
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe srcdoc="{quoted}" style="width: 100%; height: 32em; border: 0"></iframe>'
