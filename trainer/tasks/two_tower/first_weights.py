"""A run that begins with what another run has learned; see ``weight_source``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from trainer.asking.chosen import file_of, verify
from trainer.asking.faults import AskingError
from trainer.datasets.records import DatasetError
from trainer.engine import checkpoints
from trainer.engine.checkpoints import CheckpointError
from trainer.tasks.two_tower.weight_source import Kind, Source, misfit


def begin_with(
    modules: Mapping[str, nn.Module], source: Source, params: Mapping[str, Any], kind: Kind
) -> dict[str, Any]:
    """Put the weights into the towers; returns the state of the checkpoint's task.

    Raises:
        DatasetError: they do not fit.
        CheckpointError: the file is damaged.
    """
    problem = misfit(source, params, kind)
    if problem is not None:
        raise DatasetError(problem)
    try:
        verify(source.paths, source.chosen)
    except AskingError as exc:
        raise CheckpointError(f"init_from: {exc.message} {exc.hint}") from exc
    state = checkpoints.load(file_of(source.paths, source.chosen))
    try:
        for name, module in modules.items():
            module.load_state_dict(state["modules"][name])
    except (KeyError, RuntimeError) as exc:
        raise DatasetError(
            f"the weights of {source.title} belong to towers that read something else ({kind} here); name a"
            " run on the same kind of dataset, or clear init_from"
        ) from exc
    found: dict[str, Any] = state["task"]
    return found
