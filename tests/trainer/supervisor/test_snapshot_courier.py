"""What the courier carries: every snapshot once, and again when it was written again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children.dashboard import TOKEN, Dashboard
from tests.waiting import wait_for
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.snapshot_courier import SnapshotCourier

NAME = "step_000010.json.gz"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Dashboard]:
    server = Dashboard(tmp_path / "dashboard")
    yield server
    server.close()


@pytest.fixture
def couriers() -> Iterator[list[SnapshotCourier]]:
    started: list[SnapshotCourier] = []
    yield started
    for courier in started:
        courier.close()


def carry(paths: RunPaths, url: str, couriers: list[SnapshotCourier]) -> None:
    """Let a courier of its own, as each attempt's supervisor has, carry what there is."""
    courier = SnapshotCourier(paths, run="run")
    couriers.append(courier)
    courier.start()
    courier.connected(url, TOKEN, is_empty=False)
    wait_for(courier.drained, what="everything to be carried")


def test_a_snapshot_that_a_resumed_run_takes_again_arrives_again(
    tmp_path: Path, server: Dashboard, couriers: list[SnapshotCourier]
) -> None:
    """The dashboard no longer counts what an attempt said beyond the checkpoint the next one began at."""
    paths, url, arrived = RunPaths(tmp_path / "run"), server.start(), tmp_path / "dashboard" / "snapshot-10"
    write_atomic(paths.snapshots / NAME, b"of the first attempt")
    carry(paths, url, couriers)
    assert arrived.read_bytes() == b"of the first attempt"
    write_atomic(paths.snapshots / NAME, b"of the second")
    carry(paths, url, couriers)
    assert arrived.read_bytes() == b"of the second"
    arrived.unlink()
    carry(paths, url, couriers)
    assert not arrived.exists(), "what has arrived is not sent again"


def test_snapshots_of_added_probes_are_carried_too(
    tmp_path: Path, server: Dashboard, couriers: list[SnapshotCourier]
) -> None:
    paths, url = RunPaths(tmp_path / "run"), server.start()
    write_atomic(paths.snapshots / "added" / NAME, b"added")
    carry(paths, url, couriers)
    assert (tmp_path / "dashboard" / "snapshot-10").read_bytes() == b"added"
    note = (paths.root / "snapshots.sent").read_text()
    assert note.startswith(f"added/{NAME} ")
    os.utime(paths.snapshots / "added" / NAME, ns=(0, 0))
    carry(paths, url, couriers)
    assert (paths.root / "snapshots.sent").read_text() == f"{note}added/{NAME} 0\n"
