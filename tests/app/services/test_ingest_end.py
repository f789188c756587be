"""The end of a run over the link alone: taken once, never of an earlier attempt, refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.run_states import RunState
from app.errors import InvalidRequest
from app.services.ingest import Ingest
from app.services.run_reader import RunReader
from app.store import runs
from app.store.engine import Store
from tests.app.rows import Heard, events_batch, state_of, store_running
from trainer.protocol.events import Stream


@pytest.fixture(autouse=True)
def _running(store: Store) -> None:
    store_running(store)


END: dict[str, Any] = {
    "state": {"state": "failed", "reason": "exit code 1", "attempt": 1, "exit_code": 1, "exit_signal": None,
              "stop_requested": False, "step": 7, "t": 2.0e9},
    "findings": [{"id": "disk_full", "cause": "c", "remedy": "r", "confidence": 0.9, "lines": [],
                  "source": "s", "rungs": []}],
}  # fmt: skip


def test_an_end_that_no_disk_took_is_taken_from_the_link_once(
    store: Store, ingest: Ingest, heard: Heard
) -> None:
    ingest.accept_end("run-1", END)
    run = state_of(store)
    assert (run.state, run.reason, run.exit_code, run.step) == ("failed", "exit code 1", 1, 7)
    assert [news[0] for news in heard.news] == ["event", "event", "run_changed"]
    ingest.accept_end("run-1", END)
    late = {"type": "finding", "attempt": 1, **END["findings"][0]}
    ingest.accept(events_batch(1, late, {"type": "state", "attempt": 1, **END["state"]}))
    assert [one["id"] for one in RunReader(store).findings("run-1")] == ["disk_full"]
    assert state_of(store).state == "failed"


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"state": [], "findings": []},
        {"state": {**END["state"], "state": "running"}, "findings": []},
        {"state": {**END["state"], "attempt": 0}, "findings": []},
        {"state": {**END["state"], "t": "now"}, "findings": []},
        {"state": END["state"], "findings": ["x"]},
        {"state": END["state"], "findings": [{}] * 1000},
    ],
)
def test_an_end_that_is_none_is_refused_in_words(
    store: Store, ingest: Ingest, broken: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest):
        ingest.accept_end("run-1", broken)
    assert state_of(store).state == "running"


def test_an_end_of_an_earlier_attempt_changes_nothing(store: Store, ingest: Ingest) -> None:
    store.write(lambda session: runs.touch(session, "run-1", attempt=2))
    ingest.accept_end("run-1", END)
    assert state_of(store).state == "running"


def test_of_a_wish_to_stop_and_the_end_in_one_batch_the_end_has_the_last_word(
    store: Store, ingest: Ingest
) -> None:
    store.write(lambda session: runs.transition(session, "run-1", new=RunState.STOPPING))
    stopping = {"type": "state", "state": "stopping", "reason": "asked to stop, killed after 30 s"}
    stopped = {"type": "state", "state": "stopped", "reason": "stopped as asked", "exit_signal": 15}
    ingest.accept(events_batch(1, stopping, stopped, stream=Stream.SUPERVISOR))
    run = state_of(store)
    assert (run.state, run.reason, run.exit_signal) == ("stopped", "stopped as asked", 15)
