"""The training loop: read :meth:`TrainingLoop._train` from top to bottom.

Everything that happens between two updates (evaluation, snapshot, commands,
checkpoint) happens in that order, leaves the random generators untouched, and
is caught up with after a resume, so an interrupted run repeats the losses of
an uninterrupted one bit for bit on CPU.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, Literal

import torch

from trainer.engine import evaluation_details, gradients, resume
from trainer.engine.divergence import NonFiniteLoss, end_for_divergence
from trainer.engine.lr_schedule import LearningRate
from trainer.engine.progress import Best, Clock, Position, Throughput, total_steps_of
from trainer.engine.ranks import Alone, Ranks, Share, ranks_of
from trainer.engine.run_snapshots import RunSnapshots
from trainer.engine.schedule import SnapshotBudget, SnapshotSchedule
from trainer.engine.seeding import preserved_rng, rng_state, seed_everything, set_rng_state
from trainer.engine.task import LeavesAnExport, LoopConfig, Task, Tell
from trainer.protocol.events import Command, Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.telemetry.controls import Controls, StopRequested
from trainer.telemetry.reporter import Reporter

log = logging.getLogger(__name__)
__all__ = ["LoopConfig", "NonFiniteLoss", "TrainingLoop", "train"]

_PAUSE_POLL_S: Final = 0.1
_LAST_SNAPSHOT_SHARE_OF_GRACE: Final = 0.25
_Reason = Literal["completed", "stopped", "early_stop"]


def train(
    task: Task,
    config: LoopConfig,
    *,
    spec: RunSpec,
    paths: RunPaths,
    reporter: Reporter,
    controls: Controls,
) -> None:
    """Train ``task`` to its end or until somebody stops it; resumes when this is not the first attempt.

    Returns after a final checkpoint, also when the run was stopped.

    Raises:
        NonFiniteLoss: the training has diverged.
        CheckpointError: a checkpoint cannot be written, or does not fit the task.
        PeerLost: another of the processes that train together is gone.
    """
    ranks = ranks_of(paths, seed=config.seed, reporter=reporter, controls=controls)
    loop = TrainingLoop(
        task, config, spec=spec, paths=paths, reporter=reporter, controls=controls, ranks=ranks
    )
    if reporter.attempt > 1 or spec.policy.get("resume"):
        resume.from_newest_checkpoint(loop)
    loop.run()


class TrainingLoop:
    """One attempt at training one task."""

    def __init__(
        self,
        task: Task,
        config: LoopConfig,
        *,
        spec: RunSpec,
        paths: RunPaths,
        reporter: Reporter,
        controls: Controls,
        ranks: Ranks | None = None,
    ) -> None:
        seed_everything(config.seed)
        self.ranks = ranks or Alone()
        self.task, self.config = task, config
        self.spec, self.paths, self.reporter, self.controls = spec, paths, reporter, controls
        self.modules = task.modules()
        self.optimizers = task.optimizers()
        self._parameters = gradients.parameters_of(self.modules)
        self.total_steps = total_steps_of(task, config, num_ranks=self.ranks.count)
        self.learning_rate = LearningRate(self.optimizers, config=config, total_steps=self.total_steps)
        self.position = Position()
        self.best = Best()
        self.clock = Clock()
        self.schedule = SnapshotSchedule()
        self.budget = SnapshotBudget(config.snapshot_budget)
        self.snapshots = RunSnapshots(task, spec=spec, paths=paths, reporter=reporter)
        self.latest: dict[str, float] = {}  # newest value of each metric worth keeping with a checkpoint
        self.evaluated_step = 0
        self.saved_step: int | None = None
        self._throughput = Throughput()
        self._num_micro_batches = 0  # of the current epoch

    def run(self) -> None:
        """Train to the end, or to a checkpoint when somebody asks to stop."""
        self.ranks.meet(self.task, self._parameters, self.position)
        reason: _Reason
        try:
            reason = self._train()
        except StopRequested:
            reason = "stopped"
        self.ranks.led(partial(self._end, reason))
        self.ranks.part()

    def _end(self, reason: _Reason) -> None:
        if reason == "stopped":
            self._save("stop")
        if self._affords_last_snapshot(reason):
            self._snapshot()
        self._save("final")
        if reason != "stopped" and isinstance(self.task, LeavesAnExport):
            self._export(self.task)
        best = {f"eval/{name}": value for name, value in self.best.metrics.items()}
        self.reporter.finished(self.position.step, reason=reason, metrics={"last": self.latest, "best": best})

    def _export(self, task: LeavesAnExport) -> None:
        """Leave the best model in the run's folder; a run whose export fails has still been trained."""
        step, metrics = self.position.step, self.latest
        with self._phase(Phase.SAVING, announce=True) as tell:
            try:
                best = resume.load_best(self)
                if best is not None:
                    step, metrics = best.step, best.metrics
                task.export(self.paths.export, run=self.spec, step=step, metrics=metrics, tell=tell)
            except OSError as exc:
                self.reporter.alert("error", "The model could not be exported", str(exc), step=step)
            except StopRequested:  # the training itself is complete, and its last checkpoint is there
                words = "The run was asked to stop while its model was being written; nothing of it is left."
                self.reporter.alert("warning", "The model was not exported", words, step=step)

    def _train(self) -> Literal["completed", "early_stop"]:
        self.reporter.phase(Phase.TRAINING, step=self.position.step)
        self._set_training(True)
        self.ranks.led(self._look_before)
        while not self.ranks.led(self._is_complete):
            self._begin_epoch()
            for share in self._shares():
                self._update(share)
                if self.ranks.led(self._is_complete_after_looking):
                    break
            else:
                self.position.epoch += 1
                self.position.micro_batch = 0
        self.ranks.led(self._look_at_last)
        return "early_stop" if self._is_out_of_patience() else "completed"

    def _look_before(self) -> None:
        if self.config.evaluates_first and self.position.step == 0:
            self._evaluate()
        self._evaluate_if_due()
        self._snapshot_if_due()

    def _is_complete_after_looking(self) -> bool:
        self._evaluate_if_due()
        self._snapshot_if_due()
        self._obey()
        self._checkpoint_if_due()
        return self._is_complete()

    def _look_at_last(self) -> None:
        if self.config.evaluates and self.evaluated_step != self.position.step:
            self._evaluate()

    def _is_complete(self) -> bool:
        if self._is_out_of_patience():
            return True
        if self.config.max_steps:
            return self.position.step >= self.config.max_steps
        return self.position.epoch >= self.config.num_epochs

    def _is_out_of_patience(self) -> bool:
        return 0 < self.config.patience <= self.best.num_since

    def _begin_epoch(self) -> None:
        position = self.position
        if position.micro_batch == 0:
            self.ranks.prepare(self.task, position.epoch, self._prepare_epoch)
        self._num_micro_batches = self.task.num_micro_batches(position.epoch)
        if self._num_micro_batches < 1:
            raise ValueError(
                f"epoch {position.epoch + 1} has no batches: the dataset has fewer examples than one batch"
                " needs; lower batch_size or add examples"
            )
        self._throughput.restart()

    def _prepare_epoch(self) -> None:
        before = rng_state()
        try:
            with self._phase(Phase.MINING) as tell:
                self.task.begin_epoch(self.position.epoch, tell)
        except StopRequested:
            set_rng_state(before)  # the epoch has not begun: the next attempt begins it again
            raise

    def _shares(self) -> Iterator[Share]:
        return self.ranks.shares(
            self.task,
            self.position,
            accumulate=max(1, self.config.accumulate),
            num=self._num_micro_batches,
        )

    def _update(self, share: Share) -> None:
        """One optimizer step: forward, backward, one wait for the device, guard, clip, update, report."""
        step = self.position.step + 1
        rate = self.learning_rate.apply(step)
        outcome = self.ranks.backward(self.task, share)
        found = gradients.gradients_of(self._parameters)
        norm_sum = gradients.total_norm(found, like=outcome.loss)
        loss, norm = torch.stack((outcome.loss, norm_sum)).tolist()
        norm *= outcome.gradient_scale
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.ranks.led(partial(self._fail_non_finite, step, loss, norm))
        clip = gradients.clip_factor(norm, max_norm=self.config.max_grad_norm)
        gradients.scale_(found, outcome.gradient_scale * clip)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.position.step = step
        self.position.micro_batch += share.num_consumed
        self._report(outcome, loss=loss, norm=norm, rate=rate)

    def _report(self, outcome: gradients.UpdateLoss, *, loss: float, norm: float, rate: float) -> None:
        values = {"train/loss": loss, "train/learning_rate": rate, "train/grad_norm": norm}
        if not math.isnan(outcome.chance_loss):
            values["train/chance_loss"] = outcome.chance_loss
        rates = self._throughput.add(outcome.num_examples, outcome.num_tokens)
        for name, value in (*outcome.extra.items(), *rates.items()):
            values[f"train/{name}"] = value
        self.latest["train/loss"] = loss
        self.reporter.metrics(self.position.step, values)
        self.reporter.progress(
            self.position.step,
            total_steps=self.total_steps,
            epoch=self._epoch(),
            num_epochs=None if self.config.max_steps else self.config.num_epochs,
        )

    def _epoch(self) -> float:
        """Epochs done, with the fraction of the current one."""
        num_micro_batches = self._num_micro_batches or self.task.num_micro_batches(self.position.epoch)
        return self.position.epoch + self.position.micro_batch / max(1, num_micro_batches)

    def _fail_non_finite(self, step: int, loss: float, norm: float) -> None:
        end_for_divergence(step, loss, norm, position=self.position, paths=self.paths, reporter=self.reporter)

    def _evaluate_if_due(self) -> None:
        step, every = self.position.step, self.config.eval_every
        if self.config.evaluates and every and step and step % every == 0 and self.evaluated_step != step:
            self._evaluate()

    def _evaluate(self) -> None:
        step = self.position.step
        with self._phase(Phase.EVALUATING, announce=True) as tell, self._asking():
            results = self.task.evaluate(tell)
        self.evaluated_step = step
        named = {f"eval/{name}": float(value) for name, value in results.items()}
        self.latest.update(named)
        self.reporter.metrics(step, named)
        evaluation_details.keep(self.task, paths=self.paths, reporter=self.reporter, step=step)
        words = ", ".join(f"{name} {value:.4g}" for name, value in self.latest.items())
        log.info("step %d of %d, epoch %.1f: %s", step, self.total_steps, self._epoch(), words)
        if self.config.best_metric not in results:
            self._warn_about_best_metric(results)
        elif step and self.best.consider(
            results, metric=self.config.best_metric, mode=self.config.best_mode, step=step
        ):
            self._save("best")

    def _warn_about_best_metric(self, results: dict[str, float]) -> None:
        self.reporter.alert(
            "warning",
            "No best checkpoint",
            f"best_metric {self.config.best_metric!r} is not among what the evaluation measures:"
            f" {', '.join(sorted(results)) or 'nothing'}.",
            step=self.position.step,
        )

    def _snapshot_if_due(self) -> None:
        step = self.position.step
        if not self.schedule.is_due(step):
            return
        self.schedule.passed(step)
        remaining_s = self.clock.remaining_s(step=step, total_steps=self.total_steps)
        refusal = self.budget.refusal(elapsed_s=self.clock.elapsed_s, remaining_s=remaining_s)
        if step > 0 and refusal is not None:
            self.reporter.snapshot_skipped(step, refusal)
        else:
            self._snapshot()

    def _snapshot(self) -> None:
        if self.snapshots.are_taken(self.position.step):
            return
        try:
            with self._phase(Phase.SNAPSHOTTING, announce=True), self._asking():
                cost_s = self.snapshots.take(step=self.position.step, epoch=self._epoch())
        except OSError as exc:  # a picture lost is no reason to end the training
            self.reporter.snapshot_skipped(self.position.step, f"It could not be written: {exc}")
            return
        self.budget.spend(cost_s)

    def _affords_last_snapshot(self, reason: str) -> bool:
        """After a stop the time until the kill is short; a run that ended by itself has all it needs."""
        allowed_s = self.spec.stop_grace_s * _LAST_SNAPSHOT_SHARE_OF_GRACE
        return reason != "stopped" or self.budget.expected_s <= allowed_s

    def _checkpoint_if_due(self) -> None:
        every = self.config.checkpoint_every
        if every and self.position.step % every == 0:
            self._save("schedule")

    def _save(self, reason: str) -> None:
        """Write a checkpoint of this step unless there is one; a run's newest and best are kept."""
        if self.saved_step == self.position.step:
            return
        with self._phase(Phase.SAVING, announce=True):
            manifest = resume.save(self, reason)
        self.saved_step = self.position.step
        self.reporter.checkpoint(
            manifest.step,
            file=manifest.file,
            num_bytes=manifest.bytes,
            sha256=manifest.sha256,
            metrics=manifest.metrics,
            best=manifest.best,
            reason=manifest.reason,
        )

    def _obey(self) -> None:
        """Do what people have asked for since the last step.

        Raises:
            StopRequested: they have asked to stop.
        """
        commands = self.controls.poll()
        if commands:
            self._obey_now(commands)
            if Command.PAUSE in commands and Command.RESUME not in commands:
                self._pause()

    def _obey_now(self, commands: set[Command]) -> None:
        if Command.STOP in commands:
            raise StopRequested("the run was asked to stop")
        if Command.SNAPSHOT in commands:
            self._snapshot()
        if Command.CHECKPOINT in commands:
            self._save("asked")

    def _pause(self) -> None:
        elapsed_s = self.clock.elapsed_s
        with self._phase(Phase.PAUSED, announce=True):
            while Command.RESUME not in (commands := self.controls.poll()):
                if commands:
                    self._obey_now(commands)
                    self.reporter.phase(Phase.PAUSED, step=self.position.step)
                time.sleep(_PAUSE_POLL_S)
        self.clock.carry(elapsed_s)

    @contextmanager
    def _phase(self, phase: Phase, *, announce: bool = False) -> Iterator[Tell]:
        """A phase other than training; announced at once, or when it first tells something."""
        announced = announce
        if announce:
            self.reporter.phase(phase, step=self.position.step)

        def tell(detail: str, fraction: float) -> None:
            nonlocal announced
            announced = True
            self.reporter.phase(phase, step=self.position.step, detail=detail, fraction=fraction)
            self.controls.stop_if_asked()

        yield tell
        if announced:
            self.reporter.phase(Phase.TRAINING, step=self.position.step)
        self._throughput.restart()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Ask the model without training it: no gradients, evaluation mode, random numbers untouched."""
        self._set_training(False)
        try:
            with torch.no_grad(), preserved_rng():
                yield
        finally:
            self._set_training(True)

    def _set_training(self, training: bool) -> None:
        for module in self.modules.values():
            module.train(training)
