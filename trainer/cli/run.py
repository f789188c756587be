"""``run RECIPE``: a supervised, hardened run on the terminal, without a server.

The same supervision as under a dashboard, in this process; the training itself
is a process of its own.  Ctrl-C stops the run after a checkpoint, a second
Ctrl-C kills it.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from trainer.cli.assignments import settings_of
from trainer.cli.before_run import refuse_hopeless
from trainer.cli.columns import add_column_option
from trainer.cli.datasets_named import dataset_choices, dataset_named
from trainer.cli.errors import UsageError
from trainer.cli.folders import existing_run, instance
from trainer.cli.on_dashboard import run_on_dashboard
from trainer.cli.own_environment import checked_environment, warn
from trainer.cli.own_script import chosen_recipe, chosen_script, script_dataset
from trainer.cli.policy_options import add_policy_options, policy_of
from trainer.cli.progress_bar import ProgressBar
from trainer.cli.supervise import EXIT_LOCKED, log_to_stderr
from trainer.environment.build import PROFILES, device_conflict
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.errors import ProtocolError
from trainer.protocol.launch_probes import take_probes_along
from trainer.protocol.rank_files import nproc_of
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.recipes.gates import Verdict, judge, overall
from trainer.recipes.registry import ParameterError, Recipe, validate
from trainer.scripts.declaration import Script
from trainer.supervisor.recovery import SurvivorsLeft
from trainer.supervisor.run_lock import RunLocked
from trainer.supervisor.supervise import supervise

EXIT_STOPPED: Final = 130
_TAIL_BYTES: Final = 4096
_TAIL_LINES: Final = 15


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("run", help="train on this terminal, supervised, without a server")
    parser.add_argument("recipe", metavar="RECIPE", help="see 'python -m trainer recipes'")
    parser.add_argument("--script", metavar="NAME", help="for the recipe script; see 'scripts'")
    parser.add_argument(
        "--dataset",
        metavar="NAME_OR_PATH",
        help="a built-in dataset, a registered one (NAME or NAME@2), or a file",
    )
    add_column_option(parser)
    parser.add_argument("--preset", metavar="NAME", help="start from this preset instead of the defaults")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="may be repeated"
    )
    parser.add_argument(
        "--nproc",
        action="append",
        type=lambda count: f"nproc={count}",
        metavar="N",
        dest="settings",
        help="as --set nproc=N: so many processes train together",
    )
    parser.add_argument("--run-dir", metavar="DIR", help="default: a new folder in the instance folder")
    parser.add_argument("--force", action="store_true", help="start although the preflight is red")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --run-dir")
    parser.add_argument("--dashboard", metavar="URL", help="let this dashboard train it, and follow it here")
    parser.add_argument("--profile", choices=PROFILES, help="environment of the trainer; default auto")
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        dest="environment",
        help="a variable for the trainer, over ours; may be repeated",
    )
    add_policy_options(parser)
    parser.add_argument("--json", action="store_true", help="last line of output: the result as JSON")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 finished, 130 stopped, the trainer's exit code (or 128 + signal) failed, 2 wrong use."""
    log_to_stderr(logging.WARNING)
    logging.getLogger("trainer.supervisor.alerts").setLevel(logging.ERROR)  # the bar shows alerts itself
    recipe = chosen_recipe(arguments)
    if arguments.dashboard:
        return run_on_dashboard(arguments, recipe, _preset(recipe, arguments.preset), _print_metrics)
    paths = _resumed(arguments, recipe) if arguments.resume else _created(arguments, recipe)
    bar = ProgressBar(sys.stderr)
    print(f"run folder: {paths.root}", file=sys.stderr)
    try:
        record = supervise(paths, watch=bar.show, note=bar.note)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    except (RunLocked, SurvivorsLeft) as exc:
        print(f"error: {exc}", file=sys.stderr)
        return EXIT_LOCKED
    finally:
        bar.close()
    if record.state == "failed":
        _print_tail(paths, record, sys.stderr)
        _print_findings(record, sys.stderr if arguments.json else sys.stdout)
    _print_table(record, sys.stderr if arguments.json else sys.stdout)
    _print_gates(recipe, paths, record, sys.stderr if arguments.json else sys.stdout)
    if arguments.json:
        print(json.dumps(_result(paths, record)), flush=True)
    return _exit_code(record)


