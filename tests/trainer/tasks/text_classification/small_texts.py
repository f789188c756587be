"""A tiny labelled dataset that a tiny model learns within seconds."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any, Final

WORDS: Final = {
    "weather": ["rain", "sun", "cloud", "storm", "wind", "snow"],
    "kitchen": ["pan", "oven", "salt", "bread", "knife", "soup"],
    "garden": ["rose", "soil", "spade", "seed", "hedge", "lawn"],
}
FILLING: Final = ["the", "a", "is", "near", "with", "and", "of", "today", "some", "very"]
SMALL: Final[dict[str, Any]] = {
    "batch_size": 16, "hidden_dim": 32, "num_layers": 1, "num_heads": 2, "vocab_size": 400, "max_length": 24,
    "num_epochs": 4, "num_probes": 12, "device": "cpu", "held_out_fraction": 0.2, "warmup_steps": 5,
    "learning_rate": 5e-3,
}  # fmt: skip


def write_texts(path: Path, *, count: int = 240, seed: int = 0) -> Path:
    """``count`` sentences about one of three things, as CSV; returns the path."""
    draw = random.Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        for number in range(count):
            label = list(WORDS)[number % len(WORDS)]
            words = draw.sample(WORDS[label], 2) + draw.choices(FILLING, k=draw.randint(2, 14))
            draw.shuffle(words)
            writer.writerow([f"{' '.join(words)} {number}", label])
    return path


def silent(detail: str, fraction: float) -> None:
    """Nobody listens."""
