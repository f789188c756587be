"""``preflight RECIPE``: what can be told of a run before it starts."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from trainer.cli.assignments import settings_of
from trainer.cli.cancelling import Cancelled, cancel_on_signals
from trainer.cli.columns import add_column_option, columns_of
from trainer.cli.datasets_named import registered
from trainer.cli.doctor import table
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.cli.own_environment import checked_environment
from trainer.cli.own_script import chosen_recipe, chosen_script, script_dataset
from trainer.environment.build import PROFILES
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.examination import examine
from trainer.preflight.measuring import measure
from trainer.preflight.question import Question
from trainer.recipes.registry import ParameterError, Recipe, validate
from trainer.scripts.catalogue import scripts_folder
from trainer.scripts.declaration import Script

EXIT_STOPPED: Final = 130


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("preflight", help="check a run before it starts")
    parser.add_argument("recipe", metavar="RECIPE", help="see 'python -m trainer recipes'")
    parser.add_argument("--dataset", metavar="NAME_OR_PATH")
    add_column_option(parser)
    parser.add_argument("--script", metavar="NAME", help="for the recipe script")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="may be repeated"
    )
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="environment",
        help="a variable of your own; may be repeated",
    )
    parser.add_argument("--env-stdin", action="store_true", help="read them from standard input, as JSON")
    parser.add_argument("--smoke", action="store_true", help="also train a few real steps, and measure them")
    parser.add_argument("--profile", choices=PROFILES, default="auto", help="environment of the trainer")
    parser.add_argument("--instance", metavar="DIR", help="where the run would lie (SIGNALBOX_INSTANCE)")
    parser.add_argument("--num-concurrent", type=int, default=1, metavar="N", help="runs at a time")
    parser.add_argument("--json", action="store_true", help="one JSON object: checks, verdict, outlook")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when nothing is red, 1 when something is, 2 for wrong use."""
    if arguments.num_concurrent < 1:
        raise UsageError("--num-concurrent: must be at least 1")
    folder = Path(arguments.instance).resolve() if arguments.instance else instance()
    recipe = chosen_recipe(arguments, folder=scripts_folder(folder))
    cancel_on_signals()
    try:
        report = _report(recipe, arguments, folder)
    except Cancelled:
        return EXIT_STOPPED
    if arguments.json:
        print(json.dumps(report))
    else:
        print(table(report, coloured=sys.stdout.isatty()))
    return 1 if report["verdict"] == Verdict.PROBLEM else 0


def _report(recipe: Recipe, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    try:
        params = validate(recipe, settings_of(arguments.settings))
    except ParameterError as exc:
        check = Check("parameters", "Parameters", Verdict.PROBLEM, f"{exc}.", _parameter_remedy(recipe, exc))
        return {"checks": [check.to_json()], "verdict": "problem", "took_s": 0.0, "outlook": None}
    script = chosen_script(arguments, folder=scripts_folder(folder))
    dataset, columns = _dataset(recipe, script, arguments, folder)
    question = Question(
        recipe=recipe.name,
        declaration=recipe.preflight,
        dataset=dataset,
        params=params,
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
        profile=arguments.profile,
        num_concurrent=arguments.num_concurrent,
        columns=columns,
        script=str(script.folder) if script is not None else "",
    )
    findings = examine(question)
    if arguments.smoke:
        findings = measure(question, findings, environment=_environment(arguments))
    return findings.to_json()


def _dataset(
    recipe: Recipe, script: Script | None, arguments: argparse.Namespace, folder: Path
) -> tuple[str, dict[str, str]]:
    """What is to be examined, and which column plays which role; nothing is looked at here."""
    if script is not None:
        return script_dataset(script, arguments), {}
    given: str | None = arguments.dataset
    if given is None:
        raise UsageError("--dataset: which one?")
    columns = columns_of(arguments.columns, kind_names=recipe.dataset_kinds)
    if given in [one.name for one in recipe.builtin_datasets]:
        return given, columns
    version = registered(folder / "datasets", given)
    if version is not None:
        return version.path, version.columns | columns
    return os.path.abspath(given), columns  # noqa: PTH100


def _environment(arguments: argparse.Namespace) -> dict[str, str]:
    """From the command line, or from standard input, where no list of processes shows them."""
    if not arguments.env_stdin:
        return checked_environment(arguments.environment)
    try:
        given = json.load(sys.stdin)
    except ValueError as exc:
        raise UsageError(f"--env-stdin: standard input is no JSON object: {exc}") from exc
    return checked_environment([f"{name}={value}" for name, value in dict(given).items()])


def _parameter_remedy(recipe: Recipe, error: ParameterError) -> str:
    field = recipe.Params.model_fields.get(error.field)
    return f"{error.field}: {field.description}" if field is not None else "See: python -m trainer recipes"
