"""What can be read of runs, without changing anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from app.domain.run_states import RunState
from app.errors import NotFound
from app.services.run_shape import attempt_to_json, checkpoint_to_json, event_to_json, run_to_json
from app.store import logs as output_rows
from app.store import runs as run_rows
from app.store.engine import Store
from app.store.models import Run
from trainer.diagnosis.never_started import never_supervised
from trainer.protocol.events import EventType
from trainer.protocol.rungs import in_words

MAX_CHARACTER_BYTES: Final = 4  # of UTF-8
MAX_FINDINGS: Final = 200


class RunReader:
    """Runs and what hangs on them, from a read-only session."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def to_json(self, run: Run) -> dict[str, Any]:
        """The run as REST, sockets and pages show it."""
        return run_to_json(run)

    def get(self, run_id: str) -> Run:
        """The run.

        Raises:
            NotFound: there is none with this id.
        """
        with self._store.read() as session:
            return run_rows.get_run(session, run_id)

    def load_json(self, run_id: str) -> dict[str, Any] | None:
        """The run's JSON, or None when it is gone."""
        try:
            return self.to_json(self.get(run_id))
        except NotFound:
            return None

    def list(
        self,
        *,
        states: Sequence[str] | None = None,
        recipe: str | None = None,
        dataset: str | None = None,
        q: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> tuple[list[Run], int]:
        """One page of runs, newest first, and how many match in all."""
        with self._store.read() as session:
            return run_rows.list_runs(
                session, states=states, recipe=recipe, dataset=dataset, q=q, limit=limit, offset=offset
            )

    def attempts(self, run_id: str) -> Sequence[dict[str, Any]]:
        """The launches of the run's trainer, first to last."""
        with self._store.read() as session:
            run_rows.get_run(session, run_id)
            return [attempt_to_json(attempt) for attempt in run_rows.attempts(session, run_id)]

    def environment(self, run_id: str, *, attempt: int | None = None) -> dict[str, Any]:
        """Command and variables of one attempt, by default the newest.

        Raises:
            NotFound: there is no such run, or it has no such attempt.
        """
        with self._store.read() as session:
            run_rows.get_run(session, run_id)
            rows = run_rows.attempts(session, run_id)
        chosen = [row for row in rows if attempt is None or row.number == attempt]
        if not chosen:
            wanted = "has not been started yet" if attempt is None else f"has no attempt {attempt}"
            raise NotFound(f"Run {run_id} {wanted}.", hint=f"It has had {len(rows)} attempts.")
        row = chosen[-1]
        return {"attempt": row.number, "command": row.command, "environment": row.environment}

    def checkpoints(self, run_id: str) -> Sequence[dict[str, Any]]:
        """The checkpoints the trainer has announced, by step."""
        with self._store.read() as session:
            run_rows.get_run(session, run_id)
            return [checkpoint_to_json(row) for row in run_rows.checkpoints(session, run_id)]

    def events(
        self, run_id: str, *, types: Sequence[str] | None = None, limit: int = 200
    ) -> Sequence[dict[str, Any]]:
        """The newest ``limit`` sparse events, oldest first."""
        with self._store.read() as session:
            run_rows.get_run(session, run_id)
            return [event_to_json(row) for row in run_rows.events(session, run_id, types=types, limit=limit)]

    def findings(self, run_id: str) -> Sequence[dict[str, Any]]:
        """Why the run's attempts failed: newest attempt first, and of one attempt the best first."""
        with self._store.read() as session:
            run = run_rows.get_run(session, run_id)
            rows = run_rows.events(session, run_id, types=[EventType.FINDING], limit=MAX_FINDINGS)
            told = _without_repeats([event_to_json(row) for row in rows])
            if run.state == RunState.FAILED and not any(one.get("attempt") == run.attempt for one in told):
                told.append(_of_the_dashboard(run))
        shown = [{**one, "rungs_in_words": in_words(one.get("rungs") or ())} for one in told]
        return sorted(shown, key=lambda finding: -int(finding.get("attempt") or 0))

    def output(self, run_id: str, *, attempt: int | None, offset: int, limit_bytes: int) -> dict[str, Any]:
        """A piece of an attempt's output that begins and ends between characters.

        Args:
            run_id: which run.
            attempt: which launch; None stands for the newest.
            offset: first byte; negative counts from the end.
            limit_bytes: at most so many; a piece has at least one character where there is one.
        """
        with self._store.read() as session:
            number = run_rows.get_run(session, run_id).attempt or 1 if attempt is None else attempt
            start = offset
            if offset < 0:
                start = max(0, output_rows.output_have(session, run_id, number) + offset)
            piece = output_rows.read_output(
                session,
                run_id,
                attempt=number,
                offset=start,
                limit_bytes=max(limit_bytes, MAX_CHARACTER_BYTES),
            )
        content, skipped = _whole_characters(
            piece.content, is_last=piece.offset + len(piece.content) >= piece.total_bytes
        )
        begin = piece.offset + skipped
        return {
            "attempt": number,
            "offset": begin,
            "next_offset": begin + len(content),
            "total_bytes": piece.total_bytes,
            "text": content.decode("utf-8", "replace"),
        }


def _whole_characters(content: bytes, *, is_last: bool) -> tuple[bytes, int]:
    """``content`` without torn characters at either end, and how many bytes went in front.

    Bytes that are no UTF-8 at all stay, so that reading always gets on.
    """
    front = 0
    while front < min(MAX_CHARACTER_BYTES - 1, len(content)) and content[front] & 0xC0 == 0x80:
        front += 1
    if front == len(content):
        front = 0
    end = len(content) - _torn_tail(content)
    if end <= front and not is_last:
        end = len(content)
    return content[front : max(front, end)], front


def _torn_tail(content: bytes) -> int:
    """How many bytes at the end belong to a character whose rest is missing."""
    for back in range(1, min(MAX_CHARACTER_BYTES, len(content)) + 1):
        byte = content[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4 if byte >> 3 == 0b11110 else 1
        return back if needed > back else 0
    return 0


def _without_repeats(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One of each per attempt: an end told over the link alone may come again in the stream."""
    return list({(one.get("attempt"), one.get("id")): one for one in reversed(findings)}.values())[::-1]


def _of_the_dashboard(run: Run) -> dict[str, Any]:
    """Why a run failed of which no supervisor tells anything: nothing but its reason is known."""
    finding = never_supervised(run.reason or "").to_json()
    return {**finding, "attempt": run.attempt, "step": run.step, "t": run.ended_at}
