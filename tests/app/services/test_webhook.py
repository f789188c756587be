"""The webhook delivers to real servers, survives those that misbehave, and never waits in anybody's way."""

from __future__ import annotations

import hashlib
import hmac
import logging
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.config import Settings
from app.domain.run_states import RunState
from app.errors import InvalidRequest
from app.services.alert_bell import AlertBell, LossBell
from app.services.ingest import Ingest
from app.services.webhook import MAX_WAITING, Webhook
from app.services.webhook_post import DELIVERY, SIGNATURE, check_url, post
from app.store import runs
from app.store.engine import Store
from tests.app.rows import Heard, events_batch, store_running
from tests.app.webhook_receiver import Receiver, receiving
from tests.waiting import wait_for

ALERT: dict[str, Any] = {
    "type": "alert", "category": "loss-spike", "what": "raised", "level": "warning",
    "title": "The loss has jumped", "text": "words", "step": 40,
}  # fmt: skip
PAUSES_S = (0.02, 0.02, 0.02)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


@pytest.fixture
def webhook(store: Store, tmp_path: Path) -> Iterator[Webhook]:
    """A started webhook that is quick to give up."""
    settings = Settings(instance=tmp_path, database_url="sqlite://", dataset_roots=())
    one = Webhook(store, settings=settings, pauses_s=PAUSES_S, timeout_s=0.4)
    store_running(store)
    one.start()
    yield one
    one.close()


def use(webhook: Webhook, receiver: Receiver, **changes: Any) -> None:
    webhook.change({"url": receiver.url, "enabled": True, **changes})


def count(webhook: Webhook, name: str, number: int) -> None:
    wait_for(lambda: webhook.status()[name] == number, what=f"{number} {name}")


def test_an_alert_arrives_once_with_all_its_fields_signed(webhook: Webhook, receiver: Receiver) -> None:
    use(webhook, receiver, secret="key")
    webhook.offer("run-1", ALERT)
    count(webhook, "sent", 1)
    [message] = receiver.messages
    assert message.pop("sent_at") == pytest.approx(time.time(), abs=60)
    assert message == {
        "run": "run-1", "name": "a run", "category": "loss-spike", "level": "warning",
        "title": "The loss has jumped", "text": "words", "step": 40, "what": "raised",
        "url": "http://127.0.0.1:8421/runs/run-1",
    }  # fmt: skip
    expected = hmac.new(b"key", receiver.bodies[0], hashlib.sha256).hexdigest()
    assert receiver.headers[0][SIGNATURE] == f"sha256={expected}"
    assert receiver.paths == ["/hook?token=topsecret"]


def test_without_a_secret_nothing_is_signed(webhook: Webhook, receiver: Receiver) -> None:
    use(webhook, receiver)
    webhook.offer("run-1", ALERT)
    count(webhook, "sent", 1)
    assert SIGNATURE not in receiver.headers[0]


def test_it_is_off_by_default_and_sends_nothing(webhook: Webhook, receiver: Receiver) -> None:
    assert webhook.status()["enabled"] is False
    webhook.change({"url": receiver.url})
    webhook.offer("run-1", ALERT)
    wait_for(lambda: webhook.status()["waiting"] == 0, what="an empty queue")
    assert (receiver.bodies, webhook.status()["sent"]) == ([], 0)


def test_what_is_less_urgent_than_asked_for_is_not_sent(webhook: Webhook, receiver: Receiver) -> None:
    use(webhook, receiver, min_level="error")
    webhook.offer("run-1", ALERT)
    webhook.offer("run-1", {**ALERT, "level": "error"})
    count(webhook, "sent", 1)
    assert [message["level"] for message in receiver.messages] == ["error"]


def test_a_server_in_trouble_is_tried_again_with_the_same_delivery(
    webhook: Webhook, receiver: Receiver
) -> None:
    receiver.answers = [500, 503]
    use(webhook, receiver)
    webhook.offer("run-1", ALERT)
    count(webhook, "sent", 1)
    assert len(receiver.bodies) == 3
    assert len({headers[DELIVERY] for headers in receiver.headers}) == 1


def test_a_server_that_stays_in_trouble_is_given_up(webhook: Webhook, receiver: Receiver) -> None:
    receiver.answers = [500] * 9
    use(webhook, receiver)
    webhook.offer("run-1", ALERT)
    count(webhook, "failed", 1)
    assert len(receiver.bodies) == 1 + len(PAUSES_S)
    assert webhook.status()["last_error"] == "answered 500"


def test_a_refusal_is_final(webhook: Webhook, receiver: Receiver) -> None:
    receiver.answers = [404] * 9
    use(webhook, receiver)
    webhook.offer("run-1", ALERT)
    count(webhook, "failed", 1)
    assert len(receiver.bodies) == 1


def test_a_redirect_is_not_followed(webhook: Webhook, receiver: Receiver) -> None:
    with receiving() as elsewhere:
        receiver.answers, receiver.location = [307] * 9, elsewhere.url
        use(webhook, receiver)
        webhook.offer("run-1", ALERT)
        count(webhook, "failed", 1)
        assert elsewhere.paths == []
    assert len(receiver.bodies) == 1
    assert "redirects are not followed" in webhook.status()["last_error"]


