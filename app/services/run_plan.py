"""What a request asks to train, checked against the recipe and the dataset folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.config import Settings
from app.errors import InvalidRequest
from app.services.datasets import resolve_dataset
from trainer.environment.build import PROFILES, build, device_conflict
from trainer.environment.command import command
from trainer.environment.cores import usable_cores
from trainer.environment.installed import torch_version
from trainer.environment.overrides import OverrideError, check_overrides, override_warnings
from trainer.environment.variables import Variable
from trainer.recipes.registry import ParameterError, Recipe, recipes, validate
from trainer.recipes.search_process import loads_faiss_beside_torch


@dataclass(frozen=True)
class RunPlan:
    """Everything that decides what will be trained; ``params`` are complete and valid.

    ``environment`` holds the user's own variables, checked.
    """

    recipe: Recipe
    dataset: str
    params: dict[str, Any]
    profile: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def dataset_title(self) -> str:
        """The dataset in a word: its name, or its file's name without folder and ending."""
        return Path(self.dataset).stem if Path(self.dataset).is_absolute() else self.dataset


def plan_run(
    recipe: str,
    dataset: str,
    params: Mapping[str, Any],
    *,
    profile: str,
    settings: Settings,
    environment: Mapping[str, object] | None = None,
) -> RunPlan:
    """Check a request for a run.

    Raises:
        InvalidRequest: ``field`` names what is wrong: recipe, dataset, profile, ``params.NAME`` or
            ``environment.NAME``.
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
    conflict = device_conflict(_device_of(complete), profile)
    if conflict is not None:
        raise InvalidRequest(conflict, field="params.device", hint="Or choose another profile.")
    own = _checked_environment(environment or {})
    return RunPlan(
        found, resolve_dataset(found, dataset, roots=settings.dataset_roots), complete, profile, own
    )


def preview_of(plan: RunPlan, *, settings: Settings) -> dict[str, Any]:
    """The command, the environment and the parameters that a run of ``plan`` would get, and warnings."""
    variables = _variables(plan, settings=settings)
    warnings = override_warnings(plan.environment, variables)
    return {
        "command": command(settings.runs_dir / "RUN_ID", 1),
        "environment": [variable.to_json() for variable in variables],
        "warnings": [{"name": warning.name, "message": warning.message} for warning in warnings],
        "params": plan.params,
        "dataset": plan.dataset,
    }


def _variables(plan: RunPlan, *, settings: Settings) -> list[Variable]:
    return build(
        device=_device_of(plan.params),
        profile=plan.profile,
        num_concurrent=settings.max_runs,
        physical_cores=usable_cores(),
        inherited=os.environ,
        torch_version=torch_version(),
        overrides=plan.environment,
        faiss_shares_process=loads_faiss_beside_torch(
            plan.params, platform=sys.platform, profile=plan.profile
        ),
    )


def _device_of(params: Mapping[str, Any]) -> str:
    return str(params.get("device", "auto"))


def _checked_environment(environment: Mapping[str, object]) -> dict[str, str]:
    try:
        return check_overrides(environment)
    except OverrideError as exc:
        raise InvalidRequest(
            exc.message, field=f"environment.{exc.name}" if exc.name else "environment"
        ) from exc
