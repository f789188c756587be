"""Files of near misses and P-caches: read as the original miners wrote them, refused with the place."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.datasets.near_misses import NearMissLine, PCache, file_beside, read
from trainer.datasets.records import DatasetError


def silent(detail: str, fraction: float) -> None:
    """Tell nobody."""


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "misses.jsonl"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines))
    return path


def test_both_spellings_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"q_index": 3, "near_miss_indices": [1, 2], "gold_idx": 3},
        "",
        {"query_idx": 0, "negative_indices": []},
    )
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    found = read(path, num_queries=4, num_documents=4, tell=silent)
    assert found.lines == [NearMissLine(1, 3, (1, 2), 3), NearMissLine(3, 0, (), None)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 1: is not JSON"),
        ("[1]", "line 1: must be an object"),
        ({"near_miss_indices": [1]}, "q_index or query_idx is missing; it has near_miss_indices"),
        ({"q_index": 0, "misses": [1]}, "near_miss_indices or negative_indices is missing"),
        ({"q_index": "0", "near_miss_indices": []}, "line 1, q_index: must be a row number, got '0'"),
        ({"q_index": True, "near_miss_indices": []}, "must be a row number"),
        ({"q_index": 4, "near_miss_indices": []}, "row 4 does not exist; there are 4, counted from 0"),
        ({"q_index": 0, "near_miss_indices": 1}, "must be a list"),
        ({"q_index": 0, "near_miss_indices": [-1]}, "row -1 does not exist"),
        ({"q_index": 0, "near_miss_indices": [], "gold_idx": 9}, "gold_idx: row 9 does not exist"),
        ('{"q_index": 0, "near_miss_indices": [' + "1, " * 400_000 + "1]}", "is longer than 1,000,000"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: Any, words: str) -> None:
    with pytest.raises(DatasetError, match=words.replace("(", r"\(")):
        read(written(tmp_path, line), num_queries=4, num_documents=4, tell=silent)


def test_a_query_twice_and_no_query_at_all_are_refused(tmp_path: Path) -> None:
    twice = {"q_index": 0, "near_miss_indices": [1]}
    with pytest.raises(DatasetError, match="line 2: query 0 is already that of line 1"):
        read(written(tmp_path, twice, twice), num_queries=4, num_documents=4, tell=silent)
    with pytest.raises(DatasetError, match="names no near miss"):
        read(written(tmp_path, "", ""), num_queries=4, num_documents=4, tell=silent)


def test_files_lie_beside_their_dataset_and_nowhere_else(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "secret.jsonl").write_text("{}")
    (folder / "link.jsonl").symlink_to(elsewhere / "secret.jsonl")
    (folder / "misses.jsonl").write_text("{}")
    os.mkfifo(folder / "pipe.jsonl")
    dataset = str(folder / "pairs.jsonl")
    assert file_beside(dataset, "misses.jsonl", datasets_dir=tmp_path) == folder / "misses.jsonl"
    for name, words in [
        ("link.jsonl", "leads out of the dataset's folder"),
        ("../elsewhere/secret.jsonl", "leads out"),
        ("gone.jsonl", "No such file"),
        ("pipe.jsonl", "not a regular file"),
    ]:
        with pytest.raises(DatasetError, match=words):
            file_beside(dataset, name, datasets_dir=tmp_path)
    assert file_beside("python_docs", "secret.jsonl", datasets_dir=elsewhere).parent == elsewhere


def test_rows_of_a_p_cache_are_read_one_by_one(tmp_path: Path) -> None:
    vectors = np.arange(12, dtype=np.float64).reshape(4, 3) + 1
    np.save(tmp_path / "p.npy", vectors)
    cache = PCache(tmp_path / "p.npy")
    assert (len(cache), cache.dim) == (4, 3)
    assert (cache.rows(np.array([3, 0])) == vectors[[3, 0]]).all()
    assert cache.rows(np.array([1])).dtype == np.float32


def test_a_p_cache_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npy"
    for array, words in [
        (np.zeros((0, 3)), "nothing in it"),
        (np.zeros(3), r"must be a matrix \[N, D\] of floats, is float64 \(3,\)"),
        (np.zeros((2, 3), dtype=np.int64), "of floats, is int64"),
        (np.array([[object()]], dtype=object), "not a readable .npy file"),
    ]:
        np.save(path, array, allow_pickle=True)
        with pytest.raises(DatasetError, match=words):
            PCache(path)
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DatasetError, match="not a readable"):
        PCache(path)
    np.save(path, np.ones((50, 30)))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DatasetError, match="not a readable"):
        PCache(path)


def test_an_unusable_row_of_a_p_cache_is_named_when_it_is_needed(tmp_path: Path) -> None:
    vectors = np.ones((4, 3))
    vectors[2, 1], vectors[3] = np.nan, 0
    np.save(tmp_path / "p.npy", vectors)
    cache = PCache(tmp_path / "p.npy")
    cache.rows(np.array([0, 1]))
    with pytest.raises(DatasetError, match="row 2: holds NaN"):
        cache.rows(np.array([0, 2]))
    with pytest.raises(DatasetError, match="row 3: is all zeros"):
        cache.rows(np.array([3]))
