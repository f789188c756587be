"""``--set NAME=VALUE``: the parameters of a run on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.cli.errors import UsageError


def settings_of(assignments: Sequence[str]) -> dict[str, str]:
    """Names and values; a later assignment of the same name wins.

    Raises:
        UsageError: one is no assignment.
    """
    settings = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {assignment!r}: must be NAME=VALUE")
        settings[name.strip()] = value.strip()
    return settings
