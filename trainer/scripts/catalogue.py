"""All registered scripts of an instance, and what is wrong with those that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer.scripts.declaration import FILE_NAME, Script, ScriptError
from trainer.scripts.reading import NAME, load_script

FOLDER: Final = "scripts"
MAX_LISTED: Final = 500


@dataclass(frozen=True)
class Registered:
    """One folder of scripts: usable, or with its trouble; exactly one of the two is set."""

    name: str
    script: Script | None = None
    trouble: ScriptError | None = None


def scripts_folder(instance: Path) -> Path:
    """Where the scripts of an instance are registered."""
    return instance / FOLDER


def registered(folder: Path) -> Sequence[Registered]:
    """Every script below ``folder`` by name; empty where there is no such folder; hidden ones are not."""
    try:
        names = sorted(one.name for one in folder.iterdir() if not one.name.startswith((".", "_")))
    except OSError:
        return ()
    return [_look(folder / name) for name in names[:MAX_LISTED] if _may_be_meant(folder / name)]


def find_script(folder: Path, name: str) -> Script:
    """The script ``name`` registered below ``folder``.

    Raises:
        ScriptError: there is none, or it cannot be used.
    """
    if not NAME.fullmatch(name):
        raise ScriptError(repr(name)[:80], "is no name of a script", "choose one that is listed")
    if not (folder / name).is_dir():
        known = ", ".join(one.name for one in registered(folder) if one.script is not None) or "none"
        raise ScriptError(
            name, "is not registered", f"there is {known}; scripts are folders with a {FILE_NAME} in {folder}"
        )
    return load_script(folder / name)


def _may_be_meant(folder: Path) -> bool:
    """Whether somebody probably wanted to register this; a stray file is nobody's script."""
    return folder.is_dir() or folder.is_symlink()


def _look(folder: Path) -> Registered:
    try:
        return Registered(folder.name, script=load_script(folder))
    except ScriptError as exc:
        return Registered(folder.name, trouble=exc)
