"""Whether the clocks agree: ages are measured with the monotonic one, times of day shown from the other."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Clocks"
WATCHED_S: Final = 0.5
MAX_DRIFT_S: Final = 0.05
MAX_FILE_LAG_S: Final = 2.0
REMEDY: Final = "Let the system synchronise its clock (timedatectl set-ntp true), and wait until it has."


def look(surroundings: Surroundings) -> list[Check]:
    """Watch both clocks for half a second, and ask the file system for its time."""
    wall, monotonic = time.time(), time.monotonic()
    time.sleep(WATCHED_S)
    drift_s = (time.time() - wall) - (time.monotonic() - monotonic)
    return [
        judge(
            now=time.time(),
            drift_s=drift_s,
            file_lag_s=_file_lag_s(surroundings.instance),
            written=_written(),
        )
    ]


def judge(*, now: float, drift_s: float, file_lag_s: float | None, written: float) -> Check:
    """Judge the wall clock.

    Args:
        now: Unix seconds.
        drift_s: by how much the wall clock went faster than the monotonic one.
        file_lag_s: by how much the file system's clock is ahead; None where that could not be tried.
        written: Unix seconds at which this very file was installed: no clock may be before that.
    """
    details = {"now": now, "drift_s": round(drift_s, 4), "file_lag_s": file_lag_s, "installed": written}
    if now < written - MAX_FILE_LAG_S:
        found = "The clock stands before the day this program was installed: every time shown will be wrong."
        return Check("clock", TITLE, Verdict.PROBLEM, found, REMEDY, details)
    if abs(drift_s) > MAX_DRIFT_S:
        found = f"The wall clock was moved by {drift_s:+.2f} s while it was watched: times shown may jump."
        return Check("clock", TITLE, Verdict.WARNING, found, REMEDY, details)
    if file_lag_s is not None and abs(file_lag_s) > MAX_FILE_LAG_S:
        found = (
            f"The file system's clock differs from this machine's by {file_lag_s:+.1f} s: a network share?"
        )
        remedy = "Put the instance folder on a local disk: locks and SQLite need one, too."
        return Check("clock", TITLE, Verdict.WARNING, found, remedy, details)
    found = "Wall clock and monotonic clock run alike, and the file system agrees."
    return Check("clock", TITLE, Verdict.OK, found, "", details)


def _file_lag_s(folder: Path) -> float | None:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(b"x")
            file.flush()
            return round(Path(file.name).stat().st_mtime - time.time(), 3)
    except OSError:
        return None  # the disk check says what is wrong


def _written() -> float:
    return Path(__file__).stat().st_mtime
