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
from app.services.dataset_choice import choose_dataset
from app.services.scripts import chosen_script, script_command, script_dataset
from trainer.environment.build import PROFILES, build, device_conflict
from trainer.environment.command import command
from trainer.environment.cores import usable_cores
from trainer.environment.installed import torch_version
from trainer.environment.overrides import OverrideError, check_overrides, override_warnings
from trainer.environment.variables import Variable
from trainer.protocol.errors import ProtocolError
from trainer.protocol.launch_probes import named_probes
from trainer.protocol.rank_files import nproc_of
from trainer.recipes.registry import ParameterError, Recipe, recipes, validate
from trainer.recipes.search_process import loads_faiss_beside_torch
from trainer.scripts.declaration import Script
from trainer.scripts.recipe import recipe_of


@dataclass(frozen=True)
class RunPlan:
    """Everything that decides what will be trained; ``params`` are complete and valid.

    ``environment`` holds the user's own variables, checked; ``columns`` which
    column of the file plays which role.
    """

    recipe: Recipe
    dataset: str
    params: dict[str, Any]
    profile: str
    environment: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    script: Script | None = None

    @property
    def script_name(self) -> str:
        """The registered script that runs; empty for every other recipe."""
        return "" if self.script is None else self.script.name

    @property
    def subject(self) -> str:
        """What is run, in a word or two: the recipe, or the script."""
        return self.script_name or self.recipe.name

    @property
    def dataset_title(self) -> str:
        """The dataset in a word: its name, or its file's name without folder and ending."""
        return Path(self.dataset).stem if Path(self.dataset).is_absolute() else self.dataset


def plan_run(
    recipe: str,
    dataset: str,
    params: Mapping[str, Any],
    *,
    profile: str | None,
    settings: Settings,
    environment: Mapping[str, object] | None = None,
    columns: Mapping[str, str] | None = None,
    script: str = "",
) -> RunPlan:
    """Check a request for a run.

    Args:
        recipe: name of a recipe.
        dataset: built-in name or path; may be empty for a script.
        params: those that are not to keep their defaults.
        profile: of the environment; None for what the script proposes, else ``auto``.
        settings: folders.
        environment: the user's own variables.
        columns: role -> column of the file, over those a dataset was registered with.
        script: name of a registered script, for the recipe ``script`` only.
    Raises:
        InvalidRequest: ``field`` names what is wrong: recipe, script, dataset, profile, ``params.NAME``,
            ``columns.ROLE`` or ``environment.NAME``.
    """
    found = _recipe(recipe)
    chosen = chosen_script(found, script, settings=settings)
    if chosen is not None:
        found = recipe_of(chosen)
    profile = _profile(profile, chosen)
    try:
        complete = validate(found, params)
    except ParameterError as exc:
        field = f"params.{exc.field}" if exc.field else "params"
        raise InvalidRequest(
            exc.message, field=field, hint=f"GET /api/recipes lists the parameters of {recipe}"
        ) from exc
    conflict = device_conflict(_device_of(complete), profile, nproc=1 if chosen else nproc_of(complete))
    if conflict is not None:
        raise InvalidRequest(conflict, field="params.device", hint="Or choose another profile.")
    own = _checked_environment(environment or {})
    if chosen is None:
        picked = choose_dataset(found, dataset, columns or {}, settings=settings)
        _check_probe_file(complete, picked.path, settings=settings)
        return RunPlan(found, picked.path, complete, profile, own, picked.columns)
    resolved = script_dataset(chosen, found, dataset, settings=settings)
    return RunPlan(found, resolved, complete, profile, own, script=chosen)


def _recipe(name: str) -> Recipe:
    known = recipes()
    if name not in known:
        raise InvalidRequest(
            f"there is no recipe {name!r}", field="recipe", hint=f"there are: {', '.join(known)}"
        )
    return known[name]


def _profile(asked: str | None, script: Script | None) -> str:
    """The profile asked for, or what the script proposes."""
    profile = asked or (script.profile if script is not None else "auto")
    if profile not in PROFILES:
        raise InvalidRequest(
            f"there is no profile {profile!r}", field="profile", hint=f"there are: {', '.join(PROFILES)}"
        )
    return profile


def preview_of(plan: RunPlan, *, settings: Settings) -> dict[str, Any]:
    """The command, the environment and the parameters that a run of ``plan`` would get, and warnings."""
    variables = _variables(plan, settings=settings)
    warnings = override_warnings(plan.environment, variables)
    run_dir = settings.runs_dir / "RUN_ID"
    return {
        "command": _command(plan, run_dir),
        "environment": [variable.to_json() for variable in variables],
        "warnings": [{"name": warning.name, "message": warning.message} for warning in warnings],
        "params": plan.params,
        "dataset": plan.dataset,
        "columns": plan.columns,
    }


def _command(plan: RunPlan, run_dir: Path) -> list[str]:
    if plan.script is None:
        return command(run_dir, 1, nproc=nproc_of(plan.params))
    return script_command(plan.script, plan.params, plan.dataset, run_dir=run_dir)


def _variables(plan: RunPlan, *, settings: Settings) -> list[Variable]:
    return build(
        device=_device_of(plan.params),
        profile=plan.profile,
        num_concurrent=settings.max_runs,
        nproc=1 if plan.script is not None else nproc_of(plan.params),
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


def _check_probe_file(params: Mapping[str, Any], dataset: str, *, settings: Settings) -> None:
    try:
        named_probes(params, dataset=dataset, datasets_dir=settings.datasets_dir)
    except ProtocolError as exc:
        raise InvalidRequest(
            str(exc), field="params.probe_file", hint="Put that place right, or leave probe_file empty."
        ) from exc


def _checked_environment(environment: Mapping[str, object]) -> dict[str, str]:
    try:
        return check_overrides(environment)
    except OverrideError as exc:
        raise InvalidRequest(
            exc.message, field=f"environment.{exc.name}" if exc.name else "environment"
        ) from exc
