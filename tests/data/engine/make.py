"""Tiny models of each architecture with random weights, and what `transformers` computes with them.

    python3 make.py FOLDER      # needs torch and transformers; written with 2.15 and 5.23
"""
import json
import os
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

out = sys.argv[1]
torch.manual_seed(7)
base = dict(
    vocab_size=40,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    initializer_range=0.6,
)
linear = dict(rope_theta=10000.0, rope_type="linear", factor=2.0)
llama3 = dict(
    rope_theta=500.0,
    rope_type="llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16,
)
models = {
    "llama": LlamaForCausalLM(LlamaConfig(**base, tie_word_embeddings=False, rope_theta=10000.0)),
    "llama-3.1": LlamaForCausalLM(LlamaConfig(**base, tie_word_embeddings=True, attention_bias=True, rope_parameters=llama3)),
    "linear": LlamaForCausalLM(LlamaConfig(**base, rope_parameters=linear)),
    "mistral": MistralForCausalLM(MistralConfig(**base, head_dim=6, sliding_window=None, rope_theta=1000.0)),
    "qwen2": Qwen2ForCausalLM(Qwen2Config(**base, rope_theta=1000000.0)),
    "qwen3": Qwen3ForCausalLM(Qwen3Config(**base, head_dim=8)),
}
prompts = [[3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9], [2, 7, 18], [31]]
for name, model in models.items():
    model = model.eval()
    for n, p in model.named_parameters():
        if n.endswith("bias") or "norm" in n:
            torch.nn.init.uniform_(p, 0.5, 1.5)
    folder = f"{out}/{name}"
    os.makedirs(folder, exist_ok=True)
    # One in shards, all in half the bytes.
    model.half().save_pretrained(folder, max_shard_size="6KB" if name == "qwen2" else "1GB")
    os.remove(f"{folder}/generation_config.json")
    # Read back: half() has rounded what turns the positions too, which no file holds.
    model = type(model).from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits = [[round(x, 5) for x in model(torch.tensor([p])).logits[0, -1].tolist()] for p in prompts]
        greedy = [
            model.generate(torch.tensor([p]), max_new_tokens=8, do_sample=False, eos_token_id=None, pad_token_id=0)
            for p in prompts
        ]
    greedy = [ids[0, len(p) :].tolist() for ids, p in zip(greedy, prompts)]
    with open(f"{folder}/expected.json", "w") as file:
        json.dump({"prompts": prompts, "logits": logits, "greedy": greedy}, file)
