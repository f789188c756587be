from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import psutil
import pytest

from app.errors import NotFound, TooLarge
from app.services import run_exports
from app.services.run_exports import archive, exported_files, open_exported
from trainer.protocol.run_folder import RunPaths


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    found = RunPaths(tmp_path / "run")
    folder = found.root / "export" / "towers"
    folder.mkdir(parents=True)
    (found.root / "spec.json").write_text("secret")
    (found.root / "export" / "config.json").write_text("{}")
    (folder / "größe.bin").write_bytes(os.urandom(3_000_000))
    return found


def test_files_are_listed_with_their_folders(paths: RunPaths) -> None:
    assert [(one.name, one.num_bytes) for one in exported_files(paths)] == [
        ("config.json", 2),
        ("towers/größe.bin", 3_000_000),
    ]


def test_the_archive_holds_every_byte_and_is_made_in_pieces(paths: RunPaths) -> None:
    pieces = list(archive(paths, top="abc"))
    assert max(map(len, pieces)) < 2_000_000, "never the whole export in memory"
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as zipped:
        assert zipped.testzip() is None
        assert zipped.namelist() == ["abc/config.json", "abc/towers/größe.bin"]
        assert zipped.read("abc/towers/größe.bin") == (paths.root / "export/towers/größe.bin").read_bytes()


def test_a_download_that_is_broken_off_leaves_no_file_open(paths: RunPaths) -> None:
    pieces = archive(paths, top="abc")
    while len(next(pieces)) < 1_000_000:
        pass
    pieces.close()  # type: ignore[attr-defined]
    opened = [path for path in psutil.Process().open_files() if "export" in path.path]
    assert opened == []


def test_nothing_outside_is_listed_or_read(paths: RunPaths, tmp_path: Path) -> None:
    export = paths.root / "export"
    (export / "link").symlink_to(paths.spec)
    (export / "folder").symlink_to(tmp_path)
    os.mkfifo(export / "pipe")
    assert [one.name for one in exported_files(paths)] == ["config.json", "towers/größe.bin"]
    for name in ("link", "folder/run/spec.json", "pipe", "../spec.json", "/etc/passwd", "", "towers"):
        with pytest.raises(NotFound):
            open_exported(paths, name)
    with open_exported(paths, "config.json")[0] as file:
        assert file.read() == b"{}"


def test_an_export_that_is_a_link_or_absent_is_empty(paths: RunPaths, tmp_path: Path) -> None:
    other = RunPaths(tmp_path / "other")
    other.root.mkdir()
    assert exported_files(other) == []
    with pytest.raises(NotFound, match="nothing has been exported"):
        archive(other, top="other")
    (other.root / "export").symlink_to(paths.root)
    assert exported_files(other) == []


def test_times_that_the_format_does_not_have_are_moved(paths: RunPaths) -> None:
    for seconds in (-1e10, 0.0, 1e11):
        os.utime(paths.root / "export" / "config.json", (seconds, seconds))
        content = b"".join(archive(paths, top="abc"))
        with zipfile.ZipFile(io.BytesIO(content)) as zipped:
            assert 1980 <= zipped.getinfo("abc/config.json").date_time[0] <= 2107


def test_too_many_files_are_refused_with_the_folder(paths: RunPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_exports, "MOST_FILES", 1)
    with pytest.raises(TooLarge, match="over 1 files"):
        exported_files(paths)
