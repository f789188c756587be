"""``recipes``: what can be trained, with all parameters."""

from __future__ import annotations

import argparse
import json
from typing import Any

from trainer.recipes.registry import describe, recipes


def add_parser(subparsers: Any) -> None:
    """Add the command to ``python -m trainer``."""
    parser = subparsers.add_parser("recipes", help="list what can be trained, with all parameters")
    parser.add_argument("--json", action="store_true", help="the same as one JSON object")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    """Print every recipe with its presets, datasets and parameters."""
    described = [describe(recipe) for recipe in recipes().values()]
    if arguments.json:
        print(json.dumps({"recipes": described}))
        return 0
    for recipe in described:
        print(f"{recipe['name']}: {recipe['title']}\n  {recipe['summary']}")
        print(f"  datasets: {', '.join(one['name'] for one in recipe['datasets'])}, or a file")
        if recipe["presets"]:
            print(f"  presets: {', '.join(one['name'] for one in recipe['presets'])}")
        for parameter in recipe["parameters"]:
            print(f"    {parameter['name']:<24} {_values(parameter):<34} {parameter['help']}")
    return 0


def _values(parameter: dict[str, Any]) -> str:
    default = f"= {parameter['default']}" + (f" {parameter['unit']}" if parameter["unit"] else "")
    if parameter["choices"]:
        return f"{default} ({'|'.join(map(str, parameter['choices']))})"
    low, high = parameter["minimum"], parameter["maximum"]
    if low is None and high is None:
        return default
    return f"{default} [{'' if low is None else low}..{'' if high is None else high}]"
