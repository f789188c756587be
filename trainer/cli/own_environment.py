"""``--env NAME=VALUE``: the user's own variables on the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from trainer.cli.errors import UsageError
from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.installed import torch_version
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
    variables = build(
        device=str(spec.params.get("device", "auto")),
        profile=spec.profile,
        num_concurrent=spec.num_concurrent,
        physical_cores=usable_cores(),
        inherited=os.environ,
        torch_version=torch_version(),
        overrides=spec.environment,
    )
    for warning in override_warnings(spec.environment, variables):
        print(f"warning: --env {warning.name}: {warning.message}", file=stream)