@pytest.mark.parametrize("habit", ["hangs", "drips"])
def test_a_server_that_never_finishes_its_answer_costs_a_bounded_time(receiver: Receiver, habit: str) -> None:
    setattr(receiver, habit, True)
    began = time.monotonic()
    outcome = post(receiver.url, b"{}", secret="", delivery="1", timeout_s=0.3)
    assert time.monotonic() - began < 3.0
    assert (outcome.ok, outcome.words) == (False, "no answer within 0.3 s")


def test_an_address_where_nobody_listens_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    outcome = post(f"http://127.0.0.1:{port}/", b"{}", secret="", delivery="1", timeout_s=1.0)
    assert (outcome.ok, outcome.final, outcome.words) == (False, False, "nobody listens there")
    gone = post("http://no-such-host.invalid/", b"{}", secret="", delivery="1", timeout_s=2.0)
    assert gone.ok is False


def test_a_server_that_speaks_no_http_is_told_in_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        outcome = post(
            f"https://127.0.0.1:{server.getsockname()[1]}/", b"{}", secret="", delivery="1", timeout_s=0.3
        )
    assert outcome.ok is False


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/", "file:///etc/passwd", "gopher://example.org", "example.org", "http://",
        "http://user:pass@example.org/", "http://169.254.169.254/latest", "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/", "http://exa mple.org/", "http://example.org/\r\nX: y",
        "http://example.org:99999/", "https://example.org/" + "x" * 2000,
    ],
)  # fmt: skip
def test_addresses_that_are_none_of_ours_are_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_url(url)
    assert caught.value.field == "url"
    assert url not in caught.value.message


def test_a_full_queue_drops_and_counts_instead_of_waiting(webhook: Webhook, receiver: Receiver) -> None:
    receiver.hangs = True
    use(webhook, receiver)
    began = time.monotonic()
    for _ in range(MAX_WAITING + 10):
        webhook.offer("run-1", ALERT)
    assert time.monotonic() - began < 1.0
    assert webhook.status()["dropped"] >= 8
    receiver.over.set()
    receiver.hangs = False


def test_nothing_secret_reaches_the_log_or_the_status(
    webhook: Webhook, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.answers = [410]
    use(webhook, receiver, secret="very-secret-key")
    webhook.offer("run-1", ALERT)
    count(webhook, "failed", 1)
    status = webhook.status()
    assert "very-secret-key" not in str(status)
    assert status["has_secret"] is True
    assert "topsecret" not in caplog.text
    assert "very-secret-key" not in caplog.text
    assert "127.0.0.1" in caplog.text


def test_an_address_from_the_settings_file_is_on_fixed_and_can_be_switched_off(
    store: Store, tmp_path: Path, receiver: Receiver
) -> None:
    settings = Settings(instance=tmp_path, database_url="sqlite://", dataset_roots=())
    webhook = Webhook(store, settings=replace(settings, webhook_url=receiver.url, webhook_secret="s"))
    status = webhook.status()
    assert (status["url"], status["enabled"], status["is_fixed"]) == (receiver.url, True, True)
    with pytest.raises(InvalidRequest, match="SIGNALBOX_WEBHOOK_URL"):
        webhook.change({"url": "http://example.org/"})
    assert webhook.change({"enabled": False})["enabled"] is False


def test_it_cannot_be_switched_on_without_an_address(webhook: Webhook) -> None:
    with pytest.raises(InvalidRequest, match="no address"):
        webhook.change({"enabled": True})
    with pytest.raises(InvalidRequest, match="no address"):
        webhook.test()


def test_alerts_ring_once_and_what_the_trainer_repeats_does_not(
    webhook: Webhook, receiver: Receiver, store: Store
) -> None:
    use(webhook, receiver)
    ingest = Ingest(store, AlertBell(Heard(), webhook=webhook))
    said = {"type": "alert", "level": "warning", "title": "No best checkpoint", "text": "why"}
    batch = events_batch(1, ALERT, said, said, {**ALERT, "what": "resolved"})
    ingest.accept(batch)
    ingest.accept(batch)
    count(webhook, "sent", 3)
    told = [(message["title"], message["what"]) for message in receiver.messages]
    assert told == [
        ("The loss has jumped", "raised"),
        ("No best checkpoint", "raised"),
        ("The loss has jumped", "resolved"),
    ]


def test_a_lost_run_rings_although_no_supervisor_can_tell(
    webhook: Webhook, receiver: Receiver, store: Store
) -> None:
    use(webhook, receiver)
    heard = Heard()
    bell = LossBell(heard, webhook=webhook, store=store)
    bell.run_changed("run-1")
    store.write(lambda session: runs.transition(session, "run-1", new=RunState.LOST))
    bell.run_changed("run-1")
    count(webhook, "sent", 1)
    assert receiver.messages[0]["title"] == "The run is lost"
    assert heard.news == [("run_changed", "run-1")] * 2
