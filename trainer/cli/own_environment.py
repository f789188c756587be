"""``--env NAME=VALUE``: the user's own variables on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from trainer.cli.errors import UsageError
from trainer.environment.launch import launch_variables
from trainer.environment.overrides import OverrideError, check_overrides, override_warnings
from trainer.protocol.run_folder import RunSpec


def checked_environment(assignments: Sequence[str]) -> dict[str, str]:
    """The variables that ``assignments`` of the form NAME=VALUE set.

    Raises:
        UsageError: one is no assignment, set twice, or not allowed; names it, never its value.
    """
    given: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError("--env: must be NAME=VALUE")
        if name in given:
            raise UsageError(f"--env {name}: is set twice")
        given[name] = value
    try:
        return check_overrides(given)
    except OverrideError as exc:
        raise UsageError(f"--env {exc}" if exc.name else f"--env: {exc}") from exc


def warn(spec: RunSpec, stream: TextIO) -> None:
    """Tell what the user should know about the variables they set."""
    for warning in override_warnings(spec.environment, launch_variables(spec)):
        print(f"warning: --env {warning.name}: {warning.message}", file=stream)
