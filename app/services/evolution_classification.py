"""What a classifier answered to one probe: the label it chose, and how sure it was of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.services.evolution_numbers import is_one, number, share, whole


def classification_answer(
    probe: dict[str, Any],
    numbers: Mapping[str, float | None],
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
        "exact_match": is_one(numbers["correct"]) if "correct" in numbers else label == gold,
        "output_length": len(label),
        "similarity": share(numbers.get("score")),
        "score": numbers.get("score"),
        "margin": numbers.get("margin"),
        "confidence": numbers.get("confidence"),
        "rank": whole(numbers.get("rank"), low=1),
        "probabilities": probabilities,
    }
