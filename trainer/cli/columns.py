"""``--column ROLE=NAME``: which column of a file plays which role."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from trainer.cli.errors import UsageError
from trainer.datasets.kinds.registry import kinds


def add_column_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--column`` to a command."""
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        dest="columns",
        help="the column of the file that is the query, document, text, label, …; may be repeated",
    )


def columns_of(assignments: Sequence[str], *, kind_names: Sequence[str] | None = None) -> dict[str, str]:
    """Roles and columns; an empty column means that none plays the role.

    Args:
        assignments: as given on the command line.
        kind_names: kinds whose roles are allowed; None for all.

    Raises:
        UsageError: one is no assignment, or there is no such role.
    """
    columns = {}
    for assignment in assignments:
        role, equals, column = assignment.partition("=")
        if not equals or not role.strip():
            raise UsageError(f"--column {assignment!r}: must be ROLE=NAME")
        columns[role.strip()] = column
    check_roles(columns, kind_names=kind_names)
    return columns


def check_roles(columns: Mapping[str, str], *, kind_names: Sequence[str] | None = None) -> None:
    """Raise UsageError where ``columns`` names a role that none of the kinds has."""
    chosen = [kind for kind in kinds().values() if kind_names is None or kind.name in kind_names]
    known = list(dict.fromkeys(role.name for kind in chosen for role in kind.roles))
    for role in columns:
        if role not in known:
            raise UsageError(f"--column {role!r}: there is no such role; there is {', '.join(known)}")
