"""What a classifier answered to one probe: the label it chose, and how sure it was of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def classification_answer(
    probe: dict[str, Any],
    values: Mapping[str, float],
    output: dict[str, Any],
    documents: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:
    """The fields of an example.

    ``probabilities`` are ``{"label", "probability", "gold"}``, most probable
    first; ``similarity`` is the probability of the right label.
    """
    label, gold = str(output.get("output", "")), str(probe["expected_output"])
    score = values.get("score", math.nan)
    probabilities = [
        {"label": str(name), "probability": probability, "gold": str(name) == gold}
        for name, probability in output.get("probabilities", [])
    ]
    return {
        "model_output": label,
        "predicted": label,
        "exact_match": values["correct"] >= 1 if "correct" in values else label == gold,
        "output_length": len(label),
        "similarity": min(1.0, max(0.0, score)) if math.isfinite(score) else None,
        "score": _finite(values, "score"),
        "margin": _finite(values, "margin"),
        "confidence": _finite(values, "confidence"),
        "rank": int(values["rank"]) if math.isfinite(values.get("rank", math.nan)) else None,
        "probabilities": probabilities,
    }


def _finite(values: Mapping[str, float], name: str) -> float | None:
    value = values.get(name, math.nan)
    return value if math.isfinite(value) else None
