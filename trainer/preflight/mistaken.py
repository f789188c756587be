"""What helps when a run's file cannot be read: perhaps it is one for another recipe."""

from __future__ import annotations

from pathlib import Path

from trainer.datasets.mistaken import other_kind
from trainer.preflight.question import Question
from trainer.recipes.files import recipes_for
from trainer.recipes.registry import recipes


def remedy_for_file(question: Question, usual: str) -> str:
    """``usual``, or who trains on what the file holds instead."""
    kind = other_kind(Path(question.dataset), _silent, than=recipes()[question.recipe].dataset_kinds)
    if kind is None:
        return usual
    others = " or ".join(recipes_for(kind.name))
    trained = f", which {others} trains on" if others else ""
    return f"It has the columns of {kind.title.lower()}{trained}. {usual}"


def _silent(detail: str, fraction: float) -> None:
    """One row is read at once."""
