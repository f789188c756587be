"""Start, train, snapshot, evaluate, stop, resume: over the REST API, with nothing replaced."""

from __future__ import annotations

import hashlib
import math
import re

import pytest

from tests.e2e.dashboard import FINISHED_STEPS as STEPS
from tests.e2e.dashboard import LIVELY, Dashboard
from tests.e2e.spool import assert_nothing_is_lost, spooled_events
from trainer.protocol.events import Stream


def test_a_finished_run_tells_how_it_went(dashboard: Dashboard, finished: str) -> None:
    run = dashboard.run(finished)
    assert run["state"] == "finished", dashboard.describe(finished)
    assert (run["exit_code"], run["exit_signal"], run["attempt"]) == (0, None, 1)
    assert run["step"] == run["total_steps"] == STEPS
    assert run["created_at"] <= run["started_at"] <= run["ended_at"]
    assert run["device"]
    assert math.isfinite(run["latest"]["train/loss"])


def test_every_step_is_a_point_of_the_loss_and_the_loss_falls(dashboard: Dashboard, finished: str) -> None:
    series = dashboard.get(f"/api/runs/{finished}/metrics/train/loss?points=1500")
    assert series["steps"] == list(range(1, STEPS + 1))
    assert series["total_points"] == STEPS
    assert not series["downsampled"]
    losses = series["values"]
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    chance = dashboard.get(f"/api/runs/{finished}/metrics/train/chance_loss")["values"]
    assert chance[0] == pytest.approx(math.log(128), rel=0.2)


def test_what_the_run_reported_is_what_the_api_has(dashboard: Dashboard, finished: str) -> None:
    assert_nothing_is_lost(dashboard, finished)


def test_held_out_recall_is_measured_on_schedule(dashboard: Dashboard, finished: str) -> None:
    recall = dashboard.get(f"/api/runs/{finished}/metrics/eval/recall@10")
    assert [step for step in recall["steps"] if step] == [20, 40, 60]
    assert all(0 <= value <= 1 for value in recall["values"])


def test_a_chart_gets_no_more_points_than_it_has_pixels(dashboard: Dashboard, finished: str) -> None:
    series = dashboard.get(f"/api/runs/{finished}/metrics/train/loss?points=20")
    assert len(series["steps"]) <= 20
    assert series["downsampled"]
    whole = dashboard.get(f"/api/runs/{finished}/metrics/train/loss")["values"]
    assert max(series["values"]) == max(whole)
    assert min(series["values"]) == min(whole)


def test_the_environment_is_shown_with_reasons(dashboard: Dashboard, finished: str) -> None:
    environment = dashboard.get(f"/api/runs/{finished}/environment")
    variables = {variable["name"]: variable for variable in environment["environment"]}
    assert variables["PYTHONUNBUFFERED"]["value"] == "1"
    assert variables["OMP_NUM_THREADS"]["value"] == variables["MKL_NUM_THREADS"]["value"]
    assert all(variable["reason"] for variable in variables.values())
    assert "-X" in environment["command"]


