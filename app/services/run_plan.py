"""What a request asks to train, checked against the recipe and the dataset folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.config import Settings
from app.errors import InvalidRequest
from app.services.datasets import resolve_dataset
from trainer.environment.build import PROFILES, build
from trainer.environment.command import command
from trainer.environment.cores import usable_cores
from trainer.recipes.registry import ParameterError, Recipe, recipes, validate
from trainer.recipes.search_process import loads_faiss_beside_torch


@dataclass(frozen=True)
class RunPlan:
    """Everything that decides what will be trained; ``params`` are complete and valid."""

    recipe: Recipe
    dataset: str
    params: dict[str, Any]
    profile: str

    @property
    def dataset_title(self) -> str:
        """The dataset in a word: its name, or its file's name without folder and ending."""
        return Path(self.dataset).stem if Path(self.dataset).is_absolute() else self.dataset


def plan_run(
    recipe: str, dataset: str, params: Mapping[str, Any], *, profile: str, settings: Settings
) -> RunPlan:
    """Check a request for a run.

    Raises:
        InvalidRequest: ``field`` names what is wrong: recipe, dataset, profile or ``params.NAME``.
    """
    known = recipes()
    found = known.get(recipe)
    if found is None:
        raise InvalidRequest(
            f"there is no recipe {recipe!r}", field="recipe", hint=f"there are: {', '.join(known)}"
        )
    if profile not in PROFILES:
        raise InvalidRequest(
            f"there is no profile {profile!r}", field="profile", hint=f"there are: {', '.join(PROFILES)}"
        )
    try:
        complete = validate(found, params)
    except ParameterError as exc:
        field = f"params.{exc.field}" if exc.field else "params"
        raise InvalidRequest(
            exc.message, field=field, hint=f"GET /api/recipes lists the parameters of {recipe}"
        ) from exc
    return RunPlan(found, resolve_dataset(found, dataset, roots=settings.dataset_roots), complete, profile)


def preview_of(plan: RunPlan, *, settings: Settings) -> dict[str, Any]:
    """The command, the environment and the parameters that a run of ``plan`` would get."""
    variables = build(
        device=str(plan.params.get("device", "auto")),
        profile=plan.profile,
        num_concurrent=settings.max_runs,
        physical_cores=usable_cores(),
        inherited=os.environ,
        faiss_shares_process=loads_faiss_beside_torch(plan.params, platform=sys.platform),
    )
    return {
        "command": command(settings.runs_dir / "RUN_ID", 1),
        "environment": [variable.to_json() for variable in variables],
        "params": plan.params,
        "dataset": plan.dataset,
    }
