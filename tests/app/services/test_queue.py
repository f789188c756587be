"""Who starts next, once, and what happens when starting fails."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.domain.run_states import RunState
from app.errors import InvalidRequest
from app.services.access import Access
from app.services.run_reader import RunReader
from app.store import runs as run_rows
from tests.app.services.run_rig import Rig, open_rig
from trainer.protocol.probe_files import probes_path, read_probes
from trainer.protocol.run_folder import RunSpec


def new_run(rig: Rig, *, priority: int = 0) -> str:
    return rig.runs.create("two_tower", "python_docs", {}, priority=priority)[0].id


def finish(rig: Rig, run_id: str) -> None:
    rig.store.write(lambda session: run_rows.transition(session, run_id, new=RunState.FINISHED))


def test_runs_start_by_priority_then_by_age_and_never_more_than_allowed(rig: Rig) -> None:
    first, second, urgent = new_run(rig), new_run(rig), new_run(rig, priority=5)
    for expected in (urgent, first, second):
        assert rig.queue.launch_next()
        assert not rig.queue.launch_next()  # one at a time
        assert rig.launcher.launched[-1] == expected
        finish(rig, expected)
    assert not rig.queue.launch_next()


def test_a_launch_leaves_spec_token_and_address_in_the_run_folder(rig: Rig) -> None:
    run_id = new_run(rig)
    rig.queue.launch_next()
    paths = rig.paths(run_id)
    spec = RunSpec.load(paths)
    assert (spec.run_id, spec.recipe, spec.dataset) == (run_id, "two_tower", "python_docs")
    assert spec.params == rig.runs.get(run_id).params
    assert json.loads(paths.uplink.read_bytes()) == {"url": rig.settings.base_url}
    assert stat.S_IMODE(paths.token.stat().st_mode) == 0o600
    assert Access(rig.store).is_run(run_id, paths.token.read_text())
    assert rig.runs.get(run_id).state == "starting"


def test_many_threads_launch_a_run_once(rig: Rig) -> None:
    run_id = new_run(rig)
    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(lambda _: rig.queue.launch_next(), range(16)))
    assert outcomes.count(True) == 1
    assert rig.launcher.launched == [run_id]


def test_a_launch_that_fails_makes_the_run_failed_with_its_reason(rig: Rig) -> None:
    run_id = new_run(rig)
    rig.launcher.refusal = "no such interpreter"
    rig.queue.launch_next()
    run = rig.runs.get(run_id)
    assert run.state == "failed"
    assert "no such interpreter" in str(run.reason)
    (finding,) = RunReader(rig.store).findings(run_id)
    assert (finding["id"], finding["attempt"]) == ("not_started", run.attempt)
    assert "no such interpreter" in finding["cause"]
    assert finding["remedy"]


def test_a_run_takes_the_probes_of_its_file_along_once(rig: Rig) -> None:
    datasets = rig.settings.datasets_dir
    datasets.mkdir(parents=True, exist_ok=True)
    (datasets / "new.jsonl").write_text('{"input": "a", "expected_output": "b"}')
    run, _ = rig.runs.create("two_tower", "python_docs", {"probe_file": "new.jsonl"})
    rig.queue.launch_next()
    path = probes_path(rig.paths(run.id))
    assert [one.input for one in read_probes(path)] == ["a"]
    path.write_bytes(b"")  # people have taken it away
    rig.store.write(lambda session: run_rows.transition(session, run.id, new=RunState.FAILED))
    rig.runs.retry(run.id)
    rig.queue.launch_next()
    assert read_probes(path) == []


def test_a_file_of_probes_that_has_gone_meanwhile_is_the_reason_of_the_failure(rig: Rig) -> None:
    datasets = rig.settings.datasets_dir
    datasets.mkdir(parents=True, exist_ok=True)
    (datasets / "new.jsonl").write_text('{"input": "a"}')
    with pytest.raises(InvalidRequest, match="row 1: expected_output is missing") as refused:
        rig.runs.create("two_tower", "python_docs", {"probe_file": "new.jsonl"})
    assert refused.value.field == "params.probe_file"
    (datasets / "new.jsonl").write_text('{"input": "a", "expected_output": "b"}')
    run, _ = rig.runs.create("two_tower", "python_docs", {"probe_file": "new.jsonl"})
    (datasets / "new.jsonl").unlink()
    rig.queue.launch_next()
    assert rig.runs.get(run.id).state == "failed"
    assert "new.jsonl: No such file" in str(rig.runs.get(run.id).reason)


def test_a_folder_that_is_still_supervised_is_not_launched_again(rig: Rig) -> None:
    run_id = new_run(rig)
    rig.launcher.alive[run_id] = 77
    rig.queue.launch_next()
    assert rig.launcher.launched == []
    assert "77" in str(rig.runs.get(run_id).reason)


def test_a_further_attempt_is_numbered_at_once_and_the_last_supervisor_forgotten(rig: Rig) -> None:
    run_id = new_run(rig)
    rig.queue.launch_next()
    paths = rig.paths(run_id)
    assert rig.runs.get(run_id).attempt == 1
    paths.attempt(1).mkdir(parents=True)
    paths.supervisor.write_text("{}")
    rig.store.write(lambda session: run_rows.transition(session, run_id, new=RunState.FAILED))
    rig.runs.retry(run_id)
    rig.queue.launch_next()
    assert rig.runs.get(run_id).attempt == 2
    assert not paths.supervisor.exists()


def test_the_queue_survives_a_restart(tmp_path: Path) -> None:
    before = open_rig(tmp_path)
    waiting = [new_run(before), new_run(before)]
    before.store.close()
    after = open_rig(tmp_path, max_runs=2)
    assert after.queue.launch_next()
    assert after.queue.launch_next()
    after.store.close()
    assert after.launcher.launched == waiting


def test_the_thread_launches_what_is_queued_and_can_be_closed(rig: Rig) -> None:
    rig.queue.start()
    run_id = new_run(rig)
    rig.queue.wake()
    assert rig.launcher.has_launched.wait(20)
    rig.queue.close()
    assert rig.launcher.launched == [run_id]
