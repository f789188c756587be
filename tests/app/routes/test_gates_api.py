"""GO and NO-GO over REST."""

from __future__ import annotations

from typing import Any

from tests.app.routes.api_rig import Api, report_points
from tests.app.routes.test_run_details_api import report_events
from trainer.protocol.events import Stream

MEASURES = {
    "eval/recall@5": [0.2, 0.4], "eval/mrr": [0.1, 0.3], "eval/contain@50": [0.9, 0.5],
    "eval/separation": [0.2, 0.2], "eval/oracle": [1.0, 1.0], "eval/index_p95_ms": [1.0, 1.0],
}  # fmt: skip


def verdicts(answer: dict[str, Any], when: str) -> dict[str, str]:
    return {gate["name"]: gate[when] for gate in answer["gates"]}


def test_a_run_without_measures_has_gates_and_no_verdict(api: Api) -> None:
    run_id = api.new_run()
    answer = api.get(f"/api/runs/{run_id}/gates")
    assert (answer["newest"], answer["best"]) == (None, None)
    assert set(verdicts(answer, "newest").values()) == {"unknown"}
    assert api.call("GET", "/api/runs/nothing/gates").status_code == 404


def test_the_newest_measures_and_the_best_checkpoint_are_judged(api: Api) -> None:
    run_id = api.new_run(params={"gate_oracle": 0})
    at_best = {name: values[0] for name, values in MEASURES.items()} | {"eval/recall@5": 0.35}
    checkpoint = {
        "type": "checkpoint",
        "file": "step_000001.pt",
        "bytes": 9,
        "sha256": "f" * 64,
        "reason": "best",
    }
    report_events(
        api, run_id, {**checkpoint, "step": 1, "metrics": at_best, "best": True}, stream=Stream.TRAINER
    )
    for name, values in MEASURES.items():
        report_points(api, run_id, values, name=name)
    answer = api.get(f"/api/runs/{run_id}/gates")
    assert answer["newest"] == {"verdict": "no-go", "step": 2}
    assert answer["best"] == {"verdict": "go", "step": 1}
    assert verdicts(answer, "newest") == {"finds": "go", "contains": "no-go", "separates": "go", "fast": "go"}
    assert set(verdicts(answer, "best").values()) == {"go"}
    contains = next(gate for gate in answer["gates"] if gate["name"] == "contains")
    assert contains["conditions"] == [
        {
            "metric": "eval/contain@50",
            "unit": "share",
            "at_least": True,
            "threshold": 0.82,
            "newest": 0.5,
            "best": 0.9,
        }
    ]
