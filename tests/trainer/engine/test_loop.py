"""The loop, on a real tiny task in this process."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.children import tiny_task
from tests.trainer.engine.runs import events, series, snapshot, train_here
from trainer.engine import checkpoints
from trainer.engine.loop import NonFiniteLoss, train
from trainer.engine.process import train_run
from trainer.engine.task import LoopConfig, LossOutput
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter


@pytest.fixture(autouse=True)
def _keep_signal_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_every_step_is_reported_from_the_first_to_the_last(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=2)
    losses = series(paths, "train/loss")
    assert list(losses) == list(range(1, 27))  # 13 batches of at most 16 of 203 rows, twice
    for name in ("train/chance_loss", "train/learning_rate", "train/grad_norm", "train/num_rows"):
        assert list(series(paths, name)) == list(losses)
    assert series(paths, "train/chance_loss")[1] == pytest.approx(math.log(4))
    progress = events(paths, "progress")
    assert progress[0]["step"] == 1
    assert progress[-1] | {"t": 0, "seq": 0} == {
        "seq": 0, "t": 0, "type": "progress", "attempt": 1, "step": 26, "total_steps": 26, "epoch": 2.0 - 0.0,
        "num_epochs": 2,
    }  # fmt: skip


def test_the_end_is_told_with_the_last_and_the_best_metrics(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=2, eval_every=5)
    (finished,) = events(paths, "finished")
    assert (finished["step"], finished["reason"]) == (26, "completed")
    assert finished["metrics"]["last"]["train/loss"] == series(paths, "train/loss")[26]
    accuracies = series(paths, "eval/accuracy")
    assert list(accuracies) == [5, 10, 15, 20, 25, 26]
    assert finished["metrics"]["best"]["eval/accuracy"] == max(accuracies.values())


def test_a_task_that_can_be_learned_is_learned(tmp_path: Path) -> None:
    losses = series(train_here(tmp_path / "run", num_epochs=30), "train/loss")
    assert losses[1] > 1.0
    assert sum(list(losses.values())[-10:]) / 10 < 0.8


def test_the_same_seed_gives_the_same_losses_and_another_one_does_not(tmp_path: Path) -> None:
    first, second, third = (
        series(train_here(tmp_path / name, num_epochs=2, seed=seed), "train/loss")
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == second
    assert first != third


def test_looking_at_the_model_does_not_change_its_training(tmp_path: Path) -> None:
    alone = train_here(tmp_path / "alone", num_epochs=2, snapshot_budget=0.0)
    watched = train_here(
        tmp_path / "watched", num_epochs=2, snapshot_budget=1e9, eval_every=3, checkpoint_every=4
    )
    assert series(alone, "train/loss") == series(watched, "train/loss")
    assert len(events(watched, "snapshot")) > len(events(alone, "snapshot")) == 2


def test_accumulated_micro_batches_train_like_one_batch_of_all_their_rows(tmp_path: Path) -> None:
    """203 rows: 13 micro-batches of 16 make 4 updates, the last one of a single short batch of 11."""

    class Straight(tiny_task.TinyTask):
        """Without dropout and shuffling, so that only the arithmetic differs."""

        def begin_epoch(self, epoch: int, tell: Any) -> None:
            self.head[0] = torch.nn.Dropout(0.0)

    def losses(name: str, *, batch_size: int, accumulate: int) -> dict[int, float]:
        paths = tiny_task.create_run(tmp_path / name, batch_size=batch_size, accumulate=accumulate)

        def entry(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
            _, config = tiny_task.build(spec)
            torch.manual_seed(3)
            task = Straight(seed=3, batch_size=batch_size)
            train(task, config, spec=spec, paths=paths, reporter=reporter, controls=controls)

        train_run(paths, attempt=1, entry=entry)
        return series(paths, "train/loss") | {
            -step: norm for step, norm in series(paths, "train/grad_norm").items()
        }

    whole = losses("whole", batch_size=64, accumulate=1)
    parts = losses("parts", batch_size=16, accumulate=4)
    assert len(whole) == 8
    assert parts == pytest.approx(whole, rel=1e-4)


def test_the_first_snapshot_shows_the_untrained_model_and_the_last_one_the_result(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=2, snapshot_budget=1e9)
    assert [event["step"] for event in events(paths, "snapshot")] == [0, 10, 25, 26]
    first, last = snapshot(paths, 0), snapshot(paths, 26)
    assert first["epoch"] == 0
    assert last["epoch"] == 2
    assert last["columns"]["loss"] != first["columns"]["loss"]
    assert last["summary"]["total_examples"] == tiny_task.NUM_PROBES


def test_a_document_is_sent_once_per_run(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=8, snapshot_budget=1e9)
    steps = [event["step"] for event in events(paths, "snapshot")]
    sent = [document for step in steps for document in snapshot(paths, step)["documents"]]
    named = {answer["top"][0][0] for step in steps for answer in snapshot(paths, step)["outputs"]}
    assert sorted(sent) == sorted(named)


def test_snapshots_beyond_the_budget_are_skipped_with_a_reason(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=2, snapshot_budget=0.0)
    assert [event["step"] for event in events(paths, "snapshot")] == [0, 26]
    skipped = events(paths, "snapshot_skipped")
    assert [event["step"] for event in skipped] == [10, 25]
    assert "the budget is 0% of the run's time" in skipped[0]["reason"]


def test_the_best_checkpoint_and_the_newest_ones_are_kept(tmp_path: Path) -> None:
    paths = train_here(
        tmp_path / "run",
        num_epochs=4,
        eval_every=5,
        checkpoint_every=2,
        keep_checkpoints=2,
        learning_rate=1.0,
    )
    accuracies = series(paths, "eval/accuracy")
    best_step = max(accuracies, key=lambda step: (accuracies[step], -step))
    kept = checkpoints.manifests(paths)
    assert [manifest.step for manifest in kept if manifest.best] == [best_step]
    assert sorted({50, 52, best_step}) == [manifest.step for manifest in kept]
    assert sorted(path.name for path in paths.checkpoints.iterdir()) == sorted(
        name for manifest in kept for name in (manifest.file, manifest.file.replace(".pt", ".json"))
    )
    announced = events(paths, "checkpoint")
    assert {event["step"]: event["sha256"] for event in announced}[52] == kept[-1].sha256


def test_patience_ends_a_run_that_gets_no_better(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=50, eval_every=2, patience=3, learning_rate=1e-12)
    (finished,) = events(paths, "finished")
    assert (finished["step"], finished["reason"]) == (
        8,
        "early_stop",
    )  # best at 2, then 3 without a better one


def test_a_number_of_steps_overrules_the_epochs(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", num_epochs=1, max_steps=30)
    assert list(series(paths, "train/loss"))[-1] == 30
    assert events(paths, "progress")[-1]["total_steps"] == 30


def test_a_best_metric_nobody_measures_is_named(tmp_path: Path) -> None:
    paths = train_here(tmp_path / "run", best_metric="mrr@10")
    (alert,) = events(paths, "alert")
    assert alert["level"] == "warning"
    assert "'mrr@10' is not among what the evaluation measures: accuracy, loss" in alert["text"]


class Diverging(tiny_task.TinyTask):
    """Its loss becomes NaN at the tenth micro-batch."""

    def __init__(self, *, seed: int) -> None:
        super().__init__(seed=seed)
        self.num_losses = 0

    def loss(self, micro_batch: Any) -> LossOutput:
        self.num_losses += 1
        output = super().loss(micro_batch)
        factor = math.nan if self.num_losses == 10 else 1.0
        return LossOutput(output.loss * factor, output.chance_loss, output.num_examples, output.extra)


def test_a_loss_that_is_not_a_number_fails_with_the_weights_of_the_last_good_step(tmp_path: Path) -> None:
    paths = tiny_task.create_run(tmp_path / "run", checkpoint_every=3)
    tasks: list[Diverging] = []

    def entry(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
        tasks.append(Diverging(seed=7))
        config = LoopConfig(seed=7, checkpoint_every=9, num_epochs=2)
        train(tasks[0], config, spec=spec, paths=paths, reporter=reporter, controls=controls)

    with pytest.raises(NonFiniteLoss, match=r"loss is nan at step 10 .*after step 9; .*step_000009\.pt"):
        train_run(paths, attempt=1, entry=entry)
    saved = checkpoints.load(paths.checkpoints / "step_000009.pt")["modules"]
    for name, module in tasks[0].modules().items():
        for key, tensor in module.state_dict().items():
            assert torch.equal(tensor, saved[name][key])
    assert math.isnan(series(paths, "train/loss")[10])
    assert events(paths, "finished") == []
    assert "Training has diverged" in [event["title"] for event in events(paths, "alert")]


def test_a_dataset_smaller_than_a_batch_is_refused_in_words(tmp_path: Path) -> None:
    class Empty(tiny_task.TinyTask):
        def num_micro_batches(self, epoch: int) -> int:
            return 0

    def entry(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
        config = LoopConfig(max_steps=5)
        train(Empty(seed=1), config, spec=spec, paths=paths, reporter=reporter, controls=controls)

    with pytest.raises(ValueError, match="has no batches: the dataset has fewer examples"):
        train_run(tiny_task.create_run(tmp_path / "run"), attempt=1, entry=entry)


def test_a_clipped_gradient_is_reported_with_its_true_norm_and_applied_with_the_allowed_one(
    tmp_path: Path,
) -> None:
    free = series(train_here(tmp_path / "free", max_grad_norm=0.0), "train/grad_norm")
    clipped = series(train_here(tmp_path / "clipped", max_grad_norm=0.01), "train/grad_norm")
    assert free[1] == clipped[1] > 0.01
    assert free[5] != clipped[5]
