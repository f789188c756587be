"""An answer of an imported snapshot: as the original wrote it, its length that of the whole text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.services.evolution_numbers import is_one


def imported_answer(
    probe: dict[str, Any],
    numbers: Mapping[str, float | None],
    output: dict[str, Any],
    documents: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:
    """The fields of an example; its texts may have been cut by the original, ``output_length`` was not."""
    return {
        "model_output": output["output"],
        "exact_match": is_one(numbers["correct"]),
        "output_length": output["output_length"],
        "similarity": numbers.get("similarity"),
    }
