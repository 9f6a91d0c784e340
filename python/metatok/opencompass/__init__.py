"""OpenCompass's configurations, as its own loader gives them: prompts of their models and datasets, and models that run.

`models` and `datasets` take what `mmengine.Config.fromfile` returns, `prompt_builder` and `task` take their dicts::

    config = mmengine.Config.fromfile("eval_mine.py", format_python_code=False)
    builder = metatok.opencompass.prompt_builder(models(config)[0])
    task = metatok.opencompass.task(builder, datasets(config)[0])
    prompts = task.prompts({"question": "1+1=?", "answer": "2"})

In a configuration, ``type="metatok.opencompass.VLLM"`` in place of ``opencompass.models.VLLM`` builds the ids here
and runs them on vLLM; `HuggingFace`, `HuggingFaceBaseModel`, `VLLMwithChatTemplate` and `HuggingFacewithChatTemplate` likewise.
"""

from metatok.opencompass._configs import datasets, models, prompt_builder, task
from metatok.opencompass._huggingface import HuggingFace, HuggingFaceBaseModel, HuggingFacewithChatTemplate
from metatok.opencompass._plain import plain
from metatok.opencompass._vllm import VLLM, VLLMwithChatTemplate

__all__ = [
    "HuggingFace",
    "HuggingFaceBaseModel",
    "HuggingFacewithChatTemplate",
    "VLLM",
    "VLLMwithChatTemplate",
    "datasets",
    "models",
    "plain",
    "prompt_builder",
    "task",
]
