"""Every remedy of two_tower changes something that matters, gives valid parameters, and ends."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from trainer.protocol.rungs import Rung
from trainer.recipes.registry import recipes, validate

RECIPE = recipes()["two_tower"]


def after(rung: Rung, **params: Any) -> list[dict[str, Any]]:
    """What the rung changes, again and again, until it says that it cannot help any more."""
    present = validate(RECIPE, params)
    changes: list[dict[str, Any]] = []
    while (change := RECIPE.remedies[rung].change(present)) is not None:
        assert change != {name: present[name] for name in change}
        present = validate(RECIPE, present | change)
        changes.append(change)
        assert len(changes) < 50
    return changes


@pytest.mark.parametrize(("platform", "helps"), [("linux", True), ("darwin", False)])
def test_searching_apart_helps_where_it_is_not_done_already(
    platform: str, helps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert after(Rung.MINING_PROCESS) == ([{"search_process": "own"}] if helps else [])
    assert after(Rung.MINING_PROCESS, search_process="shared") == [{"search_process": "own"}]
    assert after(Rung.MINING_PROCESS, search_process="own") == []


def test_half_of_the_batch_at_once_again_and_again() -> None:
    sizes = [change["micro_batch_size"] for change in after(Rung.HALVE_BATCH, batch_size=100)]
    assert sizes == [50, 25, 12]
    assert after(Rung.HALVE_BATCH, batch_size=64, micro_batch_size=30) == [{"micro_batch_size": 15}]
    assert after(Rung.HALVE_BATCH, batch_size=12, micro_batch_size=500) == []
    assert not RECIPE.remedies[Rung.HALVE_BATCH].changes_numbers


def test_vectors_have_no_words_to_leave_out() -> None:
    assert after(Rung.SHORTER, max_features=200) == [{"max_features": 100}, {"max_features": 50}]
    assert after(Rung.SHORTER, document_tower="identity") == []


def test_an_encoder_reads_fewer_tokens() -> None:
    assert after(Rung.SHORTER, model="scratch", max_length=80) == [{"max_length": 40}, {"max_length": 20}]


def test_evaluation_is_left_to_the_end_where_nothing_else_hangs_on_it() -> None:
    assert after(Rung.EVALUATION_OFF) == [{"eval_every": 10_000_000}]
    assert after(Rung.EVALUATION_OFF, patience=3) == []
    assert after(Rung.EVALUATION_OFF, max_steps=100, eval_every=100) == []


def test_half_of_the_pairs_whether_or_not_their_number_is_known() -> None:
    assert after(Rung.SUBSET, max_pairs=5000) == [{"max_pairs": 2500}, {"max_pairs": 1250}]
    shares = [change["train_fraction"] for change in after(Rung.SUBSET)]
    assert shares == [0.5, 0.25, 0.125, 0.0625]


def test_the_cpu_is_the_last_device() -> None:
    assert after(Rung.CPU) == [{"device": "cpu"}]
