"""What a checkpoint holds of a training loop, and how a loop goes on from one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer.engine import checkpoints
from trainer.engine.checkpoints import CheckpointError, Manifest
from trainer.engine.manifests import problem_with
from trainer.engine.progress import Best, Position
from trainer.engine.seeding import rng_state, set_rng_state
from trainer.protocol import evaluation_files

if TYPE_CHECKING:
    from trainer.engine.loop import TrainingLoop


def save(loop: TrainingLoop, reason: str) -> Manifest:
    """Write the loop's checkpoint of its current step and remove those no longer kept.

    Raises:
        CheckpointError: there is no room, or the weights are not finite.
    """
    step = loop.position.step
    for name, module in loop.modules.items():
        if not checkpoints.is_finite(module.state_dict()):
            raise CheckpointError(
                f"the weights of {name!r} are not finite after step {step}, so no checkpoint is written over"
                " the good ones. Lower the learning rate and resume."
            )
    manifest = checkpoints.write(
        loop.paths,
        state_of(loop),
        step=step,
        epoch=loop.position.epoch,
        metrics=loop.latest,
        reason=reason,
        best=loop.best.step == step,
    )
    checkpoints.prune(loop.paths, keep=loop.config.keep_checkpoints)
    return manifest


def state_of(loop: TrainingLoop) -> dict[str, Any]:
    """Everything a new process needs to go on as if nothing had happened."""
    return {
        "position": asdict(loop.position),
        "num_micro_batches": loop.task.num_micro_batches(loop.position.epoch),
        "modules": {name: module.state_dict() for name, module in loop.modules.items()},
        "optimizers": [optimizer.state_dict() for optimizer in loop.optimizers],
        "learning_rate": loop.learning_rate.state_dict(),
        "rng": rng_state(),
        "task": loop.task.state_dict(),
        "best": loop.best.state_dict(),
        "latest": dict(loop.latest),
        "evaluated_step": loop.evaluated_step,
        "elapsed_s": loop.clock.elapsed_s,
        "snapshots": {
            "next_due": loop.schedule.next_due,
            "budget": loop.budget.state_dict(),
            "writer": loop.snapshots.state_dict(),
        },
        "config": asdict(loop.config),
        "recipe": loop.spec.recipe,
        "dataset": loop.spec.dataset,
        "params": dict(loop.spec.params),
    }


def from_newest_checkpoint(loop: TrainingLoop) -> None:
    """Put the loop where the newest verified checkpoint of its run was; tells people which one.

    Raises:
        CheckpointError: the checkpoint does not fit the task.
    """

    def on_damage(manifest: Manifest, problem: str) -> None:
        loop.reporter.alert(
            "warning",
            "Damaged checkpoint set aside",
            f"{manifest.file} {problem}; the one before it is used instead.",
            step=manifest.step,
        )

    path = checkpoints.newest_verified(loop.paths, on_damage=on_damage)
    if path is None:
        evaluation_files.forget_after(loop.paths, 0)
        loop.reporter.alert("info", "No checkpoint to resume from", "The run starts again at step 0.", step=0)
        return
    is_epoch_begun_again = _restore(loop, path)
    evaluation_files.forget_after(loop.paths, loop.position.step)
    loop.reporter.alert(
        "info",
        "Resumed from a checkpoint",
        f"{path.name}: goes on after step {loop.position.step}.",
        step=loop.position.step,
    )
    if is_epoch_begun_again:
        loop.reporter.alert(
            "warning",
            "The epoch is begun again",
            "The parameters of this attempt cut the epoch into other batches than those of the checkpoint, so"
            " its place in the epoch means nothing here: examples of this epoch that were trained on before"
            " come a second time. Weights and optimizer go on where they were.",
            step=loop.position.step,
        )


def load_best(loop: TrainingLoop) -> Manifest | None:
    """Put the best checkpoint's weights into the modules; None when they are those the run ends with."""
    best = [each for each in checkpoints.manifests(loop.paths) if each.step == loop.best.step]
    if not best or best[-1].step == loop.position.step:
        return None
    if problem_with(loop.paths, best[-1]) is not None:
        return None
    _restore_modules(loop, checkpoints.load(loop.paths.checkpoints / best[-1].file)["modules"])
    return best[-1]


def _restore(loop: TrainingLoop, path: Path) -> bool:
    """Put everything back; whether the epoch had to be begun again because its batches are others now."""
    state = checkpoints.load(path)
    try:
        _restore_modules(loop, state["modules"])
        _restore_optimizers(loop, state["optimizers"])
        loop.task.load_state_dict(state["task"])
        loop.position = Position(**state["position"])
        is_epoch_begun_again = _begin_epoch_again_if_cut_anew(loop, state.get("num_micro_batches"))
        loop.best = Best(**state["best"])
        loop.latest = dict(state["latest"])
        loop.evaluated_step = state["evaluated_step"]
        loop.clock.carry(state["elapsed_s"])
        loop.schedule.next_due = state["snapshots"]["next_due"]
        loop.budget.load_state_dict(state["snapshots"]["budget"])
        loop.snapshots.load_state_dict(state["snapshots"]["writer"])
    except (KeyError, TypeError, ValueError, RuntimeError) as exc:
        raise CheckpointError(
            f"{path} does not fit this run's model or parameters: {exc}. Resume with the parameters the"
            " checkpoint was written with, or start a new run."
        ) from exc
    loop.saved_step = loop.position.step
    set_rng_state(state["rng"])
    return is_epoch_begun_again


def _begin_epoch_again_if_cut_anew(loop: TrainingLoop, num_before: int | None) -> bool:
    """A place in an epoch counts micro-batches; where there are more or fewer of them it is another place."""
    position = loop.position
    if num_before is None or position.micro_batch == 0:
        return False
    num_now = loop.task.num_micro_batches(position.epoch)
    if num_now == num_before:
        return False
    is_done = position.micro_batch >= num_before  # its end is its end however it is cut
    position.micro_batch = num_now if is_done else 0
    return not is_done


def _restore_modules(loop: TrainingLoop, states: dict[str, Any]) -> None:
    if states.keys() != loop.modules.keys():
        raise ValueError(f"it holds the modules {sorted(states)}, the task has {sorted(loop.modules)}")
    for name, module in loop.modules.items():
        module.load_state_dict(states[name])


def _restore_optimizers(loop: TrainingLoop, states: list[Any]) -> None:
    """Take over momenta and counters; rates and decays stay those of the run's present parameters."""
    if len(states) != len(loop.optimizers):
        raise ValueError(f"it holds {len(states)} optimizers, the task has {len(loop.optimizers)}")
    for optimizer, state in zip(loop.optimizers, states, strict=True):
        wanted = [
            {name: value for name, value in group.items() if name != "params"}
            for group in optimizer.param_groups
        ]
        optimizer.load_state_dict(state)
        for group, settings in zip(optimizer.param_groups, wanted, strict=True):
            group.update(settings)
