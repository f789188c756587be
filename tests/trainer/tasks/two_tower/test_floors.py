"""A run that stays below its floors ends itself; one that does not wish to never does."""

from typing import Any

import pytest

from tests.trainer.tasks.two_tower.small_material import params, silent, text_task
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence
from trainer.tasks.two_tower.floors import BelowFloors, Floors

WISH: dict[str, Any] = {"stop_below_floors": True, "floor_from_epoch": 2, "floor_patience": 2}
BAD = {"recall@5": 0.1, "contain@50": 0.9, "separation": 0.5}
GOOD = {**BAD, "recall@5": 0.9}


def ended_at(floors: Floors, measured: list[dict[str, float]], *, first: int = 0) -> int | None:
    """The epoch that did not begin, with one evaluation at the end of each."""
    for epoch, values in enumerate(measured, first):
        try:
            floors.begin_epoch(epoch)
        except BelowFloors:
            return epoch
        floors.look(values)
    return None


def test_two_evaluations_in_a_row_below_a_floor_end_the_run() -> None:
    assert ended_at(Floors(params(**WISH)), [BAD] * 6) == 3  # those after epochs 2 and 3 count
    assert ended_at(Floors(params(**WISH)), [GOOD, BAD, GOOD, BAD, GOOD, BAD]) is None
    assert ended_at(Floors(params()), [BAD] * 30) is None


def test_the_count_survives_a_resume_and_the_words_too() -> None:
    before = Floors(params(**WISH))
    assert ended_at(before, [BAD, BAD]) is None
    after = Floors(params(**WISH))
    after.load_state_dict(before.state_dict())
    assert ended_at(after, [BAD] * 3, first=2) == 3
    with pytest.raises(BelowFloors, match=r"2 evaluations in a row .*/recall@5 0.1 is below 0.25\. Go"):
        after.begin_epoch(3)
    Floors(params(**WISH)).load_state_dict({})


def test_a_task_ends_at_the_next_epoch_and_its_state_says_why(tmp_path: Any) -> None:
    task, _ = text_task(
        tmp_path, **{**WISH, "floor_from_epoch": 0, "floor_patience": 1, "floor_recall_5": 1.0}
    )
    task.begin_epoch(0, silent)
    task.evaluate(silent)
    assert "recall@5" in task.state_dict()["floors"]["words"]
    with pytest.raises(BelowFloors):
        task.begin_epoch(1, silent)


def test_the_end_is_diagnosed_and_not_tried_again() -> None:
    log = (
        "Traceback (most recent call last):\n  File 'x.py', line 1, in <module>\n"
        "trainer.tasks.two_tower.floors.BelowFloors: 2 evaluations in a row were below the floors\n"
    )
    (best, *_) = diagnose(Evidence(log=log, exit_code=1))
    assert (best.id, best.rungs) == ("below_floors", ())
