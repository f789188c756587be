"""An answer of an imported snapshot: as the original wrote it, its length that of the whole text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.services.evolution_numbers import finite


def imported_answer(
    probe: dict[str, Any],
    values: Mapping[str, float],
    output: dict[str, Any],
    documents: Mapping[str, tuple[str, str]],
) -> dict[str, Any]:
    """The fields of an example; its texts may have been cut by the original, ``output_length`` was not."""
    return {
        "model_output": output["output"],
        "exact_match": values["correct"] >= 1,
        "output_length": output["output_length"],
        "similarity": finite(values.get("similarity")),
    }
