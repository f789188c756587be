"""Near misses and documents from files: aligned with their queries, never an answer, never held out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.small_material import (
    params,
    silent,
    text_pairs,
    train_steps,
    vector_pairs,
)
from trainer.datasets.records import DatasetError
from trainer.tasks.two_tower.material import Material, from_texts, from_vectors
from trainer.tasks.two_tower.near_misses import Supplied
from trainer.tasks.two_tower.supplied import supplied_by_files

WANTED: dict[str, Any] = {"mined_negatives": 2, "mine_from_epoch": 0, "near_miss_file": "m.jsonl"}


def supplied(folder: Path, *, kind: str = "vectors", **changes: Any) -> tuple[Material, Supplied | None]:
    """What the files of ``folder`` mean for a small dataset there."""
    settings = params(**{**WANTED, **changes})
    if kind == "texts":
        material = from_texts(text_pairs(), settings, cache=folder / "features", tell=silent)
    else:
        material = from_vectors(vector_pairs(), settings)
    return supplied_by_files(
        material, settings, dataset=str(folder / "pairs.npz"), datasets_dir=folder, tell=silent
    )


def misses_of(found: Supplied | None) -> dict[int, list[int]]:
    assert found is not None
    assert found.misses_of is not None
    return {query: numbers.tolist() for query, numbers in found.misses_of.items()}


def write(folder: Path, lines: dict[int, list[int]], **more: Any) -> None:
    rows = [{"q_index": query, "near_miss_indices": misses, **more} for query, misses in lines.items()]
    (folder / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))


def train_rows(folder: Path) -> list[int]:
    rows: list[int] = from_vectors(vector_pairs(), params()).split.train.tolist()
    return rows


def test_without_files_nothing_changes(tmp_path: Path) -> None:
    material, found = supplied(tmp_path, near_miss_file="")
    assert found is None
    assert material.content_hash == "hash of the vectors"


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_rows_named_become_near_misses_of_their_own_query_and_answers_and_held_out_ones_do_not(
    tmp_path: Path, kind: str
) -> None:
    write(tmp_path, {0: []})
    material, _ = supplied(tmp_path, kind=kind)
    train, held_out = material.split.train.tolist(), material.split.held_out.tolist()
    query = next(row for row in train if row > 10)
    right = [row for row in train[:3] if row not in (1, 2, query)]
    write(tmp_path, {query: [*right, query, held_out[0]], held_out[1]: right})
    _, found = supplied(tmp_path, kind=kind)
    assert misses_of(found) == {query: [int(material.document_of_N[row]) for row in right]}


def test_a_copy_of_the_answer_is_no_near_miss(tmp_path: Path) -> None:
    pairs = vector_pairs()
    query, other = train_rows(tmp_path)[5:7]
    np.save(tmp_path / "p.npy", np.stack([pairs.document_vectors[query] * 2, pairs.document_vectors[other]]))
    write(tmp_path, {query: [0, 1]})
    material, found = supplied(tmp_path, p_cache_file="p.npy")
    assert misses_of(found) == {query: [int(material.document_of_N[other])]}


def test_rows_of_a_p_cache_are_documents_of_their_own_unless_they_are_known(tmp_path: Path) -> None:
    pairs = vector_pairs()
    first, second, third = train_rows(tmp_path)[4:7]
    strangers = np.random.default_rng(1).normal(size=(3, 8)).astype(np.float32)
    np.save(tmp_path / "p.npy", np.concatenate([strangers, pairs.document_vectors[[third]], strangers[:1]]))
    write(tmp_path, {first: [0, 3], second: [4, 2]}, gold_idx=0)
    material, found = supplied(tmp_path, p_cache_file="p.npy")
    known = len(material.document_ids)
    assert misses_of(found) == {
        first: [known, int(material.document_of_N[third])],
        second: [known, known + 1],
    }
    assert len(material.documents) == known + 2
    (vector,) = material.documents.take(np.array([known + 1]))
    assert torch.equal(vector[0], torch.from_numpy(strangers[2]))


def test_a_p_cache_alone_is_mined_from_but_not_its_held_out_documents(tmp_path: Path) -> None:
    pairs = vector_pairs()
    held_out = from_vectors(pairs, params()).split.held_out
    strangers = np.random.default_rng(1).normal(size=(30, 8)).astype(np.float32)
    np.save(tmp_path / "p.npy", np.concatenate([strangers, pairs.document_vectors[held_out[:4]]]))
    settings = params(
        **{**WANTED, "near_miss_file": "", "p_cache_file": "p.npy"}, document_tower="identity", dim=8
    )
    material, found = supplied_by_files(
        from_vectors(pairs, settings), settings, dataset=str(tmp_path / "v.npz"), datasets_dir=tmp_path,
        tell=silent,
    )  # fmt: skip
    assert found is not None
    assert found.pool.tolist() == list(range(len(material.document_ids), len(material.document_ids) + 30))
    from trainer.tasks.two_tower.model import vector_towers
    from trainer.tasks.two_tower.task import TwoTowerTask

    towers = vector_towers(settings, query_dim=8, document_dim=8, device=torch.device("cpu"))
    task = TwoTowerTask(material, towers, settings, supplied=found)
    assert len(train_steps(task, epochs=1)) > 0
    mined = set(task.state_dict()["mined"].flatten().tolist())
    assert mined & set(found.pool.tolist())
    assert not mined & set(material.document_of_N[held_out].tolist())


def test_every_epoch_draws_from_the_file_and_rows_without_a_line_have_none(tmp_path: Path) -> None:
    from trainer.tasks.two_tower.model import vector_towers
    from trainer.tasks.two_tower.task import TwoTowerTask

    rows = train_rows(tmp_path)
    write(tmp_path, {rows[5]: rows[10:20], rows[6]: rows[20:21]})
    material, found = supplied(tmp_path)
    settings = params(**WANTED)
    towers = vector_towers(settings, query_dim=8, document_dim=8, device=torch.device("cpu"))
    task = TwoTowerTask(material, towers, settings, supplied=found)
    drawn = []
    for epoch in (0, 1):
        task.begin_epoch(epoch, silent)
        state = task.state_dict()
        assert state["mined_for"].tolist() == rows
        mined = dict(zip(rows, state["mined"].tolist(), strict=True))
        assert set(mined[rows[5]]) <= {int(material.document_of_N[row]) for row in rows[10:20]}
        assert mined[rows[6]] == [int(material.document_of_N[rows[20]]), -1]
        assert mined[rows[7]] == [-1, -1]
        drawn.append(mined[rows[5]])
    assert drawn[0] != drawn[1]


def test_a_file_mined_for_another_order_of_the_dataset_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {5: [9]}, gold_idx=6)
    with pytest.raises(DatasetError, match="line 1, gold_idx: row 6 does not answer query 5 here"):
        supplied(tmp_path)


def test_files_that_do_not_fit_the_dataset_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {120: [9]})
    with pytest.raises(DatasetError, match="row 120 does not exist; there are 120"):
        supplied(tmp_path)
    write(tmp_path, {5: [9]})
    np.save(tmp_path / "p.npy", np.ones((3, 8)))
    with pytest.raises(DatasetError, match="row 9 does not exist; there are 3"):
        supplied(tmp_path, p_cache_file="p.npy")
    with pytest.raises(DatasetError, match="holds vectors, and small holds texts"):
        supplied(tmp_path, kind="texts", p_cache_file="p.npy")
    np.save(tmp_path / "p.npy", np.ones((30, 7)))
    with pytest.raises(DatasetError, match="its vectors have length 7, those of vectors's documents 8"):
        supplied(tmp_path, p_cache_file="p.npy")


def test_the_content_hash_covers_the_files(tmp_path: Path) -> None:
    rows = train_rows(tmp_path)
    hashes = []
    for misses in ([rows[3]], [rows[4]]):
        write(tmp_path, {rows[9]: misses})
        hashes.append(supplied(tmp_path)[0].content_hash)
    strangers = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float32)
    for scale in (1, 2):
        np.save(tmp_path / "p.npy", strangers * scale)
        hashes.append(supplied(tmp_path, p_cache_file="p.npy")[0].content_hash)
    assert len(set(hashes)) == 4
