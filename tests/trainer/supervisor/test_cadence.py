"""How often an uplink looks, for streams of several kinds, on a clock of its own."""

from __future__ import annotations

from trainer.supervisor.cadence import EAGER_BYTES, HURRY_S, LOOK_EVERY_S, THIN_EVERY_S, Cadence


def looks(cadence: Cadence, bytes_per_s: float, *, seconds: float, begins_at: float = 0.0) -> list[float]:
    """When it looks while so many bytes come, each look taking everything there is."""
    now, read_until, found = 0.0, begins_at, []
    while now < seconds:
        backlog_bytes = int(max(0.0, now - read_until) * bytes_per_s)
        if cadence.is_due(now, backlog_bytes):
            found.append(now)
            cadence.looked(now, backlog_bytes, moved=backlog_bytes > 0, drained=True)
            read_until = max(now, begins_at)
        now += max(cadence.pause_s(now), 0.001)
    return found


def test_a_thin_stream_travels_four_times_a_second() -> None:
    found = looks(Cadence(), 10_000, seconds=10.0)
    assert 38 <= len(found) <= 43


def test_the_first_news_after_a_pause_goes_at_once() -> None:
    found = looks(Cadence(), 10_000, seconds=3.0, begins_at=2.1)
    assert min(at for at in found if at > 2.1) <= 2.1 + LOOK_EVERY_S + 0.01


def test_much_is_never_kept_waiting() -> None:
    cadence = Cadence()
    cadence.looked(5.0, 100, moved=True, drained=True)
    assert not cadence.is_due(5.1, EAGER_BYTES - 1)
    assert cadence.is_due(5.1, EAGER_BYTES)
    cadence.looked(5.1, EAGER_BYTES, moved=True, drained=True)
    assert cadence.pause_s(5.1) <= HURRY_S
    assert cadence.is_due(5.1 + HURRY_S, 10)
    cadence.looked(5.2, 10, moved=True, drained=False)
    assert cadence.pause_s(5.2) == 0.0
    assert cadence.is_due(5.2, 0)


def test_what_is_held_back_is_looked_at_again_soon() -> None:
    cadence = Cadence()
    cadence.looked(5.0, 0, moved=False, drained=False)
    assert cadence.is_due(5.0 + LOOK_EVERY_S, 0)
    cadence.looked(6.0, 0, moved=False, drained=True)
    assert not cadence.is_due(6.0 + LOOK_EVERY_S, 0)
    assert cadence.is_due(6.0 + THIN_EVERY_S, 0)


def test_nobody_who_waits_for_the_end_waits_for_the_cadence() -> None:
    cadence = Cadence()
    cadence.looked(5.0, 100, moved=True, drained=True)
    cadence.in_a_hurry = True
    assert cadence.is_due(5.001, 0)
    assert cadence.pause_s(5.001) <= HURRY_S
