"""Takes the original system's snapshot trees in: a finished run per dataset, whole or not at all.

Every file of a dataset is checked before anything is stored, and all of them
are stored in one transaction. What was imported before is known by the hash of
its file: importing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.domain.snapshots import name_trouble
from app.errors import InvalidRequest
from app.services.evolution_import_checks import (
    BadSnapshotFile,
    ImportedSnapshot,
    digest,
    parse_original,
)
from app.services.evolution_import_files import DatasetFolder, dataset_folders, read_file
from app.services.evolution_original import RECIPE, TAG, printable
from app.services.run_ids import new_run_id
from app.services.run_policy import check_policy
from app.store import imports, runs, snapshots
from app.store.engine import Store
from app.store.models import Run

MAX_NAME: Final = 1_000  # characters of a dataset's name
TIMEOUT_S: Final = 3600.0  # for the transaction of one dataset


class Result(StrEnum):
    """What became of one dataset."""

    IMPORTED = "imported"
    ADDED = "added to"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """What became of one dataset, for a line of a table.

    ``num_stored`` counts the snapshots its run has now, ``problems`` say why it was refused (each names
    its file), ``notes`` what else is worth knowing.
    """

    dataset: str
    result: Result
    run_id: str | None = None
    num_stored: int = 0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Refused(Exception):
    """Nothing of the dataset is stored; the message says why."""


def import_tree(
    store: Store, root: Path, *, dataset: str | None = None, replace: bool = False
) -> list[Outcome]:
    """Import every dataset below ``root``; one that is refused does not keep the others out.

    Args:
        store: where to; its writer must run.
        root: the original's ``evolution_snapshots``, or one dataset's folder.
        dataset: the name it is taken under; None stands for the folder's. Only with one dataset.
        replace: whether the run becomes what the folder holds, where that has changed.
    Raises:
        InvalidRequest: ``root`` has no snapshots, or ``dataset`` does not fit.
    """
    folders = dataset_folders(root)
    if dataset is not None:
        if len(folders) > 1:
            raise InvalidRequest(
                f"{printable(str(root), limit=300)} has {len(folders)} datasets: --dataset cannot name one.",
                field="--dataset",
                hint="Name the folder of the one that is meant.",
            )
        folders[0].name = dataset
    return [_import(store, folder, replace=replace) for folder in folders]


def _import(store: Store, folder: DatasetFolder, *, replace: bool) -> Outcome:
    problems = [*_name_problems(folder.name), *folder.problems]
    hashes, unknown = _check_files(folder, problems)
    if problems:
        return Outcome(printable(folder.name), Result.REFUSED, problems=tuple(problems))
    work = partial(_store, folder=folder, hashes=hashes, replace=replace)
    try:
        outcome = store.write(work, timeout_s=TIMEOUT_S)
    except _Refused as exc:
        return Outcome(printable(folder.name), Result.REFUSED, problems=(str(exc),))
    return Outcome(
        printable(folder.name),
        outcome.result,
        outcome.run_id,
        outcome.num_stored,
        notes=(*outcome.notes, *_left_alone(folder, unknown)),
    )


def _name_problems(name: str) -> list[str]:
    try:
        name.encode()
    except UnicodeEncodeError:
        return ["the folder's name is no UTF-8. Say under which name to take it: --dataset NAME."]
    if len(name) > MAX_NAME:
        return [f"a dataset's name has at most {MAX_NAME:,} characters. Say another: --dataset NAME."]
    trouble = name_trouble(name)
    return [] if trouble is None else [f"a dataset's name {trouble}. Say another: --dataset NAME."]


def _check_files(folder: DatasetFolder, problems: list[str]) -> tuple[dict[int, str], set[str]]:
    """The hash of each file by step, and the fields nobody knows; what is wrong goes to ``problems``."""
    hashes: dict[int, str] = {}
    unknown: set[str] = set()
    for step, path in sorted(folder.files.items()):
        try:
            found = parse_original(read_file(path), step=step, dataset=folder.name)
        except BadSnapshotFile as exc:
            problems.append(f"{path.name}: {exc}")
            continue
        hashes[step] = found.sha256
        unknown |= set(found.unknown)
    return hashes, unknown


def _store(session: Session, *, folder: DatasetFolder, hashes: dict[int, str], replace: bool) -> Outcome:
    """In one transaction: make or find the run, and bring its snapshots to what the folder holds."""
    run = imports.imported_run(session, folder.name)
    known = {} if run is None else imports.headers(session, run.id)
    changed = sorted(step for step in hashes if step in known and known[step]["sha256"] != hashes[step])
    vanished = sorted(known.keys() - hashes.keys())
    if changed and not replace:
        raise _Refused(
            f"{_files(folder.files[step].name for step in changed)} differ from what was imported before. "
            "Say --replace to take them instead."
        )
    forgotten = sorted({*changed, *vanished}) if replace else []
    added = sorted(step for step in hashes if step not in known or step in changed)
    notes = [] if replace or not vanished else [_vanished(vanished)]
    if run is not None and not forgotten and not added:
        return Outcome(folder.name, Result.UNCHANGED, run.id, len(known), notes=tuple(notes))
    result = Result.IMPORTED if run is None else Result.REPLACED if forgotten else Result.ADDED
    if run is None:
        run = _new_run(session, folder, first=_read(folder, min(hashes), hashes))
    imports.forget(session, run.id, forgotten)
    for step in added:
        _add(session, run.id, _read(folder, step, hashes))
    _tell_extent(session, run.id, folder.name)
    num_stored = len(known) - len(forgotten) + len(added)
    return Outcome(folder.name, result, run.id, num_stored, notes=tuple(notes))


def _read(folder: DatasetFolder, step: int, hashes: dict[int, str]) -> ImportedSnapshot:
    """The file again, which must be the one that was checked: all at once would not fit into memory."""
    path = folder.files[step]
    try:
        content = read_file(path)
        if digest(content) == hashes[step]:
            return parse_original(content, step=step, dataset=folder.name)
    except BadSnapshotFile as exc:
        raise _Refused(f"{path.name}: {exc}") from exc
    raise _Refused(f"{path.name}: it was changed while it was being imported. Import again.")


def _new_run(session: Session, folder: DatasetFolder, *, first: ImportedSnapshot) -> Run:
    """A run that has been where every run has been, all in this transaction; dated by its first snapshot.

    So it stands where it belongs among the runs of its dataset, and the newest of them stays the newest.
    """
    t = first.record.t
    run = Run(
        id=new_run_id(now=t),
        name=f"{printable(folder.name, limit=200)} (imported)",
        recipe=RECIPE,
        dataset=folder.name,
        columns={},
        params={},
        tags=[TAG],
        policy=check_policy({}),
        profile="auto",
        environment={},
        rungs=[],
        idempotency_key=imports.import_key(folder.name),
        state=RunState.QUEUED.value,
        created_at=t,
        queued_at=t,
        latest={},
    )
    runs.insert_run(session, run)
    runs.transition(session, run.id, new=RunState.STARTING, started_at=t)
    return runs.transition(session, run.id, new=RunState.FINISHED, ended_at=t)


def _add(session: Session, run_id: str, found: ImportedSnapshot) -> None:
    record = found.record
    snapshots.save(session, run_id, record, attempt=0)
    header = {"step": record.step, **found.header, "sha256": found.sha256}
    imports.add_header(session, run_id, step=record.step, t=record.t, header=header)


def _tell_extent(session: Session, run_id: str, dataset: str) -> None:
    """Bring the run's row to what its snapshots say."""
    taken = snapshots.list_snapshots(session, run_id, dataset=dataset)
    times = [one.t for one in taken]
    runs.touch(
        session,
        run_id,
        step=taken[-1].step,
        started_at=min(times),
        ended_at=max(times),
        reason=f"Imported: {len(taken)} snapshots of the original system.",
    )


def _left_alone(folder: DatasetFolder, unknown: set[str]) -> list[str]:
    notes = []
    if folder.num_others:
        notes.append(f"{folder.num_others} other files and folders in it were left alone")
    if unknown:
        names = ", ".join(printable(name, limit=40) for name in sorted(unknown)[:5])
        notes.append(f"fields that the format does not have were left out: {names}")
    return notes


def _vanished(steps: list[int]) -> str:
    few = ", ".join(str(step) for step in steps[:5])
    return f"imported before and not in the folder any more: step {few}; --replace removes them"


def _files(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return ", ".join(listed[:5]) + more
