"""The shelf of registered datasets: versions, what counts as a change, and files that change under it."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from trainer.protocol import dataset_shelf as shelf
from trainer.protocol.dataset_shelf import DatasetVersion, ShelfError


def version_on(path: Path, *, name: str = "faq", **fields: Any) -> DatasetVersion:
    found = path.stat()
    known: dict[str, Any] = {
        "kind": "pairs", "columns": {"query": "Q"}, "num_rows": 2, "sha256": path.read_text(),
        "content_hash": path.read_text(),
    }  # fmt: skip
    return DatasetVersion(
        name=name, version=0, path=str(path), num_bytes=found.st_size, mtime_ns=found.st_mtime_ns,
        is_copy=False, created_at=0.0, **known | fields,
    )  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "faq.csv"
    path.write_text("one")
    return path


def test_new_content_is_a_new_version_and_the_same_content_is_none(tmp_path: Path, file: Path) -> None:
    first = shelf.add(tmp_path, version_on(file))
    assert shelf.add(tmp_path, version_on(file)) == first
    file.write_text("another")
    second = shelf.add(tmp_path, version_on(file))
    assert [one.label for one in shelf.versions(tmp_path, "faq")] == ["faq@1", "faq@2"]
    assert shelf.find(tmp_path, "faq") == second
    assert shelf.find(tmp_path, "faq@1") == first
    assert shelf.find(tmp_path, "faq@3") is shelf.find(tmp_path, "none") is None
    assert first.trouble() == "the file has changed since"
    assert second.trouble() is None


def test_another_mapping_of_the_same_file_is_a_version_too(tmp_path: Path, file: Path) -> None:
    shelf.add(tmp_path, version_on(file))
    assert shelf.add(tmp_path, version_on(file, columns={"query": "A"})).version == 2


def test_a_file_that_is_taken_lies_beside_its_version_and_moves_with_the_instance(
    tmp_path: Path, file: Path
) -> None:
    stored = shelf.add(tmp_path / "here", version_on(file), take=file)
    assert not file.exists()
    assert Path(stored.path).read_text() == "one"
    assert stored.trouble() is None
    (tmp_path / "here").rename(tmp_path / "there")
    moved = shelf.find(tmp_path / "there", "faq")
    assert moved is not None
    assert moved.path == str((tmp_path / "there" / "registered" / "faq" / "0001" / "faq.csv").resolve())
    Path(moved.path).unlink()
    assert moved.trouble() == "the file is gone"


def test_writers_at_the_same_time_get_numbers_of_their_own(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.csv" for number in range(8)]
    for number, path in enumerate(files):
        path.write_text(f"content {number}")
    threads = [threading.Thread(target=shelf.add, args=(tmp_path, version_on(path))) for path in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    there = shelf.versions(tmp_path, "faq")
    assert [one.version for one in there] == list(range(1, 9))
    assert {one.path for one in there} == {str(path) for path in files}
    assert not list((tmp_path / "registered" / "faq").glob(".new-*"))


def test_a_name_belongs_to_one_kind(tmp_path: Path, file: Path) -> None:
    shelf.add(tmp_path, version_on(file))
    with pytest.raises(ShelfError, match="faq is a dataset of pairs, not labelled; choose another name"):
        shelf.add(tmp_path, version_on(file, kind="labelled"))


@pytest.mark.parametrize("name", ["", "A", "../x", "a/b", ".a", "a" * 65, "a b", "a@1"])
def test_odd_names_are_refused(tmp_path: Path, file: Path, name: str) -> None:
    with pytest.raises(ShelfError, match="a name has 1 to 64"):
        shelf.add(tmp_path, version_on(file, name=name))
    assert shelf.versions(tmp_path, name) == []


def test_damaged_manifests_are_left_out(tmp_path: Path, file: Path) -> None:
    shelf.add(tmp_path, version_on(file))
    manifest = tmp_path / "registered" / "faq" / "0001" / "version.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "name": "other"}))
    assert shelf.names(tmp_path) == []
    manifest.write_text("{")
    assert shelf.names(tmp_path) == []


def test_what_is_discarded_goes_to_the_trash_and_files_elsewhere_stay(tmp_path: Path, file: Path) -> None:
    shelf.add(tmp_path, version_on(file))
    where = shelf.discard(tmp_path, "faq", trash=tmp_path / "trash")
    assert (where / "0001" / "version.json").is_file()
    assert file.exists()
    assert shelf.names(tmp_path) == []
    with pytest.raises(ShelfError, match="there is no dataset 'faq'"):
        shelf.discard(tmp_path, "faq", trash=tmp_path / "trash")


def test_only_what_was_read_whole_and_found_sound_can_be_registered() -> None:
    with pytest.raises(ShelfError, match="line 3"):
        shelf.version_of("faq", {"check": {"ok": False, "error": "line 3 is wrong"}})
    with pytest.raises(ShelfError, match="only its first rows were looked at"):
        shelf.version_of("faq", {"check": {"ok": True}})
