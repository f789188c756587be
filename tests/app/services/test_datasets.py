"""Which files may be trained on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.services.datasets import describe_datasets, list_files, resolve_dataset
from tests.app.services.run_rig import write_pairs
from trainer.recipes.registry import recipes

RECIPE = recipes()["two_tower"]


def resolve(dataset: str, root: Path) -> str:
    return resolve_dataset(RECIPE, dataset, roots=[root])


def test_a_built_in_name_is_taken_as_it_is(tmp_path: Path) -> None:
    assert resolve("python_docs", tmp_path) == "python_docs"


def test_files_are_found_by_relative_and_absolute_path(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl")
    assert resolve("pairs.jsonl", tmp_path) == resolve(str(path), tmp_path) == str(path.resolve())


def test_a_link_that_stays_inside_is_followed_and_one_that_leads_out_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "inside.jsonl").symlink_to(write_pairs(root / "pairs.jsonl"))
    (root / "out.jsonl").symlink_to(write_pairs(outside / "secret.jsonl"))
    (root / "folder").symlink_to(outside)
    assert resolve("inside.jsonl", root) == str((root / "pairs.jsonl").resolve())
    for path in ("out.jsonl", "folder/secret.jsonl", "../outside/secret.jsonl"):
        with pytest.raises(InvalidRequest) as caught:
            resolve(path, root)
        assert caught.value.field == "dataset"


@pytest.mark.parametrize(
    "path", ["", "nope", "nope.jsonl", "/dev/zero", "..", "/", "a\x00.csv", "x" * 2000 + ".csv"]
)
def test_odd_paths_are_refused_with_a_hint(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        resolve(path, tmp_path)
    assert caught.value.field == "dataset"


def test_folders_pipes_empty_files_and_unknown_endings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "code.py").write_text("print()")
    messages = []
    for path in ("folder.csv", "pipe.csv", "empty.csv", "sub/code.py"):
        with pytest.raises(InvalidRequest) as caught:
            resolve(path, tmp_path)
        messages.append(caught.value.message)
    assert [message.split(" ", 1)[1] for message in messages] == [
        "is a folder",
        "is not a regular file",
        "is empty",
        "has an unknown ending",
    ]


def test_a_file_that_another_recipe_reads_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("Once.")
    with pytest.raises(InvalidRequest) as caught:
        resolve("book.txt", tmp_path)
    assert caught.value.message == "book.txt ends in .txt, which two_tower cannot read"
    assert "two_tower takes pairs of texts and pairs of vectors (.jsonl" in (caught.value.hint or "")
    assert (caught.value.hint or "").endswith("causal_lm and script can train on .txt")


def test_listings_show_known_endings_only_and_no_links(tmp_path: Path) -> None:
    write_pairs(tmp_path / "pairs.jsonl")
    (tmp_path / "notes.md").write_text("x")
    (tmp_path / "pairs.jsonl.json").write_text("{}")  # a sidecar
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "pairs.jsonl")
    assert [file.name for file in list_files([tmp_path, tmp_path / "missing"])] == ["pairs.jsonl"]


def test_caches_of_built_in_datasets_are_not_offered_as_files(tmp_path: Path) -> None:
    (tmp_path / "python_docs").mkdir()
    write_pairs(tmp_path / "python_docs" / "cache.jsonl")
    shown = describe_datasets(recipes().values(), roots=[tmp_path])
    assert [(one["name"], one["kind"]) for one in shown] == [("python_docs", "builtin")]
