"""Variables of one's own and the policy over REST: checked, kept, shown, and secrets hidden."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.domain.run_states import RunState
from tests.app.routes.api_rig import Api
from trainer.environment.secrets import HIDDEN
from trainer.protocol.batches import Batch
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import RunPaths, RunSpec

VALID = {"recipe": "two_tower", "dataset": "python_docs"}
SECRET = "hf_do-not-tell"
OWN = {"OMP_NUM_THREADS": "1", "HF_TOKEN": SECRET}


def started(api: Api, run_id: str, **more: Any) -> None:
    event = {"seq": 1, "t": 1.0, "attempt": 1, "type": "attempt", "what": "started", "pid": 5, "command": []}
    api.parts.ingest.accept(Batch(run_id, Stream.SUPERVISOR, 1, 1, [], [{**event, **more}]))


def test_the_preview_shows_yours_in_place_of_ours_with_warnings(api: Api) -> None:
    shown = api.call("POST", "/api/preview", {**VALID, "environment": OWN}).get_json()
    variables = {one["name"]: one for one in shown["environment"]}
    assert variables["OMP_NUM_THREADS"]["source"] == "yours"
    assert variables["OMP_NUM_THREADS"]["replaced"]["source"] == "threads"
    assert variables["HF_TOKEN"]["value"] == HIDDEN
    assert variables["PYTHONUNBUFFERED"]["reference"].startswith("https://")
    different = variables["MKL_NUM_THREADS"]["value"] != "1"
    assert [one["name"] for one in shown["warnings"]] == (["OMP_NUM_THREADS"] if different else [])


@pytest.mark.parametrize("path", ["/api/runs", "/api/preview"])
@pytest.mark.parametrize(
    ("environment", "field"),
    [
        ({"LD_PRELOAD": "x"}, "environment.LD_PRELOAD"),
        ({"A B": "x"}, "environment.A B"),
        ({"A": 5}, "environment.A"),
        ({"A": "x\0"}, "environment.A"),
        ({f"A{n}": "" for n in range(65)}, "environment"),
        (["A=1"], "environment"),
    ],
)
def test_a_wrong_variable_is_a_422_that_names_it(
    api: Api, path: str, environment: object, field: str
) -> None:
    response = api.call("POST", path, {**VALID, "environment": environment})
    assert (response.status_code, response.get_json()["error"]["field"]) == (422, field)
    assert api.get("/api/runs")["total"] == 0


def test_a_device_that_the_profile_does_not_have_is_refused(api: Api) -> None:
    response = api.call("POST", "/api/runs", {**VALID, "profile": "safe", "params": {"device": "cuda"}})
    assert (response.status_code, response.get_json()["error"]["field"]) == (422, "params.device")


def test_a_secret_is_in_no_answer_but_reaches_the_run_and_its_clone(api: Api) -> None:
    run_id = api.new_run(environment=OWN)
    twin = api.call("POST", f"/api/runs/{run_id}/clone").get_json()
    answers = [api.get(f"/api/runs/{run_id}"), twin, api.get("/api/runs")]
    assert SECRET not in json.dumps(answers)
    assert answers[0]["environment"] == {**OWN, "HF_TOKEN": HIDDEN}
    for one in (run_id, twin["id"]):
        assert api.parts.runs.get(one).environment == OWN
    again = api.call("POST", "/api/runs", {**VALID, "environment": twin["environment"]})
    assert again.get_json()["error"]["field"] == "environment.HF_TOKEN"


def test_a_launched_run_finds_its_variables_and_policy_in_its_spec(api: Api) -> None:
    run_id = api.new_run(environment=OWN, policy={"on_stall": "retry", "retry_after_s": 30})
    assert api.parts.queue.launch_next()
    paths = RunPaths(api.parts.settings.runs_dir / run_id)
    spec = RunSpec.load(paths)
    assert (spec.environment, spec.policy) == (OWN, {"on_stall": "retry", "retry_after_s": 30})
    assert paths.spec.stat().st_mode & 0o077 == 0
    api.move(run_id, RunState.FAILED)
    api.call("POST", f"/api/runs/{run_id}/retry")
    assert api.parts.runs.get(run_id).environment == OWN


def test_one_key_with_other_variables_is_another_run(api: Api) -> None:
    first = api.call("POST", "/api/runs", {**VALID, "environment": OWN}, Idempotency_Key="k")
    same = api.call("POST", "/api/runs", {**VALID, "environment": OWN}, Idempotency_Key="k")
    other = api.call("POST", "/api/runs", VALID, Idempotency_Key="k")
    assert [one.status_code for one in (first, same, other)] == [201, 200, 409]


def test_recipes_come_with_what_a_policy_may_say(api: Api) -> None:
    fields = {field["name"]: field for field in api.get("/api/recipes")["policy"]}
    assert fields["max_attempts"]["default"] == 3
    assert set(fields["on_stall"]["choices"]) == {"report", "stop", "retry"}


def test_a_run_shows_the_rungs_of_its_newest_attempt_and_how_far_it_came(api: Api) -> None:
    run_id = api.new_run()
    assert api.get(f"/api/runs/{run_id}")["rungs"] == []
    rung = {"rung": "subset", "title": "half of the pairs", "changes_numbers": True, "is_unsafe": False}
    taken = {**rung, "reason": "r", "attempt": 1, "changes": {"max_pairs": [8, 4]}}
    started(api, run_id, plan={"attempt": 1, "rungs": [taken], "params": {}, "environment": {}})
    assert api.get(f"/api/runs/{run_id}")["rungs"] == [rung]
    assert api.get(f"/api/runs/{run_id}/attempts")["attempts"][0]["reached_step"] is None
    ended = {"seq": 2, "t": 2.0, "attempt": 1, "type": "attempt", "what": "ended", "exit_code": 1, "step": 70}
    api.parts.ingest.accept(Batch(run_id, Stream.SUPERVISOR, 2, 2, [], [ended]))
    assert api.get(f"/api/runs/{run_id}/attempts")["attempts"][0]["reached_step"] == 70


@pytest.mark.parametrize("value", ["TRUE", "1", "yes"])
def test_two_openmp_runtimes_in_one_process_are_unsafe_wherever_that_comes_from(api: Api, value: str) -> None:
    run_id = api.new_run()
    variable = {"name": "KMP_DUPLICATE_LIB_OK", "value": value, "reason": "r", "source": "yours"}
    started(api, run_id, environment=[variable])
    (rung,) = api.get(f"/api/runs/{run_id}")["rungs"]
    assert (rung["rung"], rung["is_unsafe"]) == ("duplicate_openmp", True)


def test_an_attempt_without_a_plan_is_a_plain_one(api: Api) -> None:
    run_id = api.new_run()
    off = {"name": "KMP_DUPLICATE_LIB_OK", "value": "FALSE", "reason": "r", "source": "yours"}
    started(api, run_id, plan=None, environment=[off, "odd"])
    assert api.get(f"/api/runs/{run_id}")["rungs"] == []
