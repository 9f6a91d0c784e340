"""Meta templates in, token ids out: turns conversations into the ``input_ids`` of local inference engines.

>>> import metatok
>>> builder = metatok.PromptBuilder("demo")
>>> builder.build([{"role": "user", "content": "Hi!"}]).text
'<|im_start|>user\\nHi!<|im_end|>\\n<|im_start|>assistant\\n'
"""

from metatok._metatok import __version__
from metatok.batch import Batch
from metatok.builder import PromptBuilder
from metatok.errors import DatasetError, InputError, MetatokError, ModelError, SystemError_, UsageError
from metatok.prompt import Prompt
from metatok.stop import Stop
from metatok.tokenizer import Tokenizer

__all__ = [
    "Batch",
    "DatasetError",
    "InputError",
    "MetatokError",
    "ModelError",
    "Prompt",
    "PromptBuilder",
    "Stop",
    "SystemError_",
    "Tokenizer",
    "UsageError",
    "__version__",
]
