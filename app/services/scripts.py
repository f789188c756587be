"""People's own scripts in the dashboard: which there are, which one is meant, and what it trains on.

The browser only ever chooses a registered name and values; files are read
here, and nothing of a script is run in the web process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.config import Settings
from app.errors import Conflict, InvalidRequest
from app.services.datasets import resolve_dataset
from app.store.models import Run
from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths
from trainer.recipes.registry import Recipe
from trainer.scripts.arguments import Circumstances, argument_vector
from trainer.scripts.catalogue import Registered, find_script, registered
from trainer.scripts.declaration import RECIPE, Script, ScriptError
from trainer.scripts.recipe import dataset_of, describe_script, file_of


def describe_scripts(settings: Settings) -> dict[str, Any]:
    """``{"scripts", "folder"}``: every registered script, those that cannot be used with what is wrong."""
    return {
        "scripts": [_described(one) for one in registered(settings.scripts_dir)],
        "folder": str(settings.scripts_dir),
    }


def chosen_script(recipe: Recipe, name: str, *, settings: Settings) -> Script | None:
    """The script that a request for a run of ``recipe`` names; None for every other recipe.

    Raises:
        InvalidRequest: ``field`` is ``script``: none is named, none is expected, or it cannot be used.
    """
    if recipe.name != RECIPE:
        if name:
            raise InvalidRequest(f"the recipe {recipe.name} runs no script", field="script")
        return None
    if not name:
        raise InvalidRequest("which script?", field="script", hint="GET /api/scripts lists them")
    try:
        return find_script(settings.scripts_dir, name)
    except ScriptError as exc:
        raise InvalidRequest(f"{exc.place}: {exc.message}", field="script", hint=exc.remedy) from exc


def script_dataset(script: Script, recipe: Recipe, dataset: str, *, settings: Settings) -> str:
    """What a run of ``script`` calls its dataset: an allowed file, or the script's own name without one.

    Raises:
        InvalidRequest: ``field`` is ``dataset``: it takes none, needs one, or this one is not allowed.
    """
    if dataset in ("", script.name):
        if script.dataset == "required":
            raise InvalidRequest(
                f"the script {script.name} needs a file", field="dataset", hint="GET /api/datasets lists them"
            )
        return dataset_of(script, "")
    if script.dataset == "none":
        raise InvalidRequest(
            f"the script {script.name} takes no dataset",
            field="dataset",
            hint='Leave it out, or write dataset = "optional" into its script.toml.',
        )
    return dataset_of(script, resolve_dataset(recipe, dataset, roots=settings.dataset_roots))


def script_command(script: Script, params: Mapping[str, Any], dataset: str, *, run_dir: Path) -> list[str]:
    """The argument vector of the first launch, for the preview.

    Raises:
        InvalidRequest: ``field`` is ``script``: its interpreter is not there.
    """
    given = Circumstances(str(run_dir), 1, dataset=file_of(dataset), stacks=str(RunPaths(run_dir).stacks(1)))
    try:
        return argument_vector(script, params, given)
    except ScriptError as exc:
        raise InvalidRequest(f"{exc.place}: {exc.message}", field="script", hint=exc.remedy) from exc


def check_ear(run: Run, command: Command) -> None:
    """Refuse an order that the run of a script cannot hear: one that only prints hears none.

    Raises:
        Conflict: it could not obey; every other run may.
    """
    if not run.script or (run.heartbeat_at is not None and command in (Command.CHECKPOINT, Command.SNAPSHOT)):
        return
    raise Conflict(
        f"Run {run.id} is of the script {run.script}, which cannot be told to {command.value}.",
        hint="It can be stopped; a script that uses trainer.telemetry can save and ask its probes on demand.",
    )


def _described(one: Registered) -> dict[str, Any]:
    if one.script is not None:
        return {**describe_script(one.script), "trouble": None}
    trouble = one.trouble.to_json() if one.trouble is not None else None
    return {"name": one.name, "title": one.name, "summary": "", "parameters": [], "trouble": trouble}
