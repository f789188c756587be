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
from trainer.cli.doctor import table
from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.cli.own_environment import checked_environment
from trainer.environment.build import PROFILES
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.examination import examine
from trainer.preflight.measuring import measure
from trainer.preflight.question import Question
from trainer.recipes.registry import ParameterError, Recipe, recipes, validate

EXIT_STOPPED: Final = 130


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("preflight", help="check a run before it starts")
    parser.add_argument("recipe", metavar="RECIPE", help="see 'python -m trainer recipes'")
    parser.add_argument("--dataset", metavar="NAME_OR_PATH", required=True)
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
    recipe = recipes().get(arguments.recipe)
    if recipe is None:
        raise UsageError(f"RECIPE: no recipe {arguments.recipe!r}; there is {', '.join(recipes())}")
    if arguments.num_concurrent < 1:
        raise UsageError("--num-concurrent: must be at least 1")
    folder = Path(arguments.instance).resolve() if arguments.instance else instance()
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
    known = [one.name for one in recipe.builtin_datasets]
    dataset = arguments.dataset
    question = Question(
        recipe=recipe.name,
        declaration=recipe.preflight,
        dataset=dataset if dataset in known else os.path.abspath(dataset),  # noqa: PTH100
        params=params,
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
        profile=arguments.profile,
        num_concurrent=arguments.num_concurrent,
    )
    findings = examine(question)
    if arguments.smoke:
        findings = measure(question, findings, environment=_environment(arguments))
    return findings.to_json()


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
