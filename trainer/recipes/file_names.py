"""What a parameter that names a file beside the dataset may look like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath


def check_beside(name: str, endings: Sequence[str]) -> None:
    """Files lie in the dataset's folder, which somebody has allowed; nothing leads out of it.

    Raises:
        ValueError: it is no plain name in that folder, or has another ending.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ValueError("must be the name of a file in the dataset's folder")
    if path.suffix.lower() not in endings:
        raise ValueError(f"must end in {' or '.join(endings)}")
