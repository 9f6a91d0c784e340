"""How lm-evaluation-harness's own code parts texts and continuations into tokens.

python encode.py FILE: lines of JSON, each with the tokenizer.json, a context and a continuation.
"""

import json
import sys

from lm_eval.api.model import TemplateLM
from tokenizers import Tokenizer


class Model(TemplateLM):
    """A model of which only the tokenizer is asked, as HFLM asks it."""

    backend = "causal"
    eot_token_id = None
    loglikelihood_rolling = generate_until = _loglikelihood_tokens = None

    def __init__(self, file):
        super().__init__()
        self.fast = Tokenizer.from_file(file)

    def tok_encode(self, string, add_special_tokens=None, **_):
        begins = self.fast.encode("").tokens[:1]
        has_begun = any(string.startswith(token) for token in begins)
        return self.fast.encode(string, add_special_tokens=not has_begun).ids


models = {}
for line in open(sys.argv[1]):
    file, context, continuation = json.loads(line)
    model = models.setdefault(file, None) or Model(file)
    models[file] = model
    print(json.dumps([model.tok_encode(context + continuation), *model._encode_pair(context, continuation)]))
