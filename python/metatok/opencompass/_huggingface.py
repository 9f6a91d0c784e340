"""OpenCompass's models that run on transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metatok import PromptBuilder, UsageError
from metatok.opencompass._cutting import Cuttable, in_the_middle, room
from metatok.opencompass._model import Model


class HuggingFace(Model):
    """OpenCompass's ``HuggingFace``: a meta template, or none, and transformers' ``generate``.

    Prompts lose what is after ``max_seq_len`` tokens, or what is before, if the tokenizer's ``truncation_side`` says so.

    Args:
        path: The model, a folder or a repository.
        model_kwargs: The arguments of ``AutoModelForCausalLM.from_pretrained``.
        generation_kwargs: Arguments of ``model.generate`` that override the task's, except ``max_new_tokens``.
        tokenizer_kwargs: ``truncation_side``; arguments that would change ids are refused.
        batch_padding: Several prompts may have ``max_seq_len`` tokens; otherwise they leave room for the answer in these.
        mode: With ``mid``, prompts that leave room lose what is in their middle.
        pad_token_id: The id for padding; a negative one is counted from the end of the vocabulary without added tokens.
        peft_path: An adapter.
    """

    _class = "HuggingFace"
    _parameters: tuple[str, ...] = (
        "batch_padding",
        "end_str",
        "extract_pred_after_decode",
        "hf_cache_dir",
        "mode",
        "pad_token_id",
        "peft_path",
        "tokenizer_kwargs",
        "use_fastchat_template",
    )
    _refused = {
        "use_fastchat_template": "use HuggingFacewithChatTemplate with fastchat_template='vicuna'",
        "extract_pred_after_decode": "leave it out: answers are decoded after the ids of their prompts",
    }
    _overwritten = {"max_new_tokens": "max_out_len"}
    _max_seq_len: int | None = 2048
    _least = "min_new_tokens"

    def get_loglikelihood(self, inputs: Sequence[str], conts: Sequence[str]) -> Any:
        """The sum of the log-probabilities of as many last tokens as a text loses without the scored part.

        As OpenCompass's class computes it; a text that is too long is cut at its end.
        """
        import numpy as np

        prompts, encode = self._built("ppl", list(inputs)), self.builder("ppl").tokenizer.encode
        rows = [prompt.tolist()[: self.max_seq_len] for prompt in prompts]
        scored = []
        for text, said, prompt, logprobs in zip(inputs, conts, prompts, self._logprobs(rows)):
            more = len(encode(text)) - len(encode(text.replace(said, "")))
            scored.append(sum(logprobs[max(len(prompt) - more - 1, 0) :]))
        return np.array(scored)

    def _cut(self, of: Cuttable, max_out_len: int | None, together: int) -> list[int]:
        if self.max_seq_len is None:
            return of.ids
        if max_out_len is None or (self._others.get("batch_padding") and together > 1):
            return self._at_side(of, self.max_seq_len)
        most = room(self.max_seq_len, max_out_len)
        return in_the_middle(of.ids, most) if self._others.get("mode") == "mid" else self._at_side(of, most)

    def _at_side(self, of: Cuttable, most: int) -> list[int]:
        return of.ids if len(of.ids) <= most else of.at(self._truncation_side(), most)

    def _truncation_side(self) -> str:
        """Where OpenCompass's class cuts: as the tokenizer of transformers does."""
        if (side := self._others.get("tokenizer_kwargs", {}).get("truncation_side")) is None:
            side = self._their_tokenizer().truncation_side
        return str(side)

    def _their_tokenizer(self) -> Any:
        """That of transformers, which OpenCompass's class uses."""
        from transformers import AutoTokenizer

        given = self._others.get("tokenizer_kwargs", {})
        return AutoTokenizer.from_pretrained(self._dict["tokenizer_path"] or self.path, **given)

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        from transformers import AutoModelForCausalLM

        self.model = AutoModelForCausalLM.from_pretrained(path, **model_kwargs).eval()
        if peft_path := self._others.get("peft_path"):
            from peft import PeftModel

            peft_kwargs = {**self._others.get("peft_kwargs", {}), "is_trainable": False}
            self.model = PeftModel.from_pretrained(self.model, peft_path, **peft_kwargs).eval()

    def _generate(
        self, builder: PromptBuilder, rows: list[list[int]], limit: int, kwargs: dict[str, Any]
    ) -> list[list[int]]:
        import torch

        from metatok.batch import Batch
        from metatok.engines import of_batch
        from metatok.transformers import of_inputs

        if not rows:
            return []
        pad, width = self._pad(builder), max(map(len, rows))
        ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows])
        mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
        batch = Batch(input_ids=ids, attention_mask=mask)
        inputs = {**of_batch(builder, batch, max_new_tokens=limit, device=self.model.device), "pad_token_id": pad}
        # As there, the model's generation_config.json decides these, where nothing else does.
        for name in ("num_beams", "repetition_penalty"):
            del inputs[name]
        return of_inputs(self.model, builder, inputs, **kwargs)

    def _pad(self, builder: PromptBuilder) -> int:
        pad: int | None = self._others.get("pad_token_id", builder.pad_token_id)
        if pad is None:
            raise UsageError("the tokenizer has no padding token; give its id as pad_token_id", kind="usage")
        return pad + self._their_tokenizer().vocab_size if pad < 0 else pad

    def _logprobs(self, rows: list[list[int]]) -> list[list[float]]:
        import torch

        scored = []
        with torch.inference_mode():
            for row in rows:
                ids = torch.tensor([row], device=self.model.device)
                logits = self.model(ids).logits[0, :-1].float().log_softmax(-1)
                scored.append(logits.gather(-1, ids[0, 1:, None])[:, 0].tolist())
        return scored


