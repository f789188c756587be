"""Writes the snapshots of a run as the original system's files, which it and we can read.

What was imported comes back as it was, field by field. Of our own snapshots
the files hold the fields the original knows: texts whole, the loss that of the
task, numbers that are not finite as null, times in UTC.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from app.domain.answer_lines import written_in
from app.errors import Conflict, InvalidRequest
from app.services.evolution import Evolution
from app.services.evolution_import_checks import unworded
from app.services.evolution_original import (
    ANSWERED,
    EXAMPLE,
    STEP_FILE,
    SUMMARY,
    printable,
    step_file_name,
)
from app.store import imports, probes, snapshot_answers, snapshots
from app.store.engine import Store
from app.store.models import Snapshot
from trainer.protocol.files import write_atomic

_MAX_FOLDER_BYTES: Final = 255  # of a folder's name
_SHOWN: Final = 5


@dataclass(frozen=True)
class Exported:
    """Where the files lie now, of which run; how many were written, how many were there as they are."""

    folder: Path
    run_id: str
    num_written: int
    num_unchanged: int


def export_tree(
    store: Store, dataset: str, root: Path, *, run: str | None = None, replace: bool = False
) -> Exported:
    """Write ``root/DATASET/step_NNNNNN.json`` for every snapshot of a run.

    Every file is whole or as it was before; nothing is written before it is known that all may be.

    Args:
        store: where from; only read.
        dataset: plain name.
        root: folder of the tree; made where there is none.
        run: which run; None stands for the newest of the dataset.
        replace: whether files of other content are written over.
    Raises:
        NotFound: no such dataset or run.
        Conflict: files of other content are there, or of steps this run has no snapshot of.
        InvalidRequest: the folder cannot be made or written.
    """
    entries = Evolution(store).snapshots(dataset, run=run)
    run_id, steps = str(entries[0]["run"]), [int(one["step"]) for one in entries]
    folder = root / folder_name(dataset)
    try:
        present = _present(folder)
        _check_foreign(folder, present, steps)
        kept = {
            step
            for step in steps
            if step in present and present[step] == _content(store, dataset, run_id, step)
        }
        differing = [step for step in steps if step in present and step not in kept]
        if differing and not replace:
            raise Conflict(
                f"{printable(str(folder), limit=300)} has other content in {_names(differing)}.",
                hint="Say --replace to write over it, or export to another folder.",
            )
        for step in steps:
            if step not in kept:
                write_atomic(folder / step_file_name(step), _content(store, dataset, run_id, step))
    except OSError as exc:
        place = printable(str(exc.filename or folder), limit=300)
        raise InvalidRequest(f"{place}: {exc.strerror}.", field="DIR") from exc
    return Exported(folder, run_id, len(steps) - len(kept), len(kept))


def folder_name(dataset: str) -> str:
    """The name of a dataset's folder: its own, or where no folder can be called so, percent-encoded."""
    if "/" not in dataset and "\0" not in dataset and dataset not in (".", ".."):
        name = dataset
    else:
        name = quote(dataset, safe=" ").replace(".", "%2E")
    if len(os.fsencode(name)) > _MAX_FOLDER_BYTES:
        raise InvalidRequest("the dataset's name is too long for a folder", field="DATASET")
    return name


def original_json(store: Store, dataset: str, run_id: str, step: int) -> dict[str, Any]:
    """One snapshot in the original's shape; floats may be NaN or infinite where a file said so.

    Raises:
        NotFound: no such dataset, run or step.
    """
    with store.read() as session:
        header = imports.header_at(session, run_id, step)
        if header is not None:
            row = snapshots.at_step(session, run_id, dataset=dataset, step=step)
            if row is not None:
                lines = snapshot_answers.read(session, row)
                return _as_imported(header, row, probes.examples(session, row.probe_set), lines)
    found = Evolution(store).snapshot(dataset, step, run=run_id)
    return {
        "snapshot_id": found["snapshot_id"],
        "training_step": found["training_step"],
        "timestamp": found["timestamp"],
        "model_version": found["model_version"],
        "examples": [{name: one[name] for name in EXAMPLE} for one in found["examples"]],
        "summary": {name: found["summary"][name] for name in SUMMARY},
    }


def _as_imported(
    header: dict[str, Any], row: Snapshot, asked: list[dict[str, Any]], lines: dict[int, bytes]
) -> dict[str, Any]:
    return {
        "snapshot_id": header["snapshot_id"],
        "training_step": row.step,
        "timestamp": header["timestamp"],
        "model_version": row.model_version,
        "examples": [
            {
                "example_id": probe["example_id"],
                "step": row.step,
                "input": probe["input"],
                "expected_output": probe["expected_output"],
                "model_output": written["output"],
                **{name: unworded(written[name]) for name in ANSWERED},
            }
            for probe, written in ((probe, written_in(lines[row])) for row, probe in enumerate(asked))
        ],
        "summary": {name: unworded(row.summary[name]) for name in SUMMARY},
    }


def _content(store: Store, dataset: str, run_id: str, step: int) -> bytes:
    text = json.dumps(original_json(store, dataset, run_id, step), indent=2, ensure_ascii=False)
    return text.encode()


def _present(folder: Path) -> dict[int, bytes]:
    """The content of the step files that are there."""
    if not folder.is_dir():
        return {}
    found = {path: STEP_FILE.fullmatch(path.name) for path in folder.iterdir()}
    return {int(match[1]): path.read_bytes() for path, match in found.items() if match is not None}


def _check_foreign(folder: Path, present: dict[int, bytes], steps: list[int]) -> None:
    foreign = sorted(present.keys() - set(steps))
    if foreign:
        raise Conflict(
            f"{printable(str(folder), limit=300)} has {_names(foreign)}, which this run has no snapshot of: "
            "together they would look like one run.",
            hint="Export to another folder, or move these files away.",
        )


def _names(steps: list[int]) -> str:
    more = f" and {len(steps) - _SHOWN} more" if len(steps) > _SHOWN else ""
    return ", ".join(step_file_name(step) for step in steps[:_SHOWN]) + more
