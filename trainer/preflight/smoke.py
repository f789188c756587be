"""A few real steps through the real engine, in a folder that is thrown away; measured, and time-boxed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.sizes import size
from trainer.preflight.declaration import preflight_of
from trainer.preflight.outlook import Outlook
from trainer.preflight.question import Question
from trainer.preflight.scratch import scratch_folder
from trainer.preflight.spool_times import checkpoint_bytes, events_of, losses, pace_of
from trainer.preflight.supervised import Supervised
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import ExitRecord, RunSpec
from trainer.recipes.registry import recipes, validate

TITLE: Final = "Smoke run"
NUM_STEPS: Final = 6
LIMIT_S: Final = 90.0
TAIL_LINES: Final = 30
TAIL_BYTES: Final = 8192


@dataclass(frozen=True)
class SmokeRun:
    """What became of it: the verdict, and the outlook with measured figures where there are any."""

    check: Check
    outlook: Outlook | None


def smoke_run(
    question: Question,
    outlook: Outlook,
    *,
    environment: Mapping[str, str] | None = None,
    limit_s: float = LIMIT_S,
) -> SmokeRun:
    """Train a few steps; the caller must be the main thread."""
    try:
        with scratch_folder(question.runs_dir.parent, "smoke") as folder:
            spec = replace(_spec(question, outlook, "run"), environment=dict(environment or {}))
            return _run(spec, outlook, folder / spec.run_id, limit_s)
    except ProtocolError as exc:
        remedy = "Put that place right, or clear probe_file."
        return SmokeRun(Check("smoke", TITLE, Verdict.PROBLEM, f"It cannot be started: {exc}.", remedy), None)
    except OSError as exc:
        found = f"It cannot be started: {exc}."
        remedy = "Check that the instance folder can be written."
        return SmokeRun(Check("smoke", TITLE, Verdict.PROBLEM, found, remedy), None)


def _run(spec: RunSpec, outlook: Outlook, folder: Path, limit_s: float) -> SmokeRun:
    run = Supervised(spec, folder)
    try:
        in_time = run.wait(limit_s=limit_s)
    finally:
        run.end()
    record, events = run.record(), events_of(run.paths)
    started_at = record.started_at if record is not None else spec.created_at
    measured = _measured(outlook, events, record, started_at)
    if record is not None and record.state == "finished":
        return SmokeRun(_fine(record, measured), measured)
    if not in_time:
        return SmokeRun(_unfinished(events, limit_s, measured), measured)
    return SmokeRun(_failed(record, _tail(run)), None)


def _spec(question: Question, outlook: Outlook, name: str) -> RunSpec:
    recipe = recipes()[question.recipe]
    num_steps = min(NUM_STEPS, max(1, outlook.total_steps))
    params = validate(recipe, preflight_of(question.declaration).smoke(question.params, num_steps))
    return RunSpec(
        run_id=name,
        name=name,
        recipe=question.recipe,
        dataset=question.dataset,
        params=params,
        created_at=time.time(),
        datasets_dir=str(question.datasets_dir),
        profile=question.profile,
        num_concurrent=question.num_concurrent,
        policy={"max_attempts": 1},
        columns=question.columns,
    )


def _measured(
    outlook: Outlook, events: list[dict[str, Any]], record: ExitRecord | None, started_at: float
) -> Outlook | None:
    pace = pace_of(events, started_at=started_at)
    if pace is None:
        return None
    rss = int(record.rusage.get("max_rss_bytes", 0)) if record is not None else 0
    return replace(
        outlook,
        pace=pace,
        checkpoint_bytes=checkpoint_bytes(events) or outlook.checkpoint_bytes,
        memory_bytes=max(rss, outlook.memory_bytes) if rss == 0 else rss,
    )


def _fine(record: ExitRecord, measured: Outlook | None) -> Check:
    details: dict[str, Any] = {"steps": record.step, "took_s": round(record.ended_at - record.started_at, 2)}
    found = f"{record.step} real steps, evaluation, snapshot and checkpoint in {details['took_s']:.1f} s"
    if measured is not None and measured.pace is not None:
        pace = measured.pace
        details |= {name: round(value, 4) for name, value in vars(pace).items()}
        details |= {"rss_bytes": measured.memory_bytes, "checkpoint_bytes": measured.checkpoint_bytes}
        found += f": {pace.step_s * 1000:.0f} ms per step, {size(measured.memory_bytes)} of memory"
    return Check("smoke", TITLE, Verdict.OK, f"{found}.", "", details)


def _unfinished(events: list[dict[str, Any]], limit_s: float, measured: Outlook | None) -> Check:
    phases = [event for event in events if event["type"] == "phase"]
    doing = phases[-1].get("detail") or phases[-1]["name"] if phases else "starting"
    num_steps = len(losses(events))
    found = f"It was ended after {limit_s:g} s with {num_steps} steps done; it was {doing}."
    found += " The estimates rest on these steps." if measured is not None else ""
    remedy = "A large dataset takes long to read: no fault. Otherwise look at batch_size and the model."
    return Check("smoke", TITLE, Verdict.WARNING, found, remedy, {"steps": num_steps, "limit_s": limit_s})


def _failed(record: ExitRecord | None, lines: list[str]) -> Check:
    details: dict[str, Any] = {"lines": lines}
    if record is None:
        found = "Its supervisor ended without a word."
        return Check("smoke", TITLE, Verdict.PROBLEM, found, "The details hold its last lines.", details)
    details |= {"exit_code": record.exit_code, "exit_signal": record.exit_signal, "step": record.step}
    details["findings"] = [finding["id"] for finding in record.findings]
    best = record.findings[0] if record.findings else {"cause": record.reason, "remedy": ""}
    found = f"It failed at step {record.step}: {best['cause']}"
    return Check("smoke", TITLE, Verdict.PROBLEM, found, best["remedy"], details)


def _tail(run: Supervised) -> list[str]:
    for path in (run.paths.output(1), run.paths.supervisor_log):
        try:
            raw = path.read_bytes()[-TAIL_BYTES:]
        except OSError:
            continue
        if raw.strip():
            return raw.decode("utf-8", "replace").splitlines()[-TAIL_LINES:]
    return []
