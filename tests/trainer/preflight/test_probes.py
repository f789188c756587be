"""Pinned probes and files of probes are looked at before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.preflight.questions import one, pairs, question, write
from tests.trainer.tasks.text_classification.small_texts import SMALL, write_texts
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight import probes
from trainer.preflight.declaration import preflight_of
from trainer.preflight.question import Question
from trainer.recipes.registry import recipes, validate


def looked_at(asked: Question) -> list[Check]:
    return probes.look(asked, preflight_of(asked.declaration).survey(asked))


def of_texts(folder: Path, **params: Any) -> list[Check]:
    recipe = recipes()["text_classification"]
    asked = Question(
        recipe=recipe.name,
        declaration=recipe.preflight,
        dataset=str(write_texts(folder / "things.csv")),
        params=validate(recipe, {**SMALL, **params}),
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
    )
    return looked_at(asked)


def test_a_run_without_pins_and_files_has_nothing_to_look_at(tmp_path: Path) -> None:
    assert looked_at(question(tmp_path, pairs(tmp_path / "p.jsonl"))) == []


def test_a_pin_must_be_held_out(tmp_path: Path) -> None:
    path = pairs(tmp_path / "p.jsonl")
    known = preflight_of(recipes()["two_tower"].preflight).survey(question(tmp_path, path)).examples
    assert known is not None
    held_out, trained = known.ids[int(known.held_out[0])], known.ids[int(known.train[0])]
    check = one(looked_at(question(tmp_path, path, pinned_probes=held_out)), "probes")
    assert (check.verdict, check.found) == (Verdict.OK, "1 pinned.")
    check = one(looked_at(question(tmp_path, path, pinned_probes=f"{held_out}, {trained}")), "probes")
    assert check.verdict is Verdict.PROBLEM
    assert f"{trained!r} is trained on" in check.found
    assert "'nobody'" in one(looked_at(question(tmp_path, path, pinned_probes="nobody")), "probes").found


def test_rows_of_a_file_are_refused_by_what_the_dataset_knows(tmp_path: Path) -> None:
    path = pairs(tmp_path / "p.jsonl")
    fine = {"input": "q", "expected_output": "about word1 and more"}
    write(tmp_path / "new.jsonl", [fine, {"input": "q", "expected_output": "nothing"}])
    check = one(looked_at(question(tmp_path, path, probe_file="new.jsonl")), "probes")
    assert check.verdict is Verdict.PROBLEM
    assert "new.jsonl: row 2: expected_output 'nothing' is no document of the dataset" in check.found
    write(tmp_path / "new.jsonl", [fine])
    check = one(looked_at(question(tmp_path, path, probe_file="new.jsonl")), "probes")
    assert (check.verdict, check.found) == (Verdict.OK, "1 from new.jsonl.")


def test_a_label_that_there_is_not_is_named(tmp_path: Path) -> None:
    rows = [{"input": "q", "expected_output": label} for label in ("kitchen", "cellar")]
    write(tmp_path / "new.jsonl", rows)
    check = one(of_texts(tmp_path, probe_file="new.jsonl"), "probes")
    assert "row 2: expected_output 'cellar' is no label of the dataset" in check.found


def test_vectors_take_no_added_probes(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    generator = np.random.default_rng(0)
    query, document = (generator.normal(size=(80, 8)).astype(np.float32) for _ in range(2))
    np.savez(path, query_vectors=query, document_vectors=document)
    write(tmp_path / "new.jsonl", [{"input": "q", "expected_output": "1"}])
    check = one(looked_at(question(tmp_path, path, probe_file="new.jsonl")), "probes")
    assert "holds vectors, and a probe is a text" in check.found


@pytest.mark.parametrize("content", ["", "nonsense\n"])
def test_a_file_that_cannot_be_read_is_red(tmp_path: Path, content: str) -> None:
    (tmp_path / "new.jsonl").write_text(content)
    check = one(looked_at(question(tmp_path, pairs(tmp_path / "p.jsonl"), probe_file="new.jsonl")), "probes")
    assert check.verdict is Verdict.PROBLEM
    assert "new.jsonl" in check.found