class HuggingFaceBaseModel(HuggingFace):
    """OpenCompass's ``HuggingFaceBaseModel``: no template, also if one is given, and transformers.

    Prompts lose what is before the last ``max_seq_len`` tokens, by default the context that the model's configuration says.

    Args:
        generation_kwargs: Arguments of ``model.generate`` that the task's override.
        drop_middle: Prompts lose what is in their middle.
    """

    _class = "HuggingFaceBaseModel"
    _parameters: tuple[str, ...] = ("drop_middle", "pad_token_id", "peft_kwargs", "peft_path", "tokenizer_kwargs")
    _ignores_others = True
    _has_template = False
    _task_wins = True
    _overwritten = {"max_new_tokens": "max_out_len", "pad_token_id": "the model's pad_token_id, or the tokenizer's,"}
    _max_seq_len: int | None = None

    def get_loglikelihood(self, inputs: Sequence[str], conts: Sequence[str]) -> Any:
        """The negative of `get_ppl_from_template`, where as many first tokens are masked as the scored part has.

        As OpenCompass's class computes it, and not the log-likelihood of that part.
        """
        return -self.get_ppl_from_template(inputs, [self.get_token_len(said) for said in conts])

    def _cut(self, of: Cuttable, max_out_len: int | None, together: int) -> list[int]:
        most = self.max_seq_len
        if most is None or len(of.ids) <= most:
            return of.ids
        if self._others.get("drop_middle"):
            return [*of.ids[: most // 2], *of.ids[len(of.ids) - (most - most // 2) :]]
        return of.at(self._truncation_side(), most)

    def _truncation_side(self) -> str:
        return str(self._others.get("tokenizer_kwargs", {}).get("truncation_side", "left"))

    def _load(self, path: str, model_kwargs: dict[str, Any]) -> None:
        super()._load(path, model_kwargs)
        if self.max_seq_len is None:
            config = self.model.config
            names = ("max_position_embeddings", "seq_length", "model_max_length")
            self.max_seq_len = next((getattr(config, name) for name in names if hasattr(config, name)), None)


class HuggingFacewithChatTemplate(HuggingFaceBaseModel):
    """OpenCompass's ``HuggingFacewithChatTemplate``: the tokenizer's chat template, and transformers.

    Prompts are cut as by ``HuggingFaceBaseModel``.

    Args:
        mode: With ``mid``, prompts lose then what is in their middle, so that they leave room for the answer.
    """

    _class = "HuggingFacewithChatTemplate"
    _has_template = True
    _parameters: tuple[str, ...] = ("fastchat_template", "mode", "pad_token_id", "peft_kwargs", "peft_path", "tokenizer_kwargs")

    def _cut(self, of: Cuttable, max_out_len: int | None, together: int) -> list[int]:
        ids = super()._cut(of, max_out_len, together)
        if self._others.get("mode") != "mid" or max_out_len is None or self.max_seq_len is None:
            return ids
        most = self.max_seq_len - max_out_len
        return in_the_middle(ids, most) if most // 2 > 0 else ids
