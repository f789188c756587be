"""What is found out about runs after the web process was away, with real supervisors."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.launchers.local import LocalLauncher
from app.services.adoption import Adoption, Patience
from app.services.queue import RunQueue
from app.services.runs import Runs
from app.store import runs as run_rows
from tests.app.services.run_rig import Rig, open_rig
from tests.waiting import wait_for
from trainer.protocol.run_folder import ExitRecord, RunPaths

WAIT_S = 60.0
HASTE = Patience(lost_after_s=0.0, start_grace_s=0.0)


@dataclass
class Office:
    """A web process's services with real supervisors; ``reopen`` stands for its death and restart."""

    folder: Path

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.rig: Rig = open_rig(self.folder)
        self.launcher = LocalLauncher()
        store, live, settings = self.rig.store, self.rig.live, self.rig.settings
        self.queue = RunQueue(store, settings=settings, launcher=self.launcher, live=live)
        self.runs = Runs(
            store,
            settings=settings,
            live=live,
            launcher=self.launcher,
            send_command=lambda run_id, command: False,
            wake_queue=lambda: None,
        )
        self.adoption = Adoption(
            store,
            settings=settings,
            launcher=self.launcher,
            live=live,
            redeliver_stop=self.runs.redeliver_stop,
            wake_queue=lambda: None,
            patience=HASTE,
        )

    def reopen(self) -> None:
        self.rig.store.close()
        self.open()

    def start(self, *, dataset: str) -> str:
        run, _ = self.runs.create("two_tower", dataset, {"device": "cpu", "num_epochs": 10_000})
        assert self.queue.launch_next()
        wait_for(lambda: self.holder(run.id), what="supervisor that holds its lock")
        wait_for(self.paths(run.id).attempt(1).exists, what="attempt")
        return run.id

    def paths(self, run_id: str) -> RunPaths:
        return RunPaths(self.rig.settings.runs_dir / run_id)

    def holder(self, run_id: str) -> int | None:
        paths = self.paths(run_id)
        return self.launcher.supervisor_pid(paths) if paths.supervisor.exists() else None

    def is_locked(self, run_id: str) -> bool:
        return self.launcher.lock_holder(self.paths(run_id)) is not None

    def kill_all(self, run_id: str) -> None:
        supervisor = psutil.Process(self.holder(run_id) or 0)
        for process in [supervisor, *supervisor.children(recursive=True)]:
            process.kill()
        wait_for(lambda: not self.is_locked(run_id), what="free lock")

    def state(self, run_id: str) -> str:
        return self.runs.get(run_id).state

    def move(self, run_id: str, new: RunState, *, stop_requested: bool = False) -> None:
        def work(session: Session) -> None:
            run_rows.transition(session, run_id, new=new, stop_requested=stop_requested)

        self.rig.store.write(work)

    def end_everything(self) -> None:
        for paths in map(RunPaths, self.rig.settings.runs_dir.glob("*")):
            pid = self.launcher.lock_holder(paths)
            if pid is not None:
                supervisor = psutil.Process(pid)
                for process in [*supervisor.children(recursive=True), supervisor]:
                    process.kill()
        self.rig.store.close()


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    opened = Office(tmp_path / "instance")
    yield opened
    opened.end_everything()


@pytest.fixture
def pairs(office: Office) -> str:
    inbox = office.rig.settings.dataset_roots[1]
    lines = [json.dumps({"query": f"word{n}", "document": f"text of word{n}"}) for n in range(64)]
    (inbox / "pairs.jsonl").write_text("\n".join(lines) + "\n")
    return "pairs.jsonl"


