"""Meta templates in, token ids out: turns conversations into the ``input_ids`` of local inference engines.

>>> import metatok
>>> builder = metatok.PromptBuilder("demo")
>>> builder.build([{"role": "user", "content": "Hi!"}]).text
'<|im_start|>user\\nHi!<|im_end|>\\n<|im_start|>assistant\\n'
"""

from metatok import engines
from metatok._metatok import __version__
from metatok.answers import Completion, Stream
from metatok.batch import Batch
from metatok.builder import PromptBuilder
from metatok.checks import Diff, Finding
from metatok.dialogue import Dialogue
from metatok.errors import (
    DatasetError,
    InputError,
    MachineError,
    MetatokError,
    MetatokWarning,
    ModelError,
    UsageError,
)
from metatok.prompt import Prompt
from metatok.stop import Stop
from metatok.task import Task
from metatok.tokenizer import Tokenizer
from metatok.view import View

__all__ = [
    "Batch",
    "Completion",
    "DatasetError",
    "Dialogue",
    "Diff",
    "Finding",
    "InputError",
    "MachineError",
    "MetatokError",
    "MetatokWarning",
    "ModelError",
    "Prompt",
    "PromptBuilder",
    "Stop",
    "Stream",
    "Task",
    "Tokenizer",
    "UsageError",
    "View",
    "__version__",
    "engines",
]
