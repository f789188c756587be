"""Whose code it is: nothing is run that somebody else could have put there.

Owner, permissions and symbolic links of every folder and file on the way from
the folder of all scripts to the entry file.  Looked at when scripts are listed,
when a run is asked for, and again right before a launch.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trainer.scripts.declaration import ScriptError

_TAKE_BACK = "take the permission away from others: chmod o-w"


def check_folder(folder: Path) -> None:
    """Refuse a script's folder, or the folder of all scripts around it, that is not this user's alone.

    Raises:
        ScriptError: names the folder.
    """
    for one in (folder.parent, folder):
        status = _status(one)
        if stat.S_ISLNK(status.st_mode):
            raise ScriptError(str(one), "is a symbolic link", "put the folder itself there")
        if not stat.S_ISDIR(status.st_mode):
            raise ScriptError(str(one), "is not a folder", "make a folder with a script.toml in it")
        _check_owner(one, status)


def check_file(folder: Path, file: Path) -> None:
    """Refuse a file of the script in ``folder`` that lies elsewhere, or that others may change.

    Raises:
        ScriptError: names the file, or the folder on the way to it.
    """
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise ScriptError(str(file), f"leads out of {folder}", "keep the file itself in the script's folder")
    for one in _way(Path(os.path.realpath(folder)), real):
        _check_owner(one, _status(one))
    if not stat.S_ISREG(_status(real).st_mode):
        raise ScriptError(str(file), "is not a regular file", "name a file of the script's folder")
    if not os.access(real, os.R_OK):
        raise ScriptError(str(file), "cannot be read", "check its permissions")


def check_program(program: Path, *, place: str) -> None:
    """Refuse an interpreter that cannot be run, or that others may change; ``place`` names its key.

    Raises:
        ScriptError: names the key.
    """
    try:
        status = program.stat()  # behind a link: that of a virtual environment leads to the system's
    except OSError as exc:
        raise ScriptError(
            place, f"{program}: {exc.strerror}", "write the path of an interpreter on this machine"
        ) from exc
    if not stat.S_ISREG(status.st_mode) or not os.access(program, os.X_OK):
        raise ScriptError(place, f"{program} is no program", "write the path of an executable file")
    _check_owner(program, status)


def _way(folder: Path, file: Path) -> Iterator[Path]:
    """The folders from ``folder`` to ``file``, and the file."""
    one = folder
    for part in file.relative_to(folder).parts:
        one = one / part
        yield one


def _status(path: Path) -> os.stat_result:
    try:
        return path.lstat()
    except FileNotFoundError as exc:
        raise ScriptError(str(path), "is not there", "check the name") from exc
    except OSError as exc:
        raise ScriptError(str(path), str(exc.strerror), "check its permissions") from exc


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise ScriptError(
            str(path),
            f"belongs to user {status.st_uid}, not to the user {os.geteuid()} who would run it",
            "copy the folder as the user who runs Signalbox",
        )
    if status.st_mode & stat.S_IWOTH:
        raise ScriptError(str(path), "may be changed by every user of this machine", f"{_TAKE_BACK} {path}")
