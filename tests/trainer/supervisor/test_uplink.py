"""Real supervisors linked to a real websocket server that is cut off, wrong, busy and killed."""

from __future__ import annotations

import gzip
import json
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.children.dashboard import Dashboard, batches_of, output_of
from tests.trainer.supervisor.supervised import (
    ROOT,
    events,
    finish,
    new_run,
    start,
    states,
    steps_reported,
    supervise,
    wait_until,
)
from trainer.protocol.batches import BATCH_BYTES, Batch
from trainer.protocol.events import Stream
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.drain import drain

pytestmark = pytest.mark.process


def assert_nothing_is_lost(paths: RunPaths, folder: Path) -> None:
    """Both streams and the output have arrived, each event once, in order, with its values."""
    for stream in Stream:
        spooled = events(paths, stream)
        batches = batches_of(folder, stream)
        assert [batch.first for batch in batches] == [1] + [batch.last + 1 for batch in batches[:-1]]
        assert batches[-1].last == len(spooled)
        sparse = [event for batch in batches for event in batch.events]
        assert sparse == [event for event in spooled if event["type"] != "metrics"]
        points = [point for batch in batches for point in points_of(batch)]
        expected = [
            (e["attempt"], name, e["step"], value)
            for e in spooled
            if e["type"] == "metrics"
            for name, value in e["values"].items()
        ]
        assert sorted(points) == sorted(expected)
    assert output_of(folder, 1) == (paths.attempt(1) / "console.log").read_bytes()


def points_of(batch: Batch) -> list[tuple[int, str, int, float]]:
    return [
        (block.attempt, name, step, value)
        for block in batch.blocks
        for name, column in zip(block.names, block.values, strict=True)
        for step, value in zip(block.steps, column, strict=True)
    ]


def test_a_whole_run_arrives_with_its_snapshot_and_its_end_comes_last(
    tmp_path: Path, dashboard: Dashboard
) -> None:
    paths = new_run(tmp_path, url=dashboard.start())
    assert supervise(paths, "finishes", drain_s=30).state == "finished"
    assert_nothing_is_lost(paths, tmp_path / "dashboard")
    snapshot = (tmp_path / "dashboard" / "snapshot-200").read_bytes()
    assert json.loads(gzip.decompress(snapshot)) == {"step": 200}
    log = (tmp_path / "dashboard" / "accepted.jsonl").read_text().splitlines()
    kinds = [
        "output" if "output" in json.loads(line) else json.loads(line)["batch"]["stream"] for line in log
    ]
    assert kinds[-1] == "supervisor"


def test_the_dashboard_can_stop_a_run_and_pass_orders_to_the_trainer(
    tmp_path: Path, dashboard: Dashboard
) -> None:
    paths = new_run(tmp_path, url=dashboard.start())
    supervisor = start(paths, "trains_until_stopped", drain_s=30)
    wait_until(lambda: dashboard.have["trainer"] > 10)
    assert dashboard.control("checkpoint") == {"ok": True}
    wait_until(lambda: any(e.get("text") == "checkpoint" for e in events(paths, Stream.TRAINER)))
    assert dashboard.control("dance")["ok"] is False
    wait_until(lambda: any(status["process"] for status in dashboard.statuses))
    assert dashboard.statuses[-1]["heartbeat"]["attempt"] == 1
    assert 0 <= dashboard.statuses[-1]["progress_age_s"] < 30
    assert dashboard.control("stop") == {"ok": True}
    assert finish(supervisor, paths).state == "stopped"
    assert_nothing_is_lost(paths, tmp_path / "dashboard")


def test_what_comes_thinly_travels_together(tmp_path: Path, dashboard: Dashboard) -> None:
    paths = new_run(tmp_path, url=dashboard.start())
    supervisor = start(paths, "trains_until_stopped", drain_s=30)
    wait_until(lambda: dashboard.have["trainer"] > 10)
    began, before = time.monotonic(), dashboard.have["trainer"]
    early = len(batches_of(tmp_path / "dashboard", Stream.TRAINER))
    wait_until(lambda: time.monotonic() - began > 2.0 and dashboard.have["trainer"] > before)
    late = len(batches_of(tmp_path / "dashboard", Stream.TRAINER))
    assert late > early
    assert dashboard.have["trainer"] - before > 3 * (late - early), "a batch for every word"
    assert dashboard.control("stop") == {"ok": True}
    assert finish(supervisor, paths).state == "stopped"
    assert_nothing_is_lost(paths, tmp_path / "dashboard")


def test_a_dashboard_that_comes_late_gets_everything(tmp_path: Path, dashboard: Dashboard) -> None:
    paths = new_run(tmp_path, url="http://127.0.0.1:9")
    supervisor = start(paths, "finishes", drain_s=60)
    wait_until(paths.exit.exists)
    write_atomic(paths.uplink, json.dumps({"url": dashboard.start()}).encode())
    assert finish(supervisor, paths).state == "finished"
    assert_nothing_is_lost(paths, tmp_path / "dashboard")


def test_drain_ships_what_was_left_when_the_dashboard_was_away(tmp_path: Path, dashboard: Dashboard) -> None:
    paths = new_run(tmp_path, url="http://127.0.0.1:9")
    assert supervise(paths, "finishes", drain_s=0).state == "finished"
    write_atomic(paths.uplink, json.dumps({"url": dashboard.start()}).encode())
    assert drain(paths, timeout_s=30)
    assert_nothing_is_lost(paths, tmp_path / "dashboard")
    assert drain(paths, timeout_s=30)  # nothing left: nothing sent twice
    assert_nothing_is_lost(paths, tmp_path / "dashboard")


