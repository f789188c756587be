"""What each sparse event means for the run's row, its attempts and its checkpoints.

Every function here may see an event again (after a crash between commit and
acknowledgement, streams are resent) or late (after the run has ended), so each
leaves the same rows behind when repeated and never drags a run back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.domain.run_states import ENDED, TRANSITIONS, RunState
from app.errors import InvalidRequest
from app.services import ingest_alerts
from app.services.ingest_checks import MAX_NAME, MAX_TEXT, Fields
from app.services.rungs_in_force import rungs_in_force
from app.store import alerts, runs
from app.store.models import Attempt, Checkpoint, Run, RunEvent
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import EventType

Values = dict[str, Any]  # columns of the run's row to set
Effect = Callable[[Session, Run, dict[str, Any], Values], None]

_NOT_KEPT: Final = frozenset({EventType.PROGRESS.value})  # the row holds the newest; a history would be noise


def apply(session: Session, run: Run, stream: str, event: dict[str, Any], values: Values) -> bool:
    """Take one event into account and keep it where its type is kept; returns whether it was.

    Args:
        values: filled with the columns of the run's row that change; written by the caller.
    Raises:
        InvalidRequest: a field is missing or wrong; names it.
    """
    kind = event["type"]
    effect = _EFFECTS.get(kind)
    if effect is not None:
        effect(session, run, event, values)
    if kind in _NOT_KEPT:
        return False
    fields = Fields(event)
    session.add(
        RunEvent(
            run_id=run.id,
            stream=str(stream),
            seq=event["seq"],
            t=event["t"],
            type=kind,
            step=fields.integer("step") if fields.has("step") else None,
            body={key: value for key, value in event.items() if key not in ("seq", "t", "type")},
        )
    )
    return True


def is_of_newest_attempt(run: Run, event: Mapping[str, Any], values: Values) -> bool:
    """Whether the event was reported by the attempt the run's row is about, or a later one."""
    newest: int = values.get("attempt", run.attempt)
    attempt = event.get("attempt")
    return attempt is None or attempt >= newest


