"""The web process dies before and after every single step; nothing is lost and nothing is doubled."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.services import inbox_files
from tests.app.services.inbox_rig import InboxRig, pairs
from tests.app.services.run_rig import open_rig

GOOD, BAD = pairs(), "no dataset\n"


class Crash(BaseException):
    """Nothing catches it, like SIGKILL."""


@dataclass
class Fuse:
    """Lets ``steps`` points pass and then crashes, once."""

    steps: int
    has_blown: bool = False

    def point(self) -> None:
        if not self.has_blown and self.steps == 0:
            self.has_blown = True
            raise Crash
        self.steps -= 1

    def around(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def fused(*arguments: Any, **named: Any) -> Any:
            self.point()
            result = work(*arguments, **named)
            self.point()
            return result

        return fused


class FusedStore:
    """A store that crashes right before or right after a commit."""

    def __init__(self, store: Any, fuse: Fuse) -> None:
        self.read = store.read
        self.write = fuse.around(store.write)


def drop_everything(box: InboxRig) -> None:
    box.drop("a.jsonl", GOOD, sidecar={"name": "mine"})
    box.drop("high/b.jsonl", GOOD)
    box.drop("c.csv", BAD, sidecar={"tags": ["x"]})


def assert_all_is_well(box: InboxRig) -> None:
    assert sorted(box.states().values()) == ["duplicate", "failed", "queued"]
    assert box.rig.runs.list()[1] == 1
    kept = [path for path in box.rig.settings.instance.rglob("*") if path.is_file()]
    contents = Counter(path.read_text() for path in kept if path.suffix in (".jsonl", ".csv"))
    assert contents == {GOOD: 2, BAD: 1}
    assert list((box.folder / inbox_files.TAKEN).iterdir()) == []
    in_quarantine = sorted(path.name for path in (box.folder / "quarantine").iterdir())
    twin = next(name for name in ("a.jsonl", "b.jsonl") if name in in_quarantine)
    beside = ["a.jsonl.json"] if twin == "a.jsonl" else []
    assert in_quarantine == sorted(
        [twin, f"{twin}.reason.txt", *beside, "c.csv", "c.csv.json", "c.csv.reason.txt"]
    )
    assert [path.name for path in box.folder.iterdir() if path.is_file()] == []


def test_a_crash_at_any_step_neither_loses_nor_doubles_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move, tried = inbox_files.move, 0
    for steps in itertools.count():
        rig = open_rig(tmp_path / str(steps))
        box = InboxRig(rig)
        drop_everything(box)
        fuse = Fuse(steps)
        monkeypatch.setattr(inbox_files, "move", fuse.around(move))
        box.reopen(store=FusedStore(rig.store, fuse), create_run=fuse.around(rig.runs.create))
        try:
            box.drain()
        except Crash:
            box.reopen()  # as the next process would
            box.drain()
        assert_all_is_well(box)
        rig.store.close()
        if not fuse.has_blown:
            break
        tried += 1
    assert tried > 40


def test_a_copy_between_file_systems_survives_a_crash_at_any_step(tmp_path: Path) -> None:
    source, goal = bytes(tmp_path / "from.jsonl"), bytes(tmp_path / "to" / "a.jsonl")
    content = GOOD.encode() * 100

    def expected() -> tuple[str, int, int]:
        found = Path(tmp_path / "from.jsonl").stat()
        return inbox_files.inode_of(found), found.st_size, found.st_mtime_ns

    (tmp_path / "from.jsonl").write_bytes(content)
    identity = expected()
    (tmp_path / "to").mkdir()
    with pytest.raises(inbox_files.Interrupted):
        inbox_files.copy_aside(source, goal, should_stop=lambda: True)
    assert list((tmp_path / "to").iterdir()) == []
    (tmp_path / "to" / "a.jsonl").write_bytes(content)  # copied whole, and then the crash
    inbox_files.move(source, goal, expected=identity, should_stop=lambda: False)
    assert not (tmp_path / "from.jsonl").exists()
    (tmp_path / "from.jsonl").write_bytes(b"somebody's new file")
    inbox_files.move(source, goal, expected=identity, should_stop=lambda: False)
    assert (tmp_path / "from.jsonl").read_bytes() == b"somebody's new file"
    assert (tmp_path / "to" / "a.jsonl").read_bytes() == content


def test_a_file_that_is_at_neither_place_has_vanished(tmp_path: Path) -> None:
    with pytest.raises(inbox_files.Vanished):
        inbox_files.move(
            bytes(tmp_path / "a"), bytes(tmp_path / "b"), expected=("", 0, 0), should_stop=lambda: False
        )