def _created(arguments: argparse.Namespace, recipe: Recipe) -> RunPaths:
    """A new run folder with its spec.

    Raises:
        UsageError: dataset, parameter or folder is wrong; nothing was created.
    """
    script = chosen_script(arguments)
    dataset, columns = _chosen_dataset(recipe, script, arguments)
    try:
        params = validate(recipe, _preset(recipe, arguments.preset) | settings_of(arguments.settings))
    except ParameterError as exc:
        raise UsageError(f"--set {exc}") from exc
    profile = arguments.profile or (script.profile if script is not None else "auto")
    nproc = 1 if script is not None else nproc_of(params)
    conflict = device_conflict(str(params.get("device", "auto")), profile, nproc=nproc)
    if conflict is not None:
        raise UsageError(f"--profile: {conflict}")
    policy, environment = policy_of(arguments), checked_environment(arguments.environment)
    name = f"{(script or recipe).name.replace('_', '-')}-{time.strftime('%Y%m%d-%H%M%S')}"
    root = Path(arguments.run_dir).resolve() if arguments.run_dir else instance() / "runs" / name
    paths = RunPaths(root)
    if paths.spec.exists():
        raise UsageError(f"--run-dir: {root} holds a run already; go on with it by --resume, or name another")
    spec = RunSpec(
        run_id=root.name,
        name=root.name,
        recipe=recipe.name,
        dataset=dataset,
        params=params,
        created_at=time.time(),
        datasets_dir=str(instance() / "datasets"),
        profile=profile,
        policy=policy,
        environment=environment,
        columns=columns,
        script=str(script.folder) if script is not None else "",
    )
    warn(spec, sys.stderr)
    refuse_hopeless(spec, paths, force=arguments.force)
    try:
        take_probes_along(spec, paths)
        spec.save(paths)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    except OSError as exc:
        raise UsageError(f"--run-dir: {root} cannot be written: {exc.strerror}") from exc
    return paths


def _resumed(arguments: argparse.Namespace, recipe: Recipe) -> RunPaths:
    """The run in ``--run-dir``; what it trains is settled already.

    Raises:
        UsageError: there is none, or the command line asks for another.
    """
    if not arguments.run_dir:
        raise UsageError("--resume: name the run to go on with by --run-dir")
    paths = existing_run(arguments.run_dir)
    try:
        spec = RunSpec.load(paths)
    except ProtocolError as exc:
        raise UsageError(str(exc)) from exc
    if spec.recipe != recipe.name:
        raise UsageError(f"RECIPE: the run in {arguments.run_dir} is of {spec.recipe!r}, not {recipe.name!r}")
    if arguments.settings or arguments.preset:
        raise UsageError("--set and --preset cannot change a run that has begun; start a new one")
    if arguments.profile is not None and arguments.profile != spec.profile:
        raise UsageError(
            f"--profile: the run in {arguments.run_dir} has begun with the profile {spec.profile}, which its "
            "checkpoints stand for; start a new one"
        )
    if arguments.environment or policy_of(arguments):
        raise UsageError("--env and the policy of a run that has begun are settled; start a new one")
    if arguments.columns:
        raise UsageError("--column cannot change a run that has begun; start a new one")
    if arguments.script is not None and arguments.script != Path(spec.script).name:
        raise UsageError(f"--script: the run in {arguments.run_dir} is of {Path(spec.script).name!r}")
    if arguments.dataset is not None and _settled(recipe, arguments, spec) != spec.dataset:
        raise UsageError(f"--dataset: the run in {arguments.run_dir} trains on {spec.dataset}")
    return paths