def _progress(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    if not is_of_newest_attempt(run, event, values):
        return
    fields = Fields(event)
    values["step"] = fields.integer("step")
    values["progress_at"] = event["t"]
    if fields.has("total_steps"):
        values["total_steps"] = fields.integer("total_steps")
    if fields.has("epoch"):
        values["epoch"] = fields.number("epoch")
    if fields.has("num_epochs"):
        values["num_epochs"] = fields.integer("num_epochs", high=2**31 - 1)


def _phase(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    if is_of_newest_attempt(run, event, values):
        phase = Fields(event).text("name", limit=32)
        if RunState(run.state) not in ENDED:
            values["phase"] = phase
        values["progress_at"] = event["t"]


def _device(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    if is_of_newest_attempt(run, event, values):
        values["device"] = Fields(event).text("name", limit=64)


def _dataset(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    if is_of_newest_attempt(run, event, values):
        fields = Fields(event)
        values["dataset_hash"] = fields.text("content_hash", limit=64)
        values["dataset_counts"] = fields.mapping("counts")


def _finished(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    if is_of_newest_attempt(run, event, values):
        values["step"] = Fields(event).integer("step")


def _checkpoint(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    fields = Fields(event)
    file = fields.text("file", limit=MAX_NAME)
    if file != file.replace("\\", "/").rpartition("/")[2] or file in ("", ".", ".."):
        raise InvalidRequest(
            f"event {event['seq']} (checkpoint): file must be a plain file name, got {file!r}", field="file"
        )
    best = event.get("best") is True
    stored = session.scalar(select(Checkpoint).where(Checkpoint.run_id == run.id, Checkpoint.file == file))
    if stored is None:
        stored = Checkpoint(run_id=run.id, file=file)
        session.add(stored)
    stored.attempt = fields.integer("attempt", default=max(1, run.attempt), low=1)
    stored.step = fields.integer("step")
    stored.num_bytes = fields.integer("bytes", default=0)
    stored.sha256 = fields.text("sha256", limit=64, default="")
    stored.metrics = fields.mapping("metrics")
    stored.reason = fields.text("reason", limit=32, default="")
    stored.best = best
    stored.created_at = event["t"]
    if best:
        others = update(Checkpoint).where(Checkpoint.run_id == run.id, Checkpoint.file != file)
        session.execute(others.values(best=False))


def _attempt(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    fields = Fields(event)
    number = fields.integer("attempt", low=1, high=2**31 - 1)
    what = fields.text("what", limit=16)
    row = session.scalar(select(Attempt).where(Attempt.run_id == run.id, Attempt.number == number))
    if row is None:
        row = Attempt(
            run_id=run.id, number=number, from_step=0, started_at=event["t"], command=[], environment=[]
        )
        session.add(row)
    if what == "started":
        _attempt_started(row, event, fields)
        alerts.close_before_attempt(session, run, number, at=event["t"])
        if number >= values.get("attempt", run.attempt):
            values.update(attempt=number, step=row.from_step, exit_code=None, exit_signal=None)
            values["rungs"] = rungs_in_force(event)
            if fields.has("device"):
                values["device"] = fields.text("device", limit=64)
    elif what == "ended":
        row.ended_at = event["t"]
        row.exit_code, row.exit_signal = _exit(fields)
        row.reached_step = fields.integer("step") if fields.has("step") else row.reached_step
        row.ended_reason = fields.text("reason", limit=MAX_TEXT) if fields.has("reason") else None
        if number >= values.get("attempt", run.attempt):
            values.update(exit_code=row.exit_code, exit_signal=row.exit_signal)
    else:
        raise InvalidRequest(
            f"event {event['seq']} (attempt): what must be started or ended, got {what!r}", field="what"
        )


def _attempt_started(row: Attempt, event: dict[str, Any], fields: Fields) -> None:
    row.started_at = event["t"]
    row.from_step = fields.integer("from_step", default=0)
    row.pid = fields.integer("pid", low=1, high=2**31 - 1) if fields.has("pid") else None
    row.command = fields.items("command")
    row.environment = fields.items("environment")
    row.plan = _plan(event)


def _plan(event: dict[str, Any]) -> dict[str, Any] | None:
    raw = event.get("plan")
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise InvalidRequest(f"event {event['seq']} (attempt): plan must be an object", field="plan")
    try:
        return AttemptPlan.from_json(raw).to_json()
    except ProtocolError as exc:
        raise InvalidRequest(f"event {event['seq']} (attempt): {exc}", field="plan") from exc


def _state(session: Session, run: Run, event: dict[str, Any], values: Values) -> None:
    """Move the run where the supervisor says it is, unless the table of moves says that is over."""
    fields = Fields(event)
    word = fields.text("state", limit=16)
    try:
        new = RunState(word)
    except ValueError as exc:
        message = f"event {event['seq']} (state): {word!r} is not a state"
        raise InvalidRequest(message, field="state") from exc
    present = RunState(run.state)
    # a queued run belongs to the queue: what an earlier attempt still has to say is history
    if present is RunState.QUEUED or not is_of_newest_attempt(run, event, values):
        return
    columns: Values = {}
    if fields.has("reason"):
        columns["reason"] = fields.text("reason", limit=MAX_TEXT)
    if fields.has("exit_code") or fields.has("exit_signal"):
        columns["exit_code"], columns["exit_signal"] = _exit(fields)
    if isinstance(event.get("stop_requested"), bool):
        columns["stop_requested"] = event["stop_requested"]
    if new is present:
        values.update(columns)
    elif new in TRANSITIONS[present]:
        _move(session, run, new, columns={**columns, **_columns_of(new, event)}, values=values)


def _columns_of(new: RunState, event: Mapping[str, Any]) -> Values:
    if new in ENDED:
        return {"ended_at": event["t"]}
    return {"phase": None} if new is RunState.RETRYING else {}  # no trainer lives, so it is in no phase


def _move(session: Session, run: Run, new: RunState, *, columns: Values, values: Values) -> None:
    """Move the run now; what was said before in this batch is stored after it, and must not undo it."""
    runs.transition(session, run.id, new=new, old=frozenset({RunState(run.state)}), **columns)
    for said_before in (*columns, *(["phase"] if new in ENDED else [])):
        values.pop(said_before, None)


def _exit(fields: Fields) -> tuple[int | None, int | None]:
    code = fields.integer("exit_code", low=-(2**31), high=2**31 - 1) if fields.has("exit_code") else None
    signal = fields.integer("exit_signal", low=1, high=255) if fields.has("exit_signal") else None
    return code, signal


_EFFECTS: Final[dict[str, Effect]] = {
    EventType.PROGRESS.value: _progress,
    EventType.PHASE.value: _phase,
    EventType.DEVICE.value: _device,
    EventType.DATASET.value: _dataset,
    EventType.FINISHED.value: _finished,
    EventType.CHECKPOINT.value: _checkpoint,
    EventType.ALERT.value: ingest_alerts.alert,
    EventType.ATTEMPT.value: _attempt,
    EventType.STATE.value: _state,
}
