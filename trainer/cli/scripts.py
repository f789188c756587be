"""``scripts``: the scripts that are registered, and ``scripts check``: what is wrong with one."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from trainer.cli.errors import UsageError
from trainer.cli.folders import instance
from trainer.preflight.question import Question
from trainer.scripts.arguments import Circumstances, argument_vector
from trainer.scripts.catalogue import Registered, find_script, registered, scripts_folder
from trainer.scripts.declaration import RECIPE, Script, ScriptError
from trainer.scripts.output import output_settings
from trainer.scripts.preflight import survey
from trainer.scripts.recipe import describe_script


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("scripts", help="list your own scripts, or check one")
    parser.add_argument("action", nargs="?", choices=("check",), help="look at one script closely")
    parser.add_argument("name", nargs="?", metavar="NAME", help="its folder in the instance's scripts")
    parser.add_argument("--json", action="store_true", help="the same as one JSON object")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """0 when every script asked about can be used, 1 otherwise, 2 for wrong use."""
    folder = scripts_folder(instance())
    if arguments.action == "check":
        if arguments.name is None:
            raise UsageError("scripts check: name the script")
        return _check(folder, arguments.name, as_json=arguments.json)
    found = registered(folder)
    if arguments.json:
        print(json.dumps({"folder": str(folder), "scripts": [_described(one) for one in found]}))
    elif not found:
        print(f"no script is registered: make a folder with a script.toml in {folder}")
    else:
        for one in found:
            _print(one)
    return 1 if any(one.trouble is not None for one in found) else 0


def _check(folder: Path, name: str, *, as_json: bool) -> int:
    try:
        script = find_script(folder, name)
        command = _command(script)
        output_settings(script)
    except ScriptError as exc:
        if as_json:
            print(json.dumps({"name": name, "ok": False, "error": exc.to_json()}))
        else:
            print(f"{exc.place}: {exc.message}\n  -> {exc.remedy}", file=sys.stderr)
        return 1
    question = Question(RECIPE, "", name, {}, folder, folder, script=str(script.folder))
    checks = [check.to_json() for check in survey(question).checks]
    is_ok = all(check["verdict"] != "problem" for check in checks)
    if as_json:
        told = {**describe_script(script), "ok": is_ok, "command": command, "checks": checks}
        print(json.dumps(told))
    else:
        for check in checks:
            print(f"{check['verdict']}: {check['title']}: {check['found']}")
        print(f"with its defaults: {shlex.join(command)}")
    return 0 if is_ok else 1


def _command(script: Script) -> list[str]:
    """What it would be started with, with the defaults of its parameters."""
    params = {name: one.default for name, one in script.parameters.items()}
    given = Circumstances(run_dir="RUN_DIR", attempt=1, dataset="" if script.dataset == "none" else "FILE")
    return argument_vector(script, params, given)


def _described(one: Registered) -> dict[str, Any]:
    if one.script is not None:
        return {**describe_script(one.script), "error": None}
    return {"name": one.name, "error": one.trouble.to_json() if one.trouble is not None else None}


def _print(one: Registered) -> None:
    if one.script is None:
        print(f"{one.name}: cannot be used\n  {one.trouble}")
        return
    print(f"{one.name}: {one.script.title}")
    for name, parameter in one.script.parameters.items():
        print(f"    {name:<24} = {parameter.default!s:<16} {parameter.help}")
