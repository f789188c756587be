"""The SQLite library of this Python, against its known faults."""

from __future__ import annotations

import sqlite3
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

WAL_RESET_FIXED: Final = (3, 51, 3)


def look(surroundings: Surroundings) -> list[Check]:
    """Only the version is looked at; the database belongs to the dashboard."""
    return [judge(sqlite3.sqlite_version)]


def judge(version: str) -> Check:
    """Judge a version such as ``3.40.1``."""
    details = {"version": version}
    if tuple(int(part) for part in version.split(".")) >= WAL_RESET_FIXED:
        return Check(
            "sqlite", "SQLite", Verdict.OK, f"SQLite {version} has no fault known to us.", "", details
        )
    found = (
        f"SQLite {version} has a fault (fixed in 3.51.3) that can damage a WAL database when two connections "
        "write and reset the log at once. Signalbox is safe from it: one connection does all the writing."
    )
    remedy = "Do not write to instance/signalbox.db with other programs while the dashboard runs."
    return Check("sqlite", "SQLite", Verdict.NOTE, found, remedy, details)
