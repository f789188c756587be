"""Odd names, odd things and odd disks: nothing is followed, nothing is lost."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.services.inbox_rig import InboxRig, pairs
from tests.app.services.run_rig import Rig


@pytest.fixture
def box(rig: Rig) -> InboxRig:
    return InboxRig(rig)


def test_what_is_not_meant_to_be_taken_is_not_even_listed(box: InboxRig) -> None:
    names = [".hidden.jsonl", "a.jsonl.part", "a.tmp", "a.CRDOWNLOAD", "a.jsonl.json"]
    paths = [box.drop(name, pairs()) for name in names]
    box.drain()
    assert box.states() == {}
    assert all(path.exists() for path in paths)


def test_what_cannot_be_trained_on_is_quarantined_in_words(box: InboxRig) -> None:
    cases: list[tuple[str, str | bytes, str]] = [
        ("empty.jsonl", "", "is empty"),
        ("notes.txt", "hello", "single group"),
        ("notes.md", "hello", "unknown ending"),
        ("none", "hello", "unknown ending"),
        ("one.jsonl", '{"query": "a", "document": "b"}\n', "single group"),
        ("torn.jsonl", pairs()[:-20], "line 4"),
        ("utf16.csv", "query,document\n".encode("utf-16"), "UTF-16"),
        ("fake.npz", b"PK\x03\x04 no archive", "NPZ"),
    ]
    for name, content, _ in cases:
        box.drop(name, content)
    box.drain()
    for name, _, told in cases:
        item = box.item(name)
        assert item["state"] == "failed"
        assert told in item["reason"]
        assert str(box.folder) not in item["reason"]


def test_any_name_becomes_a_harmless_one(box: InboxRig) -> None:
    names: list[str | bytes] = ["späße für.jsonl", "line\nbreak.jsonl", "-rf.jsonl", b"\xff\xfe.jsonl"]
    names += ["a" * 240 + ".jsonl", "\u65e5\u672c.JSONL"]
    for number, name in enumerate(names):
        box.drop(name, pairs(word=f"n{number}_"))
    box.drain()
    assert list(box.states().values()) == ["queued"] * len(names)
    for stored in (box.rig.settings.datasets_dir / "inbox").iterdir():
        assert stored.name.isprintable()
        assert not stored.name.startswith(("-", "."))
        assert len(os.fsencode(stored.name)) < 200
    json.dumps(box.desk.view())


def test_links_folders_and_pipes_are_left_where_they_are(box: InboxRig, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(pairs())
    (box.folder / "link.jsonl").symlink_to(secret)
    (box.folder / "folder").mkdir()
    os.mkfifo(box.folder / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as listener:
        was_in = Path.cwd()
        os.chdir(box.folder)
        listener.bind("socket.jsonl")
        os.chdir(was_in)
    before = sorted(path.name for path in box.folder.iterdir())
    box.drain()
    box.drain()
    assert set(box.states().values()) == {"failed"}
    assert sorted(path.name for path in box.folder.iterdir()) == before
    assert box.checker.checked == []
    assert "symbolic link" in box.item("link.jsonl")["reason"]
    box.desk.retry(box.item("folder")["id"])
    box.drain()
    assert box.states()["folder"] == "failed"
    box.desk.forget(box.item("link.jsonl")["id"])
    box.drain()
    assert "link.jsonl" in box.states()  # it still lies there
    assert secret.exists()


def test_a_subfolder_that_is_a_link_is_not_looked_into(box: InboxRig, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.jsonl").write_text(pairs())
    (box.folder / "high").rmdir()
    (box.folder / "high").symlink_to(elsewhere)
    box.drain()
    assert box.states() == {}
    assert (elsewhere / "a.jsonl").exists()


def test_a_link_put_in_place_of_a_taken_file_is_not_followed(box: InboxRig, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(pairs())
    path = box.drop("a.jsonl", pairs(word="other"))
    box.inbox.make_folders()
    box.inbox._arrivals.take_note()
    path.unlink()
    path.symlink_to(secret)
    box.inbox._next_note = time.monotonic() + 60  # it is taken on the strength of the earlier look
    box.inbox.look()
    assert box.item("a.jsonl")["state"] == "failed"
    assert box.checker.checked == []
    assert secret.exists()


@pytest.fixture
def other_disk() -> Iterator[Path]:
    """A folder on another file system than the temporary folder."""
    shared = Path("/dev/shm")  # a file system of its own on Linux
    if not shared.is_dir() or shared.stat().st_dev == Path("/tmp").stat().st_dev:
        pytest.skip("no second file system here")
    folder = shared / f"signalbox-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_an_inbox_on_another_file_system_is_copied_whole(rig: Rig, other_disk: Path) -> None:
    rig.settings.inbox_dir.rmdir()
    rig.settings.inbox_dir.symlink_to(other_disk)
    box = InboxRig(rig)
    content = pairs(5000)
    box.drop("a.jsonl", content)
    box.drain()
    stored = rig.settings.datasets_dir / "inbox" / "a.jsonl"
    assert stored.read_text() == content
    assert [path for path in other_disk.rglob("*") if path.is_file()] == []
    assert box.states() == {"a.jsonl": "queued"}


@pytest.fixture
def small_disk(rig: Rig) -> Iterator[Path]:
    """The datasets folder on a disk of one MiB; needs the right to mount."""
    folder = rig.settings.datasets_dir
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_delays_a_file_and_loses_nothing(small_disk: Path, rig: Rig) -> None:
    box = InboxRig(rig)
    content = pairs(40_000)
    box.drop("big.jsonl", content)
    box.drop("small.jsonl", pairs())
    box.drain()
    item = box.item("big.jsonl")
    assert item["state"] == "checking"
    assert "No space left on device" in item["reason"]
    assert box.states()["small.jsonl"] == "queued"
    assert [path.name for path in (small_disk / "inbox").iterdir()] == ["small.jsonl"]
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    box.inbox.wake()
    box.drain()
    assert box.states()["big.jsonl"] == "queued"
    assert (small_disk / "inbox" / "big.jsonl").read_text() == content
