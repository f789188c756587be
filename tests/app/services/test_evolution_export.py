"""What was imported comes back as it was; what we recorded becomes files the original can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict, InvalidRequest, NotFound
from app.services.evolution_export import export_tree, folder_name
from app.services.evolution_import import Result, import_tree
from app.services.evolution_original import EXAMPLE, HEADER, SUMMARY
from app.services.ingest import Ingest
from app.store.engine import Store
from tests.app.original_files import original, read_tree, write_file, write_tree
from tests.app.rows import snapshot_file, store_running


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "evolution_snapshots")


def fields_of(tree: dict[str, Any]) -> dict[str, str]:
    """Every field of every file as JSON text: 5 is not 5.0 and NaN is NaN."""
    return {
        f"{name}: {field}": json.dumps(value, sort_keys=True)
        for name, content in tree.items()
        for field, value in content.items()
    }


def test_import_and_export_lose_nothing(store: Store, tree: Path, tmp_path: Path) -> None:
    odd = original(10, model_version="v1 <b>", timestamp="2024-02-29T23:59:59", snapshot_id="of its own")
    odd["examples"][0].update(loss=float("nan"), output_length=7, similarity=1)
    odd["examples"][1].update(loss=3, input="a\0b\u202e\n", example_id="1")
    odd["summary"].update(avg_loss=float("inf"), accuracy=1)
    write_file(tree, 10, odd)
    import_tree(store, tree)
    done = export_tree(store, "toy", tmp_path / "out")
    assert (done.num_written, done.num_unchanged) == (3, 0)
    assert fields_of(read_tree(tmp_path / "out")) == fields_of(read_tree(tree))


def test_what_was_exported_can_be_imported(store: Store, tree: Path, tmp_path: Path) -> None:
    import_tree(store, tree)
    export_tree(store, "toy", tmp_path / "out")
    (outcome,) = import_tree(store, tmp_path / "out", dataset="again")
    assert (outcome.result, outcome.num_stored) == (Result.IMPORTED, 3)
    export_tree(store, "again", tmp_path / "twice")
    assert list(read_tree(tmp_path / "twice").values()) == list(read_tree(tmp_path / "out").values())


def test_a_run_of_our_own_is_written_in_their_format(store: Store, ingest: Ingest, tmp_path: Path) -> None:
    store_running(store)
    ingest.accept_snapshot("run-1", snapshot_file(50, ranks=(1, 4)))
    export_tree(store, "python_docs", tmp_path)
    (content,) = read_tree(tmp_path).values()
    assert tuple(content) == HEADER
    assert all(tuple(one) == EXAMPLE for one in content["examples"])
    assert tuple(content["summary"]) == SUMMARY
    assert content["examples"][1] == {
        "example_id": "ex_0001", "step": 50, "input": "query 1", "expected_output": "text 1",
        "model_output": "not it", "loss": 4.0, "exact_match": False, "output_length": 6, "similarity": 0.0,
    }  # fmt: skip
    (outcome,) = import_tree(store, tmp_path, dataset="a copy")
    assert outcome.result is Result.IMPORTED, outcome.problems


def test_one_run_of_several_may_be_named(store: Store, ingest: Ingest, tree: Path, tmp_path: Path) -> None:
    (outcome,) = import_tree(store, tree, dataset=None)
    store_running(store, dataset="toy")
    ingest.accept_snapshot("run-1", snapshot_file(7, dataset="toy"))
    export_tree(store, "toy", tmp_path / "newest")
    assert list(read_tree(tmp_path / "newest")) == ["toy/step_000007.json"]
    export_tree(store, "toy", tmp_path / "imported", run=outcome.run_id)
    assert len(read_tree(tmp_path / "imported")) == 3
    with pytest.raises(NotFound):
        export_tree(store, "toy", tmp_path / "none", run="nobody")
    assert not (tmp_path / "none").exists()


def test_nothing_is_written_over_unasked(store: Store, tree: Path, tmp_path: Path) -> None:
    import_tree(store, tree)
    out = tmp_path / "out"
    export_tree(store, "toy", out)
    again = export_tree(store, "toy", out)
    assert (again.num_written, again.num_unchanged) == (0, 3)
    (out / "toy" / "step_000010.json").write_text("mine")
    (out / "toy" / "step_000000.json").unlink()
    with pytest.raises(Conflict, match=r"step_000010\.json"):
        export_tree(store, "toy", out)
    assert not (out / "toy" / "step_000000.json").exists()
    done = export_tree(store, "toy", out, replace=True)
    assert (done.num_written, done.num_unchanged) == (2, 1)
    assert fields_of(read_tree(out)) == fields_of(read_tree(tree))


def test_two_runs_are_not_mixed_in_one_folder(store: Store, tree: Path, tmp_path: Path) -> None:
    import_tree(store, tree)
    write_file(tmp_path / "out", 777, {})
    with pytest.raises(Conflict, match=r"step_000777\.json"):
        export_tree(store, "toy", tmp_path / "out", replace=True)


def test_a_folder_that_cannot_be_made_is_told_in_words(store: Store, tree: Path, tmp_path: Path) -> None:
    import_tree(store, tree)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidRequest, match="Not a directory"):
        export_tree(store, "toy", tmp_path / "file")


@pytest.mark.parametrize(
    ("dataset", "folder"),
    [
        ("plain", "plain"),
        ("a b", "a b"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        ("../../etc", "%2E%2E%2F%2E%2E%2Fetc"),
    ],
)
def test_no_name_leads_out_of_the_folder(dataset: str, folder: str) -> None:
    assert folder_name(dataset) == folder
