"""What must be true of a run that has ended; everything is read from its folder."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from trainer.preflight.spool_times import events_of, losses
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import EventType, Phase
from trainer.protocol.files import read_object
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec

RECALL: Final = "eval/recall@10"


class Disproved(Exception):
    """Something that must be true is not; the message says what, the hint what to do.

    Attributes:
        hint: what a person should do.
        details: figures and lines behind it.
    """

    def __init__(self, message: str, hint: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.details = details or {}


def finished(paths: RunPaths, record: ExitRecord | None) -> dict[str, Any]:
    """That the run has finished with finite losses; figures of its way.

    Raises:
        Disproved: it has not; with the diagnosis.
    """
    if record is None:
        raise Disproved("its supervisor ended without a word", "Look at the lines.", {"lines": tail(paths)})
    if record.state != "finished":
        raise failed(paths, record)
    found = losses(events_of(paths))
    if sorted(found) != list(range(1, record.step + 1)):
        raise Disproved("not every step has reported its loss", "Tell us: this must not happen.")
    values = list(found.values())
    if not all(isinstance(value, float) and math.isfinite(value) for value in values):
        raise Disproved("a loss is not a number", "Run the doctor: arithmetic on this machine is not sound.")
    return {"steps": record.step, "first_loss": values[0], "last_loss": values[-1]}


def failed(paths: RunPaths, record: ExitRecord) -> Disproved:
    """The failure of a run in the words of its diagnosis."""
    finding = record.findings[0] if record.findings else None
    cause = f"{record.reason}: {finding['cause']}" if finding is not None else record.reason
    hint = finding["remedy"] if finding is not None else "Look at the lines, and run the doctor."
    details = {"state": record.state, "exit_code": record.exit_code, "exit_signal": record.exit_signal}
    return Disproved(cause, hint, {**details, "lines": tail(paths)})


def went_through_everything(paths: RunPaths, *, but: tuple[str, ...] = ()) -> dict[str, int]:
    """That mining, FAISS evaluation, snapshots and checkpoints really happened; how often.

    Raises:
        Disproved: one of them did not.
    """
    events = events_of(paths)
    metrics = [event["values"] for event in events if event["type"] == EventType.METRICS]
    negatives = [values["train/negatives"] for values in metrics if "train/negatives" in values]
    counts = {
        "mining": int(has_mined(paths)),
        "evaluations": sum(RECALL in values for values in metrics),
        "snapshots": _existing(paths.snapshots, events, EventType.SNAPSHOT),
        "checkpoints": sum(event["type"] == EventType.CHECKPOINT for event in events),
    }
    params = RunSpec.load(paths).params
    in_batch = min(params["batch_size"], params["max_pairs"] or params["batch_size"]) - 1
    if max(negatives, default=0.0) <= in_batch:
        counts["mining"] = 0  # it was announced, and brought no further negative
    missing = [name for name, count in counts.items() if count == 0 and name not in but]
    if missing:
        raise Disproved(f"the run finished without {', '.join(missing)}", "Tell us: this must not happen.")
    damaged = [manifest.name for manifest in paths.checkpoints.glob("step_*.json") if not _is_whole(manifest)]
    if damaged:
        raise Disproved(
            f"{', '.join(damaged)}: the checkpoint is not what its manifest says", "Look at the disk."
        )
    return counts


def same_numbers(reference: RunPaths, resumed: RunPaths) -> int:
    """That every loss and every evaluation is equal, bit for bit; how many losses there are.

    Raises:
        Disproved: names the first step that differs.
    """
    expected, found = losses(events_of(reference)), losses(events_of(resumed))
    for step, loss in expected.items():
        if found.get(step) != loss:
            raise Disproved(
                f"the loss of step {step} is {found.get(step)!r}, in the uninterrupted run {loss!r}",
                "Two runs on this machine do not compute the same: run the doctor, and try the profile safe.",
                {"step": step, "expected": loss, "found": found.get(step)},
            )
    if _recalls(reference) != _recalls(resumed):
        raise Disproved("the losses are equal, but the evaluations are not", "Run the doctor.")
    return len(expected)


def last_step(paths: RunPaths) -> int:
    """The newest step reported; 0 before the first."""
    return max(losses(events_of(paths)), default=0)


def has_mined(paths: RunPaths) -> bool:
    """Whether the run has said that it looks for near misses."""
    return any(e["type"] == EventType.PHASE and e["name"] == Phase.MINING for e in events_of(paths))


def saved_steps(paths: RunPaths) -> list[int]:
    """The steps of announced checkpoints, in order."""
    return [int(e["step"]) for e in events_of(paths) if e["type"] == EventType.CHECKPOINT]


def tail(paths: RunPaths, *, num_lines: int = 20) -> list[str]:
    """The last lines of the newest trainer, or of the supervisor where there was none."""
    outputs: Iterable[Path] = [*sorted(paths.root.glob("attempts/*/output.log"), reverse=True)]
    for path in (*outputs, paths.supervisor_log):
        try:
            lines = path.read_bytes()[-16_384:].decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        if lines:
            return lines[-num_lines:]
    return []


def _recalls(paths: RunPaths) -> dict[int, Any]:
    return {
        int(event["step"]): event["values"][RECALL]
        for event in events_of(paths)
        if event["type"] == EventType.METRICS and RECALL in event["values"]
    }


def _existing(folder: Path, events: list[dict[str, Any]], kind: EventType) -> int:
    return sum(event["type"] == kind and (folder / str(event["file"])).is_file() for event in events)


def _is_whole(manifest: Path) -> bool:
    try:
        said = read_object(manifest)
        content = (manifest.parent / str(said["file"])).read_bytes()
        return hashlib.sha256(content).hexdigest() == str(said["sha256"])
    except (ProtocolError, OSError, KeyError):
        return False
