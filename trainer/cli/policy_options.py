"""The options of ``run`` that say what happens when a run dies or hangs, from the policy's declaration."""

from __future__ import annotations

import argparse
from typing import Any

from trainer.cli.errors import UsageError
from trainer.protocol.policy import FIELDS, PolicyError, PolicyField, checked_policy

# "retry after 120 s" reads better on a command line than the key with its unit
_OPTIONS = {field.name: f"--{field.name.removesuffix('_s').replace('_', '-')}" for field in FIELDS}


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add one option per field of a policy."""
    for field in FIELDS:
        parser.add_argument(
            _OPTIONS[field.name],
            dest=field.name,
            metavar="|".join(field.choices) if field.choices else "N" if field.type == "int" else "S",
            help=f"{field.help.split('. ')[0].rstrip('.')}; default {field.default}",
        )


def policy_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The policy the options ask for; those not given stay out.

    Raises:
        UsageError: names the option and what it allows.
    """
    given = {
        field.name: _value(field, text)
        for field in FIELDS
        if (text := getattr(arguments, field.name)) is not None
    }
    try:
        return checked_policy(given)
    except PolicyError as exc:
        raise UsageError(f"{_OPTIONS[exc.field]}: {exc.message}") from exc


def _value(field: PolicyField, text: str) -> object:
    if field.type == "choice":
        return text
    try:
        return int(text) if field.type == "int" else float(text)
    except ValueError:
        return text  # the check names what is allowed
