"""A plan survives its file, and a file that is none is said to be none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainer.protocol.attempt_plan import AttemptPlan, RungTaken
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import RunPaths

THREADS = RungTaken("threads", "one thread", "it broke", 2, changes={"OMP_NUM_THREADS": [None, "1"]})
HALF = RungTaken("halve_batch", "half", "no memory", 3, changes_numbers=True, changes={"batch_size": [8, 4]})
PLAN = AttemptPlan(
    3,
    (THREADS, HALF),
    {"batch_size": 4},
    {"OMP_NUM_THREADS": "1"},
    {"id": "cuda_oom", "cause": "no memory", "step": 7, "attempt": 2},
)


def test_a_plan_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    PLAN.save(paths)
    assert AttemptPlan.load(paths, 3) == PLAN
    assert AttemptPlan.load(paths, 2) is None
    assert (PLAN.newest, PLAN.has("threads"), PLAN.has("cpu")) == (HALF, True, False)
    assert AttemptPlan(4, PLAN.rungs).newest is None


def test_fields_of_a_later_version_are_left_out() -> None:
    raw = PLAN.to_json() | {"mood": "good"}
    raw["rungs"][0]["colour"] = "amber"
    assert AttemptPlan.from_json(raw) == PLAN


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"attempt": 1},
        {"attempt": 1, "rungs": 3},
        {"attempt": 1, "rungs": [{"rung": "threads"}]},
        {"attempt": 1, "rungs": ["threads"]},
        {"attempt": "1", "rungs": []},
        {"attempt": 1, "rungs": [], "params": []},
        {"attempt": 1, "rungs": [], "environment": {"A": 1}},
        {"rungs": []},
    ],
)
def test_what_is_no_plan_is_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="plan"):
        AttemptPlan.from_json(raw)


def test_a_torn_file_is_refused_and_not_taken_for_none(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    PLAN.save(paths)
    paths.plan(3).write_text('{"attempt": 3, "ru')
    with pytest.raises(ProtocolError):
        AttemptPlan.load(paths, 3)
