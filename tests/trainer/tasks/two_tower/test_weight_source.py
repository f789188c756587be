"""Runs that begin with the weights of another one: which they may, and that they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.engine.runs import events
from tests.trainer.tasks import small_runs
from tests.trainer.tasks.small_runs import finished, losses
from tests.trainer.tasks.two_tower.small_material import text_pairs, vector_pairs
from tests.trainer.warm import launch_engine
from trainer.datasets.records import DatasetError
from trainer.engine.manifests import Manifest, write_manifest
from trainer.protocol.run_folder import RunPaths
from trainer.tasks.two_tower.weight_source import (
    kind_of,
    may_know_held_out,
    misfit,
    source_of,
)

SMALL: dict[str, Any] = {
    "batch_size": 16, "dim": 16, "hidden_dim": 16, "num_buckets": 1024, "num_probes": 5, "device": "cpu",
    "held_out_fraction": 0.2, "warmup_steps": 5,
}  # fmt: skip


def prepared(folder: Path, dataset: Path, **params: Any) -> RunPaths:
    return small_runs.prepared("two_tower", folder, dataset, **{**SMALL, **params})


@pytest.fixture
def other(tmp_path: Path) -> RunPaths:
    """A run that has two checkpoints, of which the first is the best; as far as their manifests tell."""
    paths = prepared(tmp_path / "other", tmp_path / "p.jsonl")
    paths.checkpoints.mkdir()
    for step, is_best in ((10, True), (20, False)):
        name = f"step_{step:06d}.pt"
        write_manifest(paths, Manifest(name, 1, "0" * 64, step, 0, {}, "schedule", 1.0, is_best))
    return paths


@pytest.mark.parametrize(("wish", "step"), [("", 10), ("@best", 10), ("@last", 20), ("@20", 20)])
def test_a_run_stands_for_its_best_checkpoint_unless_another_is_named(
    tmp_path: Path, other: RunPaths, wish: str, step: int
) -> None:
    assert source_of("other" + wish, runs_dir=tmp_path).chosen.step == step


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ("another", "names run another, and .* has none of that name"),
        ("other@15", "no checkpoint of step 15.* 10, 20"),
        ("empty", "has no checkpoint yet"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, other: RunPaths, wish: str, words: str) -> None:
    prepared(tmp_path / "empty", tmp_path / "p.jsonl")
    with pytest.raises(DatasetError, match=words):
        source_of(wish, runs_dir=tmp_path)


@pytest.mark.parametrize(
    ("is_vectors", "changed", "words"),
    [
        (False, {}, None),
        (False, {"learning_rate": 0.5, "temperature": 0.1, "query_tower": "mlp", "num_layers": 3}, None),
        (False, {"dim": 32}, "dim was 16 and is 32"),
        (False, {"share_towers": True, "num_buckets": 2048}, "2048, share_towers was False and is True"),
        (False, {"model": "scratch"}, "learns its tokenizer from its own texts"),
        (True, {"num_buckets": 2048}, None),
        (True, {"query_tower": "mlp"}, "query_tower was gru and is mlp"),
    ],
)
def test_weights_fit_towers_of_the_same_make_only(
    tmp_path: Path, other: RunPaths, is_vectors: bool, changed: dict[str, Any], words: str | None
) -> None:
    params = {**source_of("other", runs_dir=tmp_path).spec.params, **changed}
    found = misfit(
        source_of("other", runs_dir=tmp_path), params, kind_of(is_vectors=is_vectors, model=params["model"])
    )
    assert found is None if words is None else words in (found or "")


def test_another_recipe_has_no_towers(tmp_path: Path) -> None:
    paths = small_runs.prepared("causal_lm", tmp_path / "language", tmp_path / "p.jsonl")
    paths.checkpoints.mkdir()
    write_manifest(paths, Manifest("step_000001.pt", 1, "0" * 64, 1, 0, {}, "end", 1.0, True))
    found = misfit(source_of("language", runs_dir=tmp_path), {}, "words")
    assert found == "run language trained causal_lm, not two towers: name another one"


@pytest.mark.parametrize(
    ("content_hash", "changed", "may_know"),
    [("a", {}, False), ("b", {}, True), ("a", {"seed": 7}, True), ("a", {"held_out_fraction": 0.3}, True)],
)
def test_what_was_held_out_there_is_held_out_here_only_in_the_same_split(
    tmp_path: Path, other: RunPaths, content_hash: str, changed: dict[str, Any], may_know: bool
) -> None:
    source = source_of("other", runs_dir=tmp_path)
    params = {**source.spec.params, **changed}
    assert may_know_held_out(source, {"content_hash": "a"}, params, content_hash=content_hash) is may_know


@pytest.mark.process
def test_a_run_begins_where_another_one_ended_and_then_goes_its_own_way(tmp_path: Path) -> None:
    dataset, pairs = tmp_path / "functions.jsonl", text_pairs()
    rows = zip(pairs.ids, pairs.queries, pairs.documents, pairs.groups, strict=True)
    lines = [json.dumps({"id": i, "query": q, "document": d, "group": g}) for i, q, d, g in rows]
    dataset.write_text("\n".join(lines))
    first = finished(prepared(tmp_path / "first", dataset, num_epochs=6))
    paths = prepared(tmp_path / "second", dataset, num_epochs=2, init_from="first@last", checkpoint_every=4)
    second = finished(paths)
    assert losses(second)[1] < 0.7 * losses(first)[1]
    at_start = next(e["summary"] for e in second if e["type"] == "snapshot")
    at_end = [e["summary"] for e in first if e["type"] == "snapshot"][-1]
    assert at_start["avg_loss"] == pytest.approx(at_end["avg_loss"], rel=1e-5)
    alerts = [e["title"] for e in second if e["type"] == "alert"]
    assert "Begins with the weights of another run" in alerts
    assert "Some held-out pairs may be known" not in alerts

    for path in (tmp_path / "second" / "checkpoints").glob("step_*.pt"):
        path.write_bytes(b"")
    again = [one for one in finished(paths, attempt=3) if one["attempt"] == 3]
    assert losses(again)[1] == losses(second)[1]  # without a whole one of its own it begins as it began

    third = prepared(tmp_path / "third", dataset, num_epochs=1, init_from="first", seed=3)
    assert "Some held-out pairs may be known" in [e["title"] for e in finished(third) if e["type"] == "alert"]

    for path in (tmp_path / "first" / "checkpoints").glob("step_*.pt"):
        path.write_bytes(path.read_bytes()[:-1])
    found = finished(paths, attempt=2)  # its own checkpoint is what it goes on from, not the other run's
    assert found[-1]["reason"] == "completed"
    process = launch_engine(prepared(tmp_path / "fourth", dataset, init_from="first").root)
    assert "bytes instead of" in process.output()
    assert process.returncode == 1


@pytest.mark.process
def test_weights_that_read_vectors_are_refused_by_towers_that_read_texts(tmp_path: Path) -> None:
    file, vectors, texts = tmp_path / "v.npz", vector_pairs(), text_pairs()
    np.savez(file, query_vectors=vectors.query_vectors, document_vectors=vectors.document_vectors)
    finished(prepared(tmp_path / "vectors", file, max_steps=2))
    dataset = tmp_path / "t.jsonl"
    rows = zip(texts.queries, texts.documents, texts.groups, strict=True)
    dataset.write_text("\n".join(json.dumps({"query": q, "document": d, "group": g}) for q, d, g in rows))
    paths = prepared(tmp_path / "texts", dataset, max_steps=2, init_from="vectors")
    process = launch_engine(paths.root)
    assert "belong to towers that read something else (words here)" in process.output()
    assert process.returncode == 1
    assert not losses(events(paths))
