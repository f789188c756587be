"""Rules of GO and NO-GO."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.recipes.gates import Verdict, judge, overall
from trainer.recipes.registry import recipes, validate
from trainer.recipes.two_tower import TwoTowerParams
from trainer.recipes.two_tower_gates import GATES

GOOD: dict[str, float | None] = {
    "eval/recall@5": 0.31, "eval/mrr": 0.1, "eval/contain@50": 0.82, "eval/separation": 0.05,
    "eval/oracle": 1.0, "eval/index_p95_ms": 8.0,
}  # fmt: skip


def params(**changes: Any) -> dict[str, Any]:
    return validate(recipes()["two_tower"], changes)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, Verdict.GO),
        ({"eval/recall@5": 0.1, "eval/mrr": 0.2}, Verdict.GO),  # one of the two is enough
        ({"eval/recall@5": 0.29, "eval/mrr": 0.19}, Verdict.NO_GO),
        ({"eval/contain@50": 0.8199}, Verdict.NO_GO),
        ({"eval/index_p95_ms": 8.01}, Verdict.NO_GO),
        ({"eval/oracle": None}, Verdict.UNKNOWN),
        ({"eval/oracle": float("nan")}, Verdict.UNKNOWN),
        ({"eval/oracle": None, "eval/contain@50": 0.1}, Verdict.NO_GO),
        ({"eval/recall@5": 0.1, "eval/mrr": None}, Verdict.UNKNOWN),  # the other may still hold
    ],
)
def test_the_verdict_follows_from_the_measures(changed: dict[str, float | None], verdict: Verdict) -> None:
    assert overall(judge(GATES, params(), {**GOOD, **changed})) is verdict


def test_a_threshold_of_zero_leaves_its_condition_out() -> None:
    judged = judge(GATES, params(gate_mrr=0, gate_oracle=0), {**GOOD, "eval/oracle": 0.0})
    assert overall(judged) is Verdict.GO
    assert [len(one.conditions) for one in judged] == [1, 1, 1, 1]
    nothing = dict.fromkeys((name for name in TwoTowerParams.model_fields if name.startswith("gate_")), 0)
    assert overall(judge(GATES, params(**nothing), GOOD)) is Verdict.UNKNOWN


def test_floors_are_looked_at_only_where_they_may_end_the_run_and_decide_nothing() -> None:
    values = {**GOOD, "eval/recall@5": 0.24, "eval/mrr": 0.3}
    assert {one.gate.kind for one in judge(GATES, params(), values)} == {"ship"}
    judged = judge(GATES, params(stop_below_floors=True), values)
    below = [one for one in judged if one.gate.kind == "floor" and one.verdict is Verdict.NO_GO]
    assert [one.in_words() for one in below] == ["eval/recall@5 0.24 is below 0.25"]
    assert overall(judged) is Verdict.GO


def test_every_threshold_is_a_parameter() -> None:
    fields = TwoTowerParams.model_fields
    for gate in GATES:
        assert all(one.threshold in fields for one in gate.conditions)
        assert not gate.switch or gate.switch in fields


@pytest.mark.parametrize("name", ["/etc/bank.npz", "../bank.npz", "a\\b.npz", "bank.npy", "bank"])
def test_a_bank_lies_in_the_folder_of_the_dataset(name: str) -> None:
    with pytest.raises(ValueError, match="bank_file"):
        params(bank_file=name)