@pytest.mark.process
def test_a_run_that_ended_while_nobody_looked_has_its_true_end_afterwards(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.reopen()
    paths = office.paths(run_id)
    os.kill(office.holder(run_id) or 0, signal.SIGTERM)
    wait_for(paths.exit.exists, what="exit record")
    office.adoption.look()
    record = ExitRecord.load(paths)
    run = office.runs.get(run_id)
    assert record is not None
    assert (run.state, run.exit_code, run.exit_signal) == (record.state, record.exit_code, record.exit_signal)
    assert run.state == "stopped"
    assert run.ended_at == record.ended_at


@pytest.mark.process
def test_a_living_supervisor_is_told_the_new_address_and_keeps_its_run(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.paths(run_id).uplink.write_text('{"url": "http://127.0.0.1:1"}')
    office.reopen()
    office.adoption.look()
    assert json.loads(office.paths(run_id).uplink.read_bytes()) == {"url": office.rig.settings.base_url}
    assert office.state(run_id) == "starting"


@pytest.mark.process
def test_stop_reaches_the_supervisor_of_an_earlier_web_process(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.reopen()
    assert office.runs.stop(run_id).state == "stopping"
    wait_for(office.paths(run_id).exit.exists, what="exit record")
    office.adoption.look()
    assert office.state(run_id) == "stopped"
    assert office.runs.get(run_id).stop_requested


@pytest.mark.process
def test_a_stop_nobody_heard_is_said_again_after_the_restart(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.move(run_id, RunState.STOPPING, stop_requested=True)
    office.reopen()
    office.adoption.look()
    wait_for(office.paths(run_id).exit.exists, what="exit record")
    office.adoption.look()
    assert office.state(run_id) == "stopped"


@pytest.mark.process
def test_kill_ends_the_processes_at_once(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.runs.kill(run_id)
    wait_for(office.paths(run_id).exit.exists, what="exit record")
    office.adoption.look()
    assert office.state(run_id) == "stopped"


@pytest.mark.process
def test_a_run_whose_supervisor_was_killed_is_lost_after_two_looks_not_one(
    office: Office, pairs: str
) -> None:
    run_id = office.start(dataset=pairs)
    supervisor = psutil.Process(office.holder(run_id) or 0)
    processes = [*supervisor.children(recursive=True), supervisor]
    supervisor.kill()
    wait_for(lambda: office.holder(run_id) is None, what="free lock")
    patient = office.adoption
    patient._patience = Patience(lost_after_s=WAIT_S)
    patient.look()
    assert office.state(run_id) == "starting"
    patient._patience = HASTE
    patient.look()
    assert office.state(run_id) == "lost"
    assert office.runs.retry(run_id).state == "queued"
    for process in processes:
        if process.is_running():
            process.kill()


@pytest.mark.process
def test_a_run_believed_lost_comes_back_when_its_supervisor_does(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.move(run_id, RunState.LOST)
    office.adoption.look()
    assert office.state(run_id) == "running"


@pytest.mark.process
def test_a_lost_run_stays_lost_while_the_rest_of_it_is_shipped(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    office.kill_all(run_id)
    office.adoption.look()
    office.adoption.look()
    assert office.state(run_id) == "lost"
    wait_for(lambda: office.is_locked(run_id), what="process that ships the rest")
    office.adoption.look()
    assert office.state(run_id) == "lost"
    assert office.holder(run_id) is None


@pytest.mark.process
def test_a_signal_is_for_the_recorded_supervisor_only(office: Office, pairs: str) -> None:
    run_id = office.start(dataset=pairs)
    paths = office.paths(run_id)
    record = json.loads(paths.supervisor.read_bytes())
    paths.supervisor.write_text(json.dumps({**record, "create_time": 1.0, "start_ticks": None}))
    assert not office.launcher.signal(paths, signal.SIGTERM)
    paths.supervisor.write_text(json.dumps(record))
    assert office.launcher.signal(paths, signal.SIGTERM)


@pytest.mark.process
def test_a_supervisor_that_gives_up_at_once_is_a_failure_with_its_last_words(office: Office) -> None:
    run, _ = office.runs.create("two_tower", "python_docs", {})
    office.move(run.id, RunState.STARTING)
    paths = office.paths(run.id)
    paths.root.mkdir(parents=True)
    office.launcher.launch(paths)  # without a spec
    office.adoption._patience = Patience(lost_after_s=0.0, start_grace_s=WAIT_S)
    wait_for(lambda: office.launcher.is_running(paths) is False, what="its end")
    office.adoption.look()
    assert office.state(run.id) == "failed"
    assert "spec.json" in str(office.runs.get(run.id).reason)


def test_a_launch_that_leaves_nothing_behind_is_a_failure_with_a_hint(rig: Rig) -> None:
    run_id = rig.runs.create("two_tower", "python_docs", {})[0].id
    rig.queue.launch_next()
    adoption = _adoption_of(rig)
    adoption.look()
    assert rig.runs.get(run_id).state == "failed"
    assert "supervisor.log" in str(rig.runs.get(run_id).reason)


def test_an_exit_record_of_an_earlier_attempt_is_not_believed(rig: Rig) -> None:
    run_id = rig.runs.create("two_tower", "python_docs", {})[0].id
    rig.queue.launch_next()
    ExitRecord(run_id, 1, "finished", "all done", 0, None, False, 5, 1.0, 2.0).save(rig.paths(run_id))
    rig.launcher.alive[run_id] = 1
    _adoption_of(rig).look()
    assert rig.runs.get(run_id).state == "starting"


def test_a_run_that_its_policy_ends_is_not_taken_for_one_that_somebody_stopped(rig: Rig) -> None:
    run_id = rig.runs.create("two_tower", "python_docs", {})[0].id
    rig.queue.launch_next()
    rig.launcher.alive[run_id] = 1
    rig.store.write(lambda session: run_rows.transition(session, run_id, new=RunState.STOPPING))
    _adoption_of(rig).look()
    assert rig.launcher.signalled == []
    rig.store.write(lambda session: run_rows.touch(session, run_id, stop_requested=True))
    _adoption_of(rig).look()
    assert rig.launcher.signalled == [(run_id, signal.SIGTERM)]


def test_an_exit_record_that_cannot_be_read_is_a_failure_that_says_so(rig: Rig) -> None:
    run_id = rig.runs.create("two_tower", "python_docs", {})[0].id
    rig.queue.launch_next()
    rig.paths(run_id).exit.write_text("{")
    _adoption_of(rig).look()
    assert rig.runs.get(run_id).state == "failed"
    assert "cannot be read" in str(rig.runs.get(run_id).reason)


def test_what_an_ended_run_still_holds_is_shipped_and_tried_again(rig: Rig) -> None:
    run_id = rig.runs.create("two_tower", "python_docs", {})[0].id
    rig.queue.launch_next()
    paths = rig.paths(run_id)
    spool = paths.root / "spool" / "trainer"
    spool.mkdir(parents=True)
    (spool / "000001.jsonl").write_text('{"seq": 1, "t": 1.0}\n{"seq": 2, "t": 1.0}\n{"seq": 3, "t"')
    now = time.time()
    ExitRecord(run_id, 1, "finished", "done", 0, None, False, 2, now, now + 1).save(paths)
    _adoption_of(rig).look()
    assert rig.runs.get(run_id).state == "finished"
    assert rig.launcher.drained == [run_id]
    restarted = _adoption_of(rig)
    restarted.revisit_ended()
    restarted.look()
    assert rig.launcher.drained == [run_id] * 2


def _adoption_of(rig: Rig) -> Adoption:
    return Adoption(
        rig.store,
        settings=rig.settings,
        launcher=rig.launcher,
        live=rig.live,
        redeliver_stop=rig.runs.redeliver_stop,
        wake_queue=lambda: None,
        patience=HASTE,
    )
