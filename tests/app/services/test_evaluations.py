"""Details of evaluations, from what the trainer wrote to what pages read."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import NotFound
from app.services.evaluations import evaluated_steps, evaluation
from trainer.protocol import evaluation_files
from trainer.protocol.run_folder import RunPaths


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    """A run with details at three steps."""
    found = RunPaths(tmp_path / "run-1")
    for step in (100, 50, 1_500_000):
        evaluation_files.write(found, step, {"task": "classification", "labels": [], "accuracy": step / 2e6})
    return found


def test_steps_come_in_order_and_each_knows_its_neighbours(paths: RunPaths) -> None:
    assert evaluated_steps(paths) == [50, 100, 1_500_000]
    found = evaluation(paths, "100")
    assert (found["step"], found["previous_step"], found["next_step"]) == (100, 50, 1_500_000)
    assert evaluation(paths, "first")["previous_step"] is None
    assert evaluation(paths, "latest")["next_step"] is None


@pytest.mark.parametrize(
    ("step", "hint"), [("60", "50, 100"), ("lates", "Did you mean latest"), ("9" * 30, "50")]
)
def test_an_unknown_step_is_answered_with_the_nearest(paths: RunPaths, step: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        evaluation(paths, step)
    assert hint in str(caught.value.hint) or step == "9" * 30


def test_a_run_without_details_says_who_has_them(tmp_path: Path) -> None:
    assert evaluated_steps(RunPaths(tmp_path)) == []
    with pytest.raises(NotFound, match="no evaluation with details"):
        evaluation(RunPaths(tmp_path), "latest")


def test_damaged_and_foreign_files_are_no_evaluations(paths: RunPaths) -> None:
    evaluation_files.path_of(paths, 100).write_text('{"cut')
    (paths.root / evaluation_files.FOLDER / "step_secret.json").write_text("{}")
    assert evaluated_steps(paths) == [50, 100, 1_500_000]
    with pytest.raises(NotFound, match="step 100 cannot be read"):
        evaluation(paths, "100")


def test_what_lies_beyond_the_step_a_run_goes_on_from_is_forgotten(paths: RunPaths) -> None:
    evaluation_files.forget_after(paths, 100)
    assert evaluated_steps(paths) == [50, 100]
