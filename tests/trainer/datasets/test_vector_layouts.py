"""The files of earlier trainers, with their names of arrays, and the bank beside them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.datasets import vector_bank, vectors
from trainer.datasets.records import DatasetError, VectorPairs


def read(path: Path) -> VectorPairs:
    return vectors.read(path, lambda detail, fraction: None)


def saved(folder: Path, name: str = "v.npz", **arrays: Any) -> Path:
    path = folder / name
    np.savez(path, **arrays)
    return path


def some(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def split_arrays() -> dict[str, Any]:
    return {
        "X_train": some(9, 5, 4),
        "Y_train": some(9, 3),
        "X_val": some(3, 5, 4, seed=1),
        "Y_val": some(3, 3, seed=1),
    }


def keyed_arrays() -> dict[str, Any]:
    keys = np.array([[7, 0], [7, 1], [8, 0], [9, 0]])
    return {"context_sequences": some(4, 5, 4), "target_vectors": some(4, 3), "truth_keys": keys}


def test_pairs_with_a_split_of_their_own_keep_it(tmp_path: Path) -> None:
    arrays = split_arrays()
    pairs = read(saved(tmp_path, **arrays))
    assert pairs.query_vectors.shape == (12, 5, 4)
    assert (pairs.query_vectors[9:] == arrays["X_val"]).all()
    assert (pairs.document_vectors[:9] == arrays["Y_train"]).all()
    assert pairs.held_out is not None
    assert pairs.held_out.tolist() == [9, 10, 11]
    assert (pairs.ids[0], pairs.ids[8], pairs.ids[9]) == ("train/0", "train/8", "val/0")


def test_without_a_validation_side_nothing_is_kept_apart(tmp_path: Path) -> None:
    arrays = {name: array for name, array in split_arrays().items() if name.endswith("train")}
    assert read(saved(tmp_path, **arrays)).held_out is None


def test_keys_are_groups_and_ids(tmp_path: Path) -> None:
    pairs = read(saved(tmp_path, **keyed_arrays()))
    assert pairs.groups == ["7", "7", "8", "9"]
    assert pairs.ids == ["7/0", "7/1", "8/0", "9/0"]
    once = read(saved(tmp_path, **{**keyed_arrays(), "truth_keys": np.array([7, 7, 8, 9])}))
    assert (once.groups, once.ids) == (["7", "7", "8", "9"], ["0", "1", "2", "3"])


def without(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    return {other: array for other, array in arrays.items() if other != name}


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (without(split_arrays(), "Y_train"), "array Y_train is missing; needed are .*X_train and Y_train"),
        (without(split_arrays(), "Y_val"), "array Y_val is missing"),
        (without(keyed_arrays(), "target_vectors"), "array target_vectors is missing"),
        (
            {**split_arrays(), "X_val": some(3, 5, 6)},
            r"X_val: has rows of shape \(5, 6\), X_train of",
        ),
        ({**split_arrays(), "X_val": some(2, 5, 4)}, "Y_val: has 3 rows, X_val has 2"),
        ({**split_arrays(), "X_val": some(0, 5, 4), "Y_val": some(0, 3)}, "X_val: holds 0 pairs"),
        ({**keyed_arrays(), "truth_keys": np.zeros((3, 2), int)}, "truth_keys: has 3 rows, context_seq"),
        ({**keyed_arrays(), "truth_keys": np.zeros(4)}, "truth_keys: must be integers, is float64"),
        ({**keyed_arrays(), "truth_keys": np.zeros((4, 0), int)}, "truth_keys: has shape .* no key"),
        ({"vectors": some(4, 3)}, "holds a bank of documents .* as bank_file"),
        ({"other": some(4, 3)}, "array query_vectors is missing; .* the file has other"),
    ],
)
def test_a_malformed_file_names_the_array(arrays: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=words):
        read(saved(tmp_path, **arrays))


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (split_arrays, "X_val"),
        (split_arrays, "Y_train"),
        (keyed_arrays, "truth_keys"),
        (keyed_arrays, "target_vectors"),
    ],
)
def test_pickled_and_truncated_arrays_are_refused_in_every_layout(
    tmp_path: Path, made: Callable[[], dict[str, Any]], name: str
) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    arrays = made()
    trap = np.empty(len(arrays[name]), dtype=object)
    trap[:] = [Trap() for _ in trap]
    with pytest.raises(DatasetError, match=f"{name}: holds Python objects"):
        read(saved(tmp_path, **{**arrays, name: trap}))
    assert not (tmp_path / "sprung").exists()
    path = saved(tmp_path, **arrays)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DatasetError, match="is not a readable NPZ file"):
        read(path)


def test_the_head_of_a_split_file_has_both_sides(tmp_path: Path) -> None:
    head = vectors.read_head(saved(tmp_path, **split_arrays()), num_rows=4)
    assert (head.query_shape, head.document_shape) == ((12, 5, 4), (12, 3))
    assert head.first.held_out is not None
    assert (len(head.first), head.first.held_out.tolist()) == (4, [3])


def test_another_split_of_the_same_rows_is_another_dataset(tmp_path: Path) -> None:
    arrays = split_arrays()
    one = read(saved(tmp_path, **arrays)).content_hash
    del arrays["X_val"], arrays["Y_val"]
    assert read(saved(tmp_path, **arrays)).content_hash != one


def test_the_documents_of_the_pairs_are_found_in_the_bank_even_when_rounded(tmp_path: Path) -> None:
    pairs = read(saved(tmp_path, query_vectors=some(6, 4), document_vectors=some(6, 3)))
    more = some(5, 3, seed=9)
    rounded = pairs.document_vectors[2:4].astype(np.float16).astype(np.float32)
    bank = np.concatenate([more[:2], pairs.document_vectors[:2], rounded, more[2:], more[:1]])
    path = saved(tmp_path, "bank.npz", vectors=bank)
    assert vector_bank.shape_of(path) == (10, 3)
    joined = vector_bank.with_bank(pairs, path, lambda detail, fraction: None)
    assert joined.bank_vectors is not None
    assert (joined.bank_vectors == more).all()
    assert joined.bank_ids == ["vectors/0", "vectors/1", "vectors/6", "vectors/7", "vectors/8"]
    assert joined.content_hash != pairs.content_hash


def test_a_bank_that_does_not_fit_is_named(tmp_path: Path) -> None:
    pairs = read(saved(tmp_path, query_vectors=some(6, 4), document_vectors=some(6, 3)))
    for arrays, words in (
        ({"vectors": some(4, 5)}, "vectors of length 5, the pairs' documents have 3"),
        ({"other": some(4, 3)}, "array vectors is missing; the file has other"),
        ({"vectors": np.ones((4, 3), int)}, "must be float16"),
        ({"vectors": np.zeros((4, 3))}, "row 0: is all zeros"),
    ):
        path = saved(tmp_path, "bank.npz", **arrays)
        with pytest.raises(DatasetError, match=words):
            vector_bank.with_bank(pairs, path, lambda detail, fraction: None)
