"""Alerts enter the store exactly once, one open per run and category, and end with their run."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.errors import InvalidRequest, NotFound
from app.services.alerts import Alerts
from app.services.ingest import Ingest
from app.store import runs
from app.store.engine import Store
from app.store.models import Alert
from tests.app.rows import Heard, events_batch, state_of, store_running
from trainer.protocol.events import Stream

SPIKE = {
    "type": "alert", "category": "loss-spike", "what": "raised", "level": "warning",
    "title": "The loss has jumped", "text": "far beyond its noise", "step": 40,
}  # fmt: skip
SPIKE_OVER = {**SPIKE, "what": "resolved", "text": "The loss is back where it was.", "step": 55}
CRASH = {**SPIKE, "category": "crash", "level": "error", "title": "The run has crashed"}


class Rig:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.heard = Heard()
        self.ingest = Ingest(store, self.heard)
        self.alerts = Alerts(store, live=self.heard)
        self.next = dict.fromkeys(Stream, 1)
        store_running(store)

    def tell(self, *events: dict[str, Any], stream: Stream = Stream.SUPERVISOR) -> None:
        self.ingest.accept(events_batch(self.next[stream], *events, stream=stream))
        self.next[stream] += len(events)

    def move(self, *states: RunState, **values: Any) -> None:
        for new in states:
            self.store.write(partial(runs.transition, run_id="run-1", new=new, **values))

    @property
    def shown(self) -> list[dict[str, Any]]:
        return list(self.alerts.of_run("run-1"))

    @property
    def active(self) -> int:
        count = state_of(self.store).active_alerts
        assert count == sum(alert["active"] for alert in self.shown)
        return count


@pytest.fixture
def rig(store: Store) -> Rig:
    return Rig(store)


def test_an_alert_is_raised_and_resolved(rig: Rig) -> None:
    rig.tell(SPIKE)
    [alert] = rig.shown
    assert (alert["category"], alert["level"], alert["raised_step"]) == ("loss-spike", "warning", 40)
    assert (alert["active"], alert["resolved_at"], alert["run_name"]) == (True, None, "a run")
    assert rig.active == 1
    rig.tell(SPIKE_OVER)
    [alert] = rig.shown
    assert (alert["active"], alert["resolved_step"]) == (False, 55)
    assert alert["outcome"] == "The loss is back where it was."
    assert rig.active == 0


def test_the_same_batch_again_and_the_same_alert_again_change_nothing(rig: Rig) -> None:
    batch = events_batch(1, SPIKE)
    rig.ingest.accept(batch)
    rig.ingest.accept(batch)
    rig.ingest.accept(events_batch(2, {**SPIKE, "step": 41}))
    assert [alert["raised_step"] for alert in rig.shown] == [40]
    rig.next[Stream.SUPERVISOR] = 3
    rig.tell(SPIKE_OVER, SPIKE_OVER)
    assert len(rig.shown) == 1
    rig.tell({**SPIKE, "step": 90})
    assert [alert["raised_step"] for alert in rig.shown] == [90, 40]


def test_the_database_itself_refuses_a_second_open_alert_of_a_category(rig: Rig) -> None:
    rig.tell(SPIKE)

    def work(session: Session) -> None:
        fields = {"run_id": "run-1", "attempt": 1, "level": "info", "title": "", "text": "", "raised_at": 1.0}
        session.add(Alert(slot="loss-spike", **fields))

    with pytest.raises(IntegrityError):
        rig.store.write(work)


def test_what_the_trainer_says_is_one_alert_per_title_until_the_run_ends(rig: Rig) -> None:
    said = {"type": "alert", "level": "warning", "title": "No best checkpoint", "text": "why", "step": 3}
    rig.tell(said, {**said, "step": 6}, {**said, "title": "Another"}, stream=Stream.TRAINER)
    assert [(alert["title"], alert["category"]) for alert in rig.shown] == [
        ("Another", None),
        ("No best checkpoint", None),
    ]
    rig.tell({"type": "state", "state": "finished", "reason": "finished at step 9"})
    assert rig.active == 0
    assert {alert["outcome"] for alert in rig.shown} == {"The run is finished."}


def test_mere_information_of_the_trainer_is_kept_but_never_active(rig: Rig) -> None:
    rig.tell({"type": "alert", "level": "info", "title": "obeyed", "text": "", "step": 3})
    assert [alert["active"] for alert in rig.shown] == [False]


def test_a_crash_stays_until_the_run_is_started_again_and_all_else_ends_with_it(rig: Rig) -> None:
    rig.tell(SPIKE, CRASH, {"type": "state", "state": "failed", "reason": "exit code 1", "exit_code": 1})
    assert [(alert["category"], alert["active"]) for alert in rig.shown] == [
        ("crash", True),
        ("loss-spike", False),
    ]
    rig.move(RunState.QUEUED)
    assert rig.active == 0


def test_a_further_attempt_of_the_same_supervisor_closes_what_the_earlier_one_left(rig: Rig) -> None:
    rig.tell({"type": "attempt", "what": "started", "attempt": 1}, SPIKE, CRASH)
    rig.tell({"type": "attempt", "what": "started", "attempt": 2, "from_step": 30})
    assert rig.active == 0
    assert {alert["outcome"] for alert in rig.shown} == {"Attempt 2 has begun."}


def test_late_alerts_of_a_run_that_has_ended_are_history(rig: Rig) -> None:
    rig.move(RunState.FINISHED)
    rig.tell(SPIKE)
    assert rig.active == 0
    assert rig.shown[0]["outcome"] == "The run is finished."


def test_a_crash_told_after_the_exit_record_was_read_is_still_active(rig: Rig) -> None:
    rig.move(RunState.FAILED)
    rig.tell(SPIKE, CRASH)
    assert [(alert["category"], alert["active"]) for alert in rig.shown if alert["active"]] == [
        ("crash", True)
    ]


def test_late_alerts_of_an_earlier_attempt_are_history(rig: Rig) -> None:
    rig.tell({"type": "attempt", "what": "started", "attempt": 2, "from_step": 30})
    rig.tell({**SPIKE, "attempt": 1}, stream=Stream.TRAINER)
    assert rig.active == 0


def test_a_lost_run_has_an_alert_that_goes_when_it_comes_back(rig: Rig) -> None:
    rig.tell(SPIKE)
    rig.move(RunState.LOST)
    assert [(alert["title"], alert["active"]) for alert in rig.shown if alert["active"]] == [
        ("The run is lost", True)
    ]
    rig.move(RunState.RUNNING)
    assert rig.active == 0


def test_a_dismissed_alert_is_off_the_list_and_not_raised_again_while_it_lasts(rig: Rig) -> None:
    rig.tell(SPIKE)
    shown = rig.alerts.dismiss(rig.shown[0]["id"])
    assert shown["active"] is False
    assert rig.alerts.dismiss(shown["id"])["dismissed_at"] == shown["dismissed_at"]
    assert rig.active == 0
    rig.tell({**SPIKE, "step": 50})
    assert len(rig.shown) == 1
    rig.tell(SPIKE_OVER, {**SPIKE, "step": 90})
    assert rig.active == 1
    assert ("run_changed", "run-1") in rig.heard.news


def test_dismissing_what_is_not_there_is_not_found(rig: Rig) -> None:
    with pytest.raises(NotFound):
        rig.alerts.dismiss(99)


def test_alerts_of_all_runs_are_listed_newest_first(rig: Rig) -> None:
    store_running(rig.store, "run-2", name="the other")
    rig.tell(SPIKE)
    rig.ingest.accept(events_batch(1, {**SPIKE, "t": 1.8e9}, SPIKE_OVER, CRASH, run="run-2"))
    names = [alert["run"] for alert in rig.alerts.of_all_runs(active=True, limit=10)]
    assert sorted(names) == ["run-1", "run-2"]
    assert len(rig.alerts.of_all_runs(active=None, limit=10)) == 3
    assert [alert["category"] for alert in rig.alerts.of_all_runs(active=False, limit=10)] == ["loss-spike"]


@pytest.mark.parametrize(
    ("change", "field"),
    [({"category": "No Slug"}, "category"), ({"what": "burst"}, "what"), ({"category": 7}, "category")],
)
def test_an_alert_that_breaks_the_contract_is_refused_with_its_field(
    rig: Rig, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        rig.tell({**SPIKE, **change})
    assert caught.value.field == field


def test_a_deleted_run_takes_its_alerts_along(rig: Rig) -> None:
    rig.tell(SPIKE)
    rig.move(RunState.FINISHED)
    rig.store.write(lambda session: runs.delete(session, "run-1"))
    assert rig.alerts.of_all_runs(active=None, limit=10) == []
