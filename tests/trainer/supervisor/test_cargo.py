"""The end of an attempt waits for the trainer's last words, and for nobody else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.trainer.supervisor.supervised import new_run
from trainer.protocol.events import EventType, Stream
from trainer.supervisor.cargo import StreamCargo
from trainer.supervisor.own_spool import OwnSpool


class AcceptingTicket:
    """An acknowledgement that is there already."""

    def __init__(self, last: int) -> None:
        self.last = last

    def wait(self) -> dict[str, Any]:
        return {"have": self.last}


class AcceptingLink:
    """Takes every batch at once."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []

    def send(self, event: str, body: Mapping[str, Any]) -> AcceptingTicket:
        self.sent.append(body)
        return AcceptingTicket(int(body["last"]))


def shipped(cargo: StreamCargo, hold_end: Callable[[int | None], bool]) -> int:
    link: Any = AcceptingLink()
    for _ in range(3):
        cargo.ship(link, hold_end=hold_end)
    return len(link.sent)


def test_an_end_is_held_as_long_as_what_came_before_it_is_missing(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    spool = OwnSpool(paths)
    spool.append(EventType.ATTEMPT, attempt=1, what="ended", trainer_seq=100)
    spool.append(EventType.STATE, attempt=1, state="retrying", reason="attempt 2")
    cargo = StreamCargo(paths, run="run-1", stream=Stream.SUPERVISOR, have=0)
    asked: list[int | None] = []

    def has_arrived(seq: int) -> Callable[[int | None], bool]:
        def hold_end(wanted: int | None) -> bool:
            asked.append(wanted)
            return wanted is None or seq < wanted

        return hold_end

    assert shipped(cargo, has_arrived(99)) == 0
    assert shipped(cargo, has_arrived(100)) == 1
    assert set(asked) == {100}
    cargo.close()
    spool.close()
