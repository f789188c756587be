from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.datasets import vectors
from trainer.datasets.records import DatasetError, VectorPairs


def read(path: Path) -> VectorPairs:
    return vectors.read(path, lambda detail, fraction: None)


def saved(folder: Path, **arrays: Any) -> Path:
    path = folder / "v.npz"
    np.savez(path, **arrays)
    return path


def some(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_single_vectors_are_sequences_of_one(tmp_path: Path) -> None:
    pairs = read(saved(tmp_path, query_vectors=some(5, 4).astype(np.float64), document_vectors=some(5, 3)))
    assert pairs.query_vectors.shape == (5, 1, 4)
    assert pairs.query_vectors.dtype == np.float32
    assert pairs.ids == ["0", "1", "2", "3", "4"]
    assert pairs.groups == pairs.ids


def test_labels_are_read(tmp_path: Path) -> None:
    pairs = read(
        saved(
            tmp_path,
            query_vectors=some(2, 3, 4),
            document_vectors=some(2, 4),
            groups=np.array([7, 7]),
            ids=np.array(["a", "b"]),
            query_texts=np.array(["first", "second"]),
            document_titles=np.array(["one", "two"]),
        )
    )
    assert (pairs.groups, pairs.ids) == (["7", "7"], ["a", "b"])
    assert (pairs.queries_text, pairs.titles) == (["first", "second"], ["one", "two"])


def with_bad_row(array: Any, row: int, value: float) -> Any:
    array[row] = value
    return array


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"query_vectors": some(3, 4)}, "array document_vectors is missing"),
        (
            {"query_vectors": some(3, 4), "document_vectors": some(2, 4)},
            "document_vectors: has 2 rows, query_v",
        ),
        ({"query_vectors": some(3), "document_vectors": some(3, 4)}, "must have 2 or 3 dimensions"),
        ({"query_vectors": some(3, 4), "document_vectors": some(3, 2, 4)}, "must have 2 dimensions"),
        ({"query_vectors": np.ones((3, 4), int), "document_vectors": some(3, 4)}, "must be float16, float32"),
        ({"query_vectors": some(1, 4), "document_vectors": some(1, 4)}, "holds 1 pairs, at least 2"),
        ({"query_vectors": some(3, 0), "document_vectors": some(3, 4)}, "its vectors are empty"),
        (
            {"query_vectors": with_bad_row(some(3, 4), 1, np.nan), "document_vectors": some(3, 4)},
            "query_vectors, row 1: holds NaN or infinity",
        ),
        (
            {"query_vectors": some(3, 4), "document_vectors": with_bad_row(some(3, 4), 2, 0.0)},
            "document_vectors, row 2: is all zeros",
        ),
        (
            {"query_vectors": some(3, 4).astype(float) * 1e60, "document_vectors": some(3, 4)},
            "row 0: holds NaN or infinity .3 rows",
        ),
        (
            {"query_vectors": some(2, 4), "document_vectors": some(2, 4), "ids": np.array(["a", "a"])},
            "ids, row 1: 'a' is already the id of row 0",
        ),
        (
            {"query_vectors": some(2, 4), "document_vectors": some(2, 4), "groups": np.array([0.5, 1])},
            "groups: must be text or integers",
        ),
    ],
)
def test_a_malformed_array_is_named(arrays: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=words):
        read(saved(tmp_path, **arrays))


def test_pickled_objects_are_refused_and_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    trap = np.empty(2, dtype=object)
    trap[:] = [Trap(), Trap()]
    path = saved(tmp_path, query_vectors=some(2, 4), document_vectors=some(2, 4), groups=trap)
    with pytest.raises(DatasetError, match="groups: holds Python objects, which are never loaded"):
        read(path)
    assert not (tmp_path / "sprung").exists()


def test_a_file_that_is_no_npz_or_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    path.write_bytes(b"no zip at all")
    with pytest.raises(DatasetError, match="is not a readable NPZ file"):
        read(path)
    whole = saved(tmp_path, query_vectors=some(9, 4), document_vectors=some(9, 4)).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match="is not a readable NPZ file"):
        read(path)
