"""What a dataset file must be before anybody reads it."""

from __future__ import annotations

import stat
from pathlib import Path

from trainer.datasets.records import DatasetError


def check_regular(path: Path) -> int:
    """Return the size of ``path`` in bytes, if it is a file that can be read and is not empty.

    A pipe or a device would be read for ever, so only regular files are taken.

    Raises:
        DatasetError: it is missing, something else than a file, or empty.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as exc:
        raise unreadable(path, exc) from exc
    if stat.S_ISDIR(found.st_mode):
        raise DatasetError(f"{path}: is a folder; name the file in it")
    if not stat.S_ISREG(found.st_mode):
        raise DatasetError(
            f"{path}: is not a regular file (a pipe, socket or device); copy it to a file first"
        )
    if found.st_size == 0:
        raise DatasetError(f"{path}: is empty")
    return found.st_size


def unreadable(path: Path, exc: Exception) -> DatasetError:
    """The error for a file the operating system would not give."""
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return DatasetError(f"{path}: cannot be read ({reason})")
