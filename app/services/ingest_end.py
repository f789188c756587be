"""The end of a run as told over the link alone, because no disk would take it.

It stands beside the numbered streams: should the same events arrive in them
later, after somebody has made room, they change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy.orm import Session

from app.domain.run_states import ENDED, RunState
from app.errors import InvalidRequest
from app.services import ingest_events
from app.services.ingest_checks import Fields, check_events
from app.store import runs
from trainer.protocol.batches import Batch
from trainer.protocol.events import EventType, Stream

STREAM: Final = "end"
_MOST_FINDINGS: Final = 20
_SEQS_PER_ATTEMPT: Final = 1000  # numbers are only to differ


def check_end(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of an end in order, findings before the state.

    Raises:
        InvalidRequest: a field is missing or wrong; names it.
    """
    state, findings = message.get("state"), message.get("findings")
    if not isinstance(state, dict) or not isinstance(findings, Sequence) or len(findings) > _MOST_FINDINGS:
        raise InvalidRequest(
            f"end: state must be an object, findings a list of at most {_MOST_FINDINGS}", field="state"
        )
    if not all(isinstance(finding, dict) for finding in findings):
        raise InvalidRequest("end: every finding must be an object", field="findings")
    fields = Fields({**state, "type": EventType.STATE.value})
    attempt, t = fields.integer("attempt", low=1, high=2**31 - 1), fields.number("t")
    if fields.text("state", limit=16) not in {one.value for one in ENDED}:
        raise InvalidRequest(f"end: {state['state']!r} is no state a run ends in", field="state")
    told = [*({**one, "type": EventType.FINDING.value} for one in findings), {**state, "type": "state"}]
    first = attempt * _SEQS_PER_ATTEMPT
    events = [{**one, "seq": first + n, "t": t, "attempt": attempt} for n, one in enumerate(told)]
    check_events(Batch("", Stream.SUPERVISOR, first, first + len(events) - 1, events=events))
    return events


def store_end(session: Session, run_id: str, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move the run to its end and keep why; nothing of what is known already, or of an earlier launch."""
    run = runs.get_run(session, run_id)
    last = events[-1]
    is_over = RunState(run.state) in ENDED and RunState(run.state) is not RunState.LOST
    if is_over or last["attempt"] < run.attempt or last["t"] < (run.queued_at or 0.0):
        return []
    values: dict[str, Any] = {}
    kept = [event for event in events if ingest_events.apply(session, run, STREAM, event, values)]
    if isinstance(last.get("step"), int):
        values["step"] = max(run.step, last["step"])
    runs.touch(session, run_id, **values)
    return kept
