"""What a classifier answered to one probe: the label it chose, and how sure it was of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.services.evolution_numbers import finite, number, share, whole


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
    probabilities = [
        {"label": name, "probability": number(probability), "gold": name == gold}
        for name, probability in output.get("probabilities", [])
    ]
    return {
        "model_output": label,
        "predicted": label,
        "exact_match": values["correct"] >= 1 if "correct" in values else label == gold,
        "output_length": len(label),
        "similarity": share(values.get("score")),
        "score": finite(values.get("score")),
        "margin": finite(values.get("margin")),
        "confidence": finite(values.get("confidence")),
        "rank": whole(values.get("rank"), low=1),
        "probabilities": probabilities,
    }