def _preset(recipe: Recipe, name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    for preset in recipe.presets:
        if preset.name == name:
            return dict(preset.params)
    raise UsageError(
        f"--preset: {recipe.name} has no {name!r}; it has {', '.join(p.name for p in recipe.presets)}"
    )


def _settled(recipe: Recipe, arguments: argparse.Namespace, spec: RunSpec) -> str:
    """The dataset asked for, as the spec of a run has it."""
    if spec.script:
        return str(Path(arguments.dataset).resolve())
    return dataset_named(recipe, arguments.dataset, ())[0]


def _chosen_dataset(
    recipe: Recipe, script: Script | None, arguments: argparse.Namespace
) -> tuple[str, dict[str, str]]:
    """The dataset and the mapping of its columns; a script may have neither."""
    if script is not None:
        return script_dataset(script, arguments), {}
    if arguments.dataset is None:
        raise UsageError(f"--dataset: which one? {dataset_choices(recipe)}")
    return dataset_named(recipe, arguments.dataset, arguments.columns)


def _exit_code(record: ExitRecord) -> int:
    if record.state == "finished":
        return 0
    if record.state == "stopped":
        return EXIT_STOPPED
    return 128 + record.exit_signal if record.exit_signal else record.exit_code or 1


def _result(paths: RunPaths, record: ExitRecord) -> dict[str, Any]:
    return {
        "run_dir": str(paths.root),
        "state": record.state,
        "reason": record.reason,
        "exit_code": record.exit_code,
        "exit_signal": record.exit_signal,
        "attempt": record.attempt,
        "attempts": record.num_launches,
        "rungs": _rungs(paths, record),
        "steps": record.step,
        "metrics": {"last": record.metrics.get("last", {}), "best": record.metrics.get("best", {})},
        "findings": record.findings,
    }


def _rungs(paths: RunPaths, record: ExitRecord) -> list[dict[str, Any]]:
    """The remedies in force in the last attempt, oldest first."""
    try:
        plan = AttemptPlan.load(paths, record.attempt)
    except ProtocolError:
        return []
    return plan.to_json()["rungs"] if plan is not None else []


def _print_table(record: ExitRecord, stream: TextIO) -> None:
    seconds = record.ended_at - record.started_at
    print(f"{record.state}: {record.reason} (attempt {record.attempt}, {seconds:.1f} s)", file=stream)
    _print_metrics(record.metrics.get("last", {}), record.metrics.get("best", {}), stream)


def _print_metrics(last: Mapping[str, Any], best: Mapping[str, Any], stream: TextIO) -> None:
    names = sorted(set(last) | set(best))
    if not names:
        return
    width = max(len(name) for name in names)
    print(f"{'':<{width}}  {'last':>12}  {'best':>12}", file=stream)
    for name in names:
        print(f"{name:<{width}}  {_cell(last.get(name)):>12}  {_cell(best.get(name)):>12}", file=stream)


def _print_gates(recipe: Recipe, paths: RunPaths, record: ExitRecord, stream: TextIO) -> None:
    """GO or NO-GO of the best checkpoint, where the recipe has gates and they were measured."""
    values = record.metrics.get("best") or record.metrics.get("last", {})
    judged = judge(recipe.gates, RunSpec.load(paths).params, values)
    verdict = overall(judged)
    if verdict is Verdict.UNKNOWN:
        return
    missed = [f"{one.gate.title}: {one.in_words()}" for one in judged if one.verdict is Verdict.NO_GO]
    print(f"{verdict.value.upper()}{': ' if missed else ''}{'; '.join(missed)}", file=stream)


def _print_findings(record: ExitRecord, stream: TextIO) -> None:
    for finding in record.findings:
        print(f"why ({finding['id']}): {finding['cause']}", file=stream)
        print(f"what helps: {finding['remedy']}", file=stream)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _print_tail(paths: RunPaths, record: ExitRecord, stream: TextIO) -> None:
    output = paths.output(record.attempt)
    if not output.exists():
        return
    with output.open("rb") as file:
        file.seek(max(0, output.stat().st_size - _TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()[-_TAIL_LINES:]
    print(f"last lines of {output}:", *[f"  {line}" for line in lines], sep="\n", file=stream)
