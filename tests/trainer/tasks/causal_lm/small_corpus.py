"""A tiny language to learn, in every shape a file may have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trainer.recipes.causal_lm import CausalLmParams
from trainer.recipes.registry import recipes, validate

NOUNS = ["path", "token", "graph", "matrix", "socket", "thread", "index", "queue", "module", "buffer"]
VERBS = ["open", "close", "read", "write", "sort", "merge", "split", "count"]

SMALL: dict[str, Any] = {
    "batch_size": 4, "num_layers": 1, "hidden_dim": 32, "num_heads": 2, "vocab_size": 320, "max_length": 48,
    "num_probes": 4, "probe_tokens": 12, "num_epochs": 4, "device": "cpu", "held_out_fraction": 0.2,
    "warmup_steps": 5, "learning_rate": 3e-3, "eval_examples": 12,
}  # fmt: skip


def small_params(**changes: Any) -> CausalLmParams:
    """Complete parameters of a run of seconds."""
    return CausalLmParams.model_validate(validate(recipes()["causal_lm"], {**SMALL, **changes}))


def pairs() -> list[tuple[str, str, str]]:
    """Prompt, completion and group of each example."""
    return [
        (f"{verb}_{noun}(x)\n", f"{verb.capitalize()} the {noun} of x.", noun)
        for noun in NOUNS
        for verb in VERBS
    ]


def silent(detail: str, fraction: float) -> None:
    """Nobody listens."""


def write_completions(path: Path) -> Path:
    """JSONL of prompts and completions."""
    rows = [{"prompt": prompt, "completion": said, "group": group} for prompt, said, group in pairs()]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def write_messages(path: Path) -> Path:
    """JSONL of conversations with two answers each."""
    rows = [
        {
            "messages": [
                {"role": "system", "content": "Say it."},
                {"role": "user", "content": prompt},
                {"role": "assistant", "content": said},
                {"role": "user", "content": "Again?"},
                {"role": "assistant", "content": "Yes."},
            ],
            "group": group,
        }
        for prompt, said, group in pairs()
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path
