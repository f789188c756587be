"""Whether a run folder holds anything the database has not acknowledged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.store import logs
from app.store import runs as run_rows
from app.store.models import Snapshot
from trainer.protocol.events import Stream, snapshot_name
from trainer.protocol.probe_files import ADDED
from trainer.protocol.run_folder import RunPaths, segments
from trainer.protocol.snapshot_files import NOTE, is_of_added, mark_of, noted, snapshot_files

TAIL_BYTES: Final = 1024 * 1024


def has_unshipped(session: Session, run_id: str, paths: RunPaths) -> bool:
    """Whether events, output or snapshots of this run are in its folder only."""
    if not paths.root.is_dir() or not paths.token.exists():
        return False
    marks = run_rows.stream_marks(session, run_id)
    return (
        any(last_seq(paths.spool(stream)) > marks.get(stream, 0) for stream in Stream)
        or _has_output_beyond(session, run_id, paths)
        or _has_snapshot_beyond(session, run_id, paths)
    )


def last_seq(spool: Path) -> int:
    """The number of the last whole event of a spool folder; 0 when there is none."""
    for segment in reversed(segments(spool)):
        for line in reversed(_tail(segment).split(b"\n")[:-1]):  # what follows the last newline is torn
            try:
                return int(json.loads(line)["seq"])
            except (ValueError, KeyError, TypeError):
                continue
    return 0


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        return file.read()


def _has_output_beyond(session: Session, run_id: str, paths: RunPaths) -> bool:
    """``console.log`` is what is shipped; ``console.mark`` says how much of ``output.log`` is in it."""
    for folder in (paths.root / "attempts").glob("[0-9][0-9][0-9]"):
        number = int(folder.name)
        if _size(folder / "console.log") > logs.output_have(session, run_id, number):
            return True
        if _size(paths.output(number)) > _number_in(folder / "console.mark"):
            return True
    return False


def _has_snapshot_beyond(session: Session, run_id: str, paths: RunPaths) -> bool:
    rows = session.execute(select(Snapshot.dataset, Snapshot.step).where(Snapshot.run_id == run_id))
    stored = {(dataset.endswith(ADDED), snapshot_name(step)) for dataset, step in rows}
    sent = noted(paths.root / NOTE)  # or refused
    sent_once = {mark.rpartition(" ")[0] for mark in sent}
    for path in snapshot_files(paths):
        mark = mark_of(path, folder=paths.snapshots)
        if mark is None or mark in sent:
            continue
        is_written_anew = mark.rpartition(" ")[0] in sent_once
        if is_written_anew or (is_of_added(path), path.name) not in stored:
            return True
    return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _number_in(path: Path) -> int:
    try:
        return int.from_bytes(path.read_bytes()[:8], "little")
    except OSError:
        return 0