def test_drain_gives_up_after_its_time(tmp_path: Path) -> None:
    paths = new_run(tmp_path, url="http://127.0.0.1:9")
    supervise(paths, "finishes")
    assert not drain(paths, timeout_s=0.5)


def test_a_wrong_token_keeps_the_run_alive_and_the_dashboard_empty(
    tmp_path: Path, dashboard: Dashboard
) -> None:
    paths = new_run(tmp_path, url=dashboard.start())
    write_atomic(paths.token, b"another token", mode=0o600)
    assert supervise(paths, "finishes", drain_s=1).state == "finished"
    assert dashboard.hellos == []
    assert "not linked" in paths.supervisor_log.read_text()


def test_one_refused_event_is_replaced_by_a_notice_and_the_rest_arrives(
    tmp_path: Path, dashboard: Dashboard
) -> None:
    def refuse(batch: Batch) -> str | None:
        is_bad = batch.stream is Stream.TRAINER and batch.first <= 100 <= batch.last
        is_notice = any(event.get("title") == "Lost an event" for event in batch.events)
        return "event 100 smells" if is_bad and not is_notice else None

    dashboard.refuse = refuse
    paths = new_run(tmp_path, url=dashboard.start())
    assert supervise(paths, "finishes", drain_s=30).state == "finished"
    batches = batches_of(tmp_path / "dashboard", Stream.TRAINER)
    assert batches[-1].last == len(events(paths, Stream.TRAINER))
    notices = [e for batch in batches for e in batch.events if e.get("title") == "Lost an event"]
    assert [(notice["seq"], "smells" in notice["text"]) for notice in notices] == [(100, True)]


def test_nothing_is_lost_over_a_link_that_drops_refuses_and_repeats(tmp_path: Path) -> None:
    server = Dashboard(tmp_path / "dashboard", faults=0.2, seed=7)
    try:
        paths = new_run(tmp_path, url=server.start())
        supervisor = start(paths, "reports_fast", drain_s=60)
        wait_until(lambda: len(server.hellos) > 5 and server.have["trainer"] > 2000, timeout_s=60)
        supervisor.send_signal(signal.SIGTERM)
        assert finish(supervisor, paths).state == "stopped"
        assert_nothing_is_lost(paths, tmp_path / "dashboard")
    finally:
        server.close()


def test_nothing_is_lost_when_the_dashboard_is_killed_again_and_again(tmp_path: Path) -> None:
    chance = random.Random(5)
    port = free_port()
    folder = tmp_path / "dashboard"
    log = folder / "accepted.jsonl"
    server = serve(port, folder)
    paths = new_run(tmp_path, url=f"http://127.0.0.1:{port}")
    supervisor = start(paths, "reports_fast", drain_s=60)
    for _ in range(6):
        before = log.stat().st_size
        wait_until(lambda before=before: log.stat().st_size > before)  # type: ignore[misc]
        time.sleep(chance.uniform(0.0, 0.5))
        server.kill()
        server.wait()
        server = serve(port, folder)
    supervisor.send_signal(signal.SIGTERM)
    try:
        assert finish(supervisor, paths).state == "stopped"
    finally:
        server.kill()
        server.wait()
    assert steps_reported(paths) > 500
    assert_nothing_is_lost(paths, folder)


def test_after_the_death_of_supervisor_and_dashboard_drain_brings_everything(
    tmp_path: Path, dashboard: Dashboard
) -> None:
    paths = new_run(tmp_path, url=dashboard.start())
    supervisor = start(paths, "reports_fast", drain_s=60)
    wait_until(lambda: dashboard.have["trainer"] > 500)
    supervisor.kill()
    supervisor.wait()
    wait_until(lambda: any(event["type"] == "finished" for event in events(paths, Stream.TRAINER)))
    assert drain(paths, timeout_s=30)
    assert_nothing_is_lost(paths, tmp_path / "dashboard")


def test_batches_stay_below_their_limit_on_the_wire(tmp_path: Path, dashboard: Dashboard) -> None:
    paths = new_run(tmp_path, url="http://127.0.0.1:9")
    supervisor = start(paths, "reports_fast", drain_s=60)
    wait_until(lambda: steps_reported(paths) > 10_000)
    write_atomic(paths.uplink, json.dumps({"url": dashboard.start()}).encode())
    supervisor.send_signal(signal.SIGTERM)
    finish(supervisor, paths)
    sizes = [len(line) for line in (tmp_path / "dashboard" / "accepted.jsonl").read_text().splitlines()]
    assert max(sizes) <= BATCH_BYTES
    assert states(paths)[-1] == "stopped"


def test_a_deleted_run_lets_its_supervisor_go(tmp_path: Path) -> None:
    paths = new_run(tmp_path, url="http://127.0.0.1:9")
    supervisor = start(paths, "finishes", drain_s=600)
    wait_until(paths.exit.exists)
    paths.root.rename(tmp_path / "deleted")
    paths.attempt(1).mkdir(parents=True)  # as a write that was under way brings the empty folder back
    assert supervisor.wait(30) == 0


def test_a_signal_ends_the_wait_for_the_dashboard(tmp_path: Path) -> None:
    paths = new_run(tmp_path, url="http://127.0.0.1:9")
    supervisor = start(paths, "finishes", drain_s=600)
    wait_until(paths.exit.exists)
    supervisor.send_signal(signal.SIGTERM)
    assert finish(supervisor, paths).state == "finished"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve(port: int, folder: Path) -> subprocess.Popen[bytes]:
    """The dashboard in a process of its own, ready."""
    command = [sys.executable, "-m", "tests.children.dashboard", str(port), str(folder)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    with process.stdout as ready:
        assert ready.readline() == b"ready\n"
    return process
