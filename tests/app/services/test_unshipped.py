"""Which snapshots of a run's folder the dashboard does not have yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.services.unshipped import has_unshipped
from tests.app.routes.api_rig import Api, open_api, report_snapshot
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths

NAME = "step_000010.json.gz"
MARKED = pytest.mark.parametrize("folder", ["", "added/"])


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    opened = open_api(tmp_path)
    yield opened
    opened.parts.store.close()


def is_waiting(api: Api, run_id: str, paths: RunPaths) -> bool:
    with api.parts.store.read() as session:
        return has_unshipped(session, run_id, paths)


@MARKED
def test_a_snapshot_is_waited_for_until_it_is_noted_or_stored(api: Api, folder: str) -> None:
    run_id = api.new_run()
    paths = api.parts.runs.paths(run_id)
    write_atomic(paths.token, b"token")
    assert not is_waiting(api, run_id, paths)
    path = paths.snapshots / f"{folder}{NAME}"
    write_atomic(path, b"answers")
    assert is_waiting(api, run_id, paths)
    other = "python_docs" if folder else "python_docs (added probes)"
    report_snapshot(api, run_id, 10, num_correct=1, dataset=other)
    assert is_waiting(api, run_id, paths), "the other set has one of this step"
    report_snapshot(
        api, run_id, 10, num_correct=1, dataset="python_docs (added probes)" if folder else "python_docs"
    )
    assert not is_waiting(api, run_id, paths)


@MARKED
def test_one_that_was_written_again_is_waited_for_again(api: Api, folder: str) -> None:
    run_id = api.new_run()
    paths = api.parts.runs.paths(run_id)
    write_atomic(paths.token, b"token")
    path = paths.snapshots / f"{folder}{NAME}"
    write_atomic(path, b"answers")
    note = paths.root / "snapshots.sent"
    note.write_text(f"{folder}{NAME} {path.stat().st_mtime_ns}\n")
    assert not is_waiting(api, run_id, paths)
    note.write_text(f"{folder}{NAME} {path.stat().st_mtime_ns - 1}\n")
    assert is_waiting(api, run_id, paths)
