"""Trees as the original system's tracker wrote them: its fields, its rounding, its way of dumping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ANSWERS = {  # step -> what was answered to the probes of three
    0: ("", "a cat", "<b>no</b>"),
    10: ("Paris", "a cat", "4"),
    100: ("Paris", "a dog", "4"),
}
PROBES = (("Capital of France?", "Paris"), ("What barks?", "a dog"), ("2 + 2 = ?", "4"))


def original(step: int, *, dataset: str = "toy", **changes: Any) -> dict[str, Any]:
    """One snapshot; loss is five times the dissimilarity, as theirs was."""
    examples: list[dict[str, Any]] = [
        {
            "example_id": f"ex_{index:04d}", "step": step, "input": question, "expected_output": expected,
            "model_output": answered, "loss": 5.0 * (1 - similarity), "exact_match": answered == expected,
            "output_length": len(answered) + 100, "similarity": similarity,
        }
        for index, ((question, expected), answered) in enumerate(zip(PROBES, ANSWERS[step], strict=True))
        for similarity in [1.0 if answered == expected else 0.1 * index]
    ]  # fmt: skip
    correct = sum(bool(one["exact_match"]) for one in examples)
    return {
        "snapshot_id": f"{dataset}_step_{step:06d}",
        "training_step": step,
        "timestamp": f"2025-11-22T10:{step % 60:02d}:00.123456",
        "model_version": "training",
        "examples": examples,
        "summary": {
            "avg_loss": sum(one["loss"] for one in examples) / 3, "accuracy": correct / 3,
            "total_examples": 3, "correct": correct, "incorrect": 3 - correct,
        },
        **changes,
    }  # fmt: skip


def write_tree(root: Path, *datasets: str) -> Path:
    """``root/DATASET/step_NNNNNN.json`` for each dataset, three steps each."""
    for dataset in datasets or ("toy",):
        for step in ANSWERS:
            write_file(root, step, original(step, dataset=dataset), dataset=dataset)
    return root


def write_file(root: Path, step: int, content: object, *, dataset: str = "toy") -> Path:
    """One file, as ``json.dump(..., indent=2)`` writes it."""
    path = root / dataset / f"step_{step:06d}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
    return path


def read_tree(root: Path) -> dict[str, Any]:
    """``{path: object}`` of every file below ``root``."""
    return {str(path.relative_to(root)): json.loads(path.read_bytes()) for path in root.rglob("*.json")}