def test_checkpoints_are_what_their_manifests_say(dashboard: Dashboard, finished: str) -> None:
    checkpoints = dashboard.get(f"/api/runs/{finished}/checkpoints")["checkpoints"]
    assert {checkpoint["step"] for checkpoint in checkpoints} >= {30, STEPS}
    newest = max(checkpoints, key=lambda checkpoint: checkpoint["step"])
    content = (dashboard.paths(finished).checkpoints / newest["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == newest["sha256"]
    assert len(content) == newest["bytes"]


def test_the_log_can_be_read(dashboard: Dashboard, finished: str) -> None:
    answer = dashboard.get(f"/api/runs/{finished}/logs?offset=0&limit=65536")
    output = dashboard.paths(finished).output(1).read_text(encoding="utf-8")
    assert answer["text"] == output[: len(answer["text"])]


def test_the_evolution_api_keeps_its_shapes(dashboard: Dashboard, finished: str) -> None:
    datasets = {entry["name"]: entry for entry in dashboard.get("/api/evolution/datasets")["datasets"]}
    name = next(iter(datasets))
    assert {"name", "snapshot_count", "first_step", "last_step", "path"} <= set(datasets[name])
    snapshots = dashboard.get(f"/api/evolution/{name}/snapshots?run={finished}")["snapshots"]
    assert [snapshot["step"] for snapshot in snapshots][:3] == [0, 10, 25]
    assert snapshots[-1]["step"] == STEPS
    for snapshot in snapshots:
        assert {"step", "timestamp", "summary", "filename"} <= set(snapshot)
        assert {"avg_loss", "accuracy", "total_examples", "correct", "incorrect"} <= set(snapshot["summary"])
    whole = dashboard.get(f"/api/evolution/{name}/snapshot/{STEPS}?run={finished}")
    assert {"snapshot_id", "training_step", "timestamp", "model_version", "examples", "summary"} <= set(whole)
    assert whole["training_step"] == STEPS
    assert len(whole["examples"]) == whole["summary"]["total_examples"] == LIVELY["num_probes"]
    for example in whole["examples"]:
        assert {
            *("example_id", "step", "input", "expected_output", "model_output", "loss"),
            *("exact_match", "output_length", "similarity"),
        } <= set(example)
    first = dashboard.get(f"/api/evolution/{name}/snapshot/first?run={finished}")
    assert first["training_step"] == 0
    assert whole["summary"]["avg_loss"] < first["summary"]["avg_loss"]


def test_the_swapped_evolution_address_leads_to_the_right_one(dashboard: Dashboard, finished: str) -> None:
    name = dashboard.get("/api/evolution/datasets")["datasets"][0]["name"]
    straight = dashboard.get(f"/api/evolution/{name}/snapshot/0?run={finished}")
    assert dashboard.get(f"/api/evolution/snapshot/{name}/0?run={finished}") == straight


def test_an_unknown_step_names_the_nearest_ones(dashboard: Dashboard, finished: str) -> None:
    name = dashboard.get("/api/evolution/datasets")["datasets"][0]["name"]
    answer = dashboard.request("GET", f"/api/evolution/{name}/snapshot/12?run={finished}")
    assert answer.status == 404
    assert isinstance(answer.body["error"], str)
    assert re.search(r"\b10\b", str(answer.body))


def test_the_same_idempotency_key_is_the_same_run(dashboard: Dashboard) -> None:
    body = {"recipe": "two_tower", "dataset": "stdlib.jsonl", "params": LIVELY | {"max_steps": 2}}
    first = dashboard.request("POST", "/api/runs", body, Idempotency_Key="click-1")
    second = dashboard.request("POST", "/api/runs", body, Idempotency_Key="click-1")
    assert first.status == 201
    assert second.status in {200, 201}
    assert first.body["id"] == second.body["id"]
    dashboard.order(first.body["id"], "stop")
    dashboard.wait_for_state(first.body["id"], "stopped", "finished")


def test_a_run_stopped_while_it_starts_is_stopped(dashboard: Dashboard) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", name="not today")
    dashboard.wait_for_state(run_id, "starting", "running")
    assert dashboard.order(run_id, "stop").status == 202
    run = dashboard.wait_for_state(run_id, "stopped", "failed", "finished", "lost")
    assert run["state"] == "stopped", dashboard.describe(run_id)


def test_a_stopped_run_goes_on_from_its_last_checkpoint(dashboard: Dashboard) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", name="twice")
    dashboard.wait_for_step(run_id, 30)
    dashboard.order(run_id, "stop")
    stopped = dashboard.wait_for_state(run_id, "stopped")
    assert stopped["exit_code"] == 0
    assert dashboard.order(run_id, "resume").status == 202
    dashboard.wait_for_step(run_id, stopped["step"] + 10)
    attempts = dashboard.get(f"/api/runs/{run_id}/attempts")["attempts"]
    assert [attempt["from_step"] for attempt in sorted(attempts, key=lambda one: one["attempt"])] == [
        0,
        stopped["step"],
    ]
    dashboard.order(run_id, "stop")
    dashboard.wait_for_state(run_id, "stopped")
    assert_nothing_is_lost(dashboard, run_id)
    steps = [
        event["step"]
        for event in spooled_events(dashboard.paths(run_id), Stream.TRAINER)
        if event["type"] == "metrics" and "train/loss" in event["values"]
    ]
    assert steps == list(range(1, len(steps) + 1)), "a graceful stop repeats no step"


def test_killing_a_run_ends_it_at_once(dashboard: Dashboard) -> None:
    run_id = dashboard.create_run("stdlib.jsonl", name="no mercy")
    dashboard.wait_for_step(run_id, 5)
    dashboard.order(run_id, "kill")
    run = dashboard.wait_for_state(run_id, "stopped", "failed")
    assert run["exit_signal"] == 9
    assert_nothing_is_lost(dashboard, run_id)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"query": "a"}\n', "document"),
        ("not json\n", "1"),
        ('{"query": "a", "document": 7}\n', "document"),
    ],
)
def test_a_broken_dataset_ends_the_run_with_the_place_of_the_mistake(
    dashboard: Dashboard, content: str, place: str
) -> None:
    path = dashboard.instance / "inbox" / "broken.jsonl"
    path.write_text(content)
    run_id = dashboard.create_run("broken.jsonl", name="broken")
    run = dashboard.wait_for_state(run_id, "failed", "finished")
    assert run["state"] == "failed"
    log = dashboard.get(f"/api/runs/{run_id}/logs")["text"]
    assert "broken.jsonl" in log
    assert place in log


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"recipe": "two_tower", "dataset": "stdlib.jsonl", "params": {"batch_size": 0}}, "batch_size"),
        ({"recipe": "two_tower", "dataset": "stdlib.jsonl", "params": {"batch_size": "many"}}, "batch_size"),
        ({"recipe": "two_tower", "dataset": "stdlib.jsonl", "params": {"nonsense": 1}}, "nonsense"),
        ({"recipe": "rm -rf", "dataset": "stdlib.jsonl"}, "recipe"),
        ({"recipe": "two_tower", "dataset": "../../../etc/passwd"}, "dataset"),
        ({"recipe": "two_tower"}, "dataset"),
        ([], ""),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_started(
    dashboard: Dashboard, body: object, field: str
) -> None:
    before = dashboard.get("/api/runs")["total"]
    answer = dashboard.request("POST", "/api/runs", body)
    assert 400 <= answer.status < 500
    assert field in answer.body["error"].get("field", "")
    assert answer.body["error"]["message"]
    assert dashboard.get("/api/runs")["total"] == before


def test_nobody_comes_in_without_a_token(dashboard: Dashboard) -> None:
    for path in ("/api/runs", "/api/evolution/datasets", "/api/server"):
        assert dashboard.request("GET", path, Authorization="Bearer wrong").status == 401
    assert dashboard.request("POST", "/api/runs", {}, Authorization="").status == 401
