"""When snapshots are due and what they may cost."""

from __future__ import annotations

import pytest

from trainer.engine.schedule import SnapshotBudget, SnapshotSchedule, next_due_after


def test_the_schedule_is_dense_first_and_every_5000_steps_at_the_end() -> None:
    steps: list[int] = []
    step = 0
    while len(steps) < 23:
        step = next_due_after(step)
        steps.append(step)
    assert steps == [
        10, 25, 50, 100, 150, 200, 250, 500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 7500, 10000,
        15000, 20000, 25000, 30000, 35000,
    ]  # fmt: skip


def test_a_resume_between_two_steps_of_the_schedule_skips_none() -> None:
    schedule = SnapshotSchedule()
    assert schedule.is_due(0)
    schedule.passed(0)
    assert [step for step in range(1, 11) if schedule.is_due(step)] == [10]
    assert schedule.is_due(30)  # the attempt that should have taken 10 and 25 has died
    schedule.passed(30)
    assert not schedule.is_due(49)
    assert schedule.is_due(50)


def test_snapshots_may_cost_their_share_of_the_time() -> None:
    budget = SnapshotBudget(0.05)
    assert budget.refusal(elapsed_s=0.0, remaining_s=0.0) is None
    budget.spend(1.0)
    assert budget.refusal(elapsed_s=40.0, remaining_s=0.0) is None  # 1 + 1 of 40 s is 5 %
    assert budget.refusal(elapsed_s=39.0, remaining_s=0.0) == (
        "Snapshots have cost 1.0 s of 39.0 s and the next takes about 1.00 s;"
        " the budget is 5% of the run's time."
    )


def test_early_snapshots_draw_on_what_the_run_will_earn_and_never_on_more_than_twenty_seconds() -> None:
    budget = SnapshotBudget(0.05)
    budget.spend(0.4)
    assert budget.refusal(elapsed_s=0.1, remaining_s=30.0) is not None  # half of 1.5 s is less than 0.8 s
    assert budget.refusal(elapsed_s=0.1, remaining_s=60.0) is None
    for _ in range(8):
        assert budget.refusal(elapsed_s=0.1, remaining_s=400.0) is None
        budget.spend(0.9)
    budget.spend(12.0)
    assert budget.refusal(elapsed_s=0.1, remaining_s=1e9) is not None


def test_one_slow_snapshot_is_not_what_the_next_is_expected_to_cost() -> None:
    budget = SnapshotBudget(0.05)
    assert budget.expected_s == 0.0
    for cost_s in (0.5, 0.4, 3.0):
        budget.spend(cost_s)
    assert budget.expected_s == 0.5
    budget.spend(3.0)
    assert budget.expected_s == 3.0


def test_a_resumed_budget_remembers_what_was_spent() -> None:
    budget, resumed = SnapshotBudget(0.05), SnapshotBudget(0.05)
    budget.spend(3.0)
    resumed.load_state_dict(budget.state_dict())
    assert resumed.spent_s == 3.0
    assert resumed.expected_s == pytest.approx(3.0)
    resumed.load_state_dict({"spent_s": 2.0, "expected_s": 1.0})  # of an older version
    assert (resumed.spent_s, resumed.expected_s) == (2.0, 1.0)
