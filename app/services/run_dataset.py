"""What a run has trained on, and whether the file still holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from app.config import Settings
from app.services.dataset_inspection import Inspections, InspectionWish
from app.store.models import Run
from trainer.datasets.kinds.registry import kinds
from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import DatasetVersion

SAME: Final = "same"
CHANGED: Final = "changed"
GONE: Final = "gone"
TOUCHED: Final = "touched"  # written to since, and nobody has looked what it holds now
UNKNOWN: Final = "unknown"  # the run has not read it yet
BUILTIN: Final = "builtin"

_WORDS: Final = {
    SAME: "The file still holds what this run has read.",
    CHANGED: "The file has changed since: it no longer holds what this run has read.",
    GONE: "The file is gone.",
    TOUCHED: "The file was written to since this run began; look it over to know whether its rows changed.",
    UNKNOWN: "The run has not read it yet.",
    BUILTIN: "Built in.",
}


def dataset_of(run: Run, *, settings: Settings) -> dict[str, Any]:
    """The dataset of ``run``: columns, hash, the version it was registered as, and how the file stands."""
    versions = _versions_of(run, settings)
    known = [version for version in versions if version.content_hash == run.dataset_hash]
    version = next(iter((known or versions)[::-1]), None)  # the one that has what it read, else the newest
    status = _status(run, versions)
    return {
        "dataset": run.dataset,
        "columns": run.columns,
        "content_hash": run.dataset_hash,
        "counts": run.dataset_counts,
        "registered": None if version is None else version.to_json(),
        "status": status,
        "message": _WORDS[status],
    }


def look_again(run: Run, *, settings: Settings, inspections: Inspections) -> dict[str, Any]:
    """The same after reading the file as the run has, which tells whether its rows have changed.

    Raises:
        Unavailable: too many files are being looked over.
    """
    told = dataset_of(run, settings=settings)
    if told["status"] in (BUILTIN, GONE, UNKNOWN):
        return told
    kind = told["registered"]["kind"] if told["registered"] else _kind_of(run)
    report = inspections.inspect(
        Path(run.dataset), InspectionWish(kind=kind, columns=dict(run.columns) or None)
    )
    check = report["check"]
    if not check["ok"]:
        return {**told, "status": CHANGED, "message": f"{_WORDS[CHANGED]} {check['error']}"}
    status = SAME if check["content_hash"] == run.dataset_hash else CHANGED
    return {**told, "status": status, "message": _WORDS[status]}


def _status(run: Run, versions: list[DatasetVersion]) -> str:
    path = Path(run.dataset)
    if not path.is_absolute():
        return BUILTIN
    try:
        found = path.stat()
    except (OSError, ValueError):
        return GONE
    if run.dataset_hash is None or run.started_at is None:
        return UNKNOWN
    if max(found.st_mtime, found.st_ctime) < run.started_at:
        return SAME
    for version in versions:  # of one that still is as it was registered, the content is known
        if version.columns == run.columns and version.trouble() is None:
            return SAME if version.content_hash == run.dataset_hash else CHANGED
    return TOUCHED


def _versions_of(run: Run, settings: Settings) -> list[DatasetVersion]:
    """The registered versions whose file the run reads, oldest first."""
    if not Path(run.dataset).is_absolute():
        return []
    folder = settings.datasets_dir
    there = [version for name in shelf.names(folder) for version in shelf.versions(folder, name)]
    return [version for version in there if version.path == run.dataset]


def _kind_of(run: Run) -> str:
    """The kind whose roles the run maps, where that says it; else what suggests itself."""
    fitting = [kind.name for kind in kinds().values() if run.columns and not kind.missing(run.columns)]
    return fitting[0] if fitting else ""
