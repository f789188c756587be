"""Registered datasets on disk, as both sides see them: names, versions, and what was found in each.

``DATASETS_DIR/registered/NAME/0001/version.json``, and beside it the file
where it was uploaded or copied; a file that stays where it is is named by its
path.  A version never changes once it is there: it is written aside and
renamed into its number, so of two writers each gets a number of his own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object, sync_folder, write_atomic

SHELF: Final = "registered"
MANIFEST: Final = "version.json"
MAX_VERSIONS: Final = 9999
NAME_RULE: Final = (
    "a name has 1 to 64 small letters, digits, dots, dashes and underscores, a letter or digit first"
)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_NUMBER: Final = re.compile(r"[0-9]{4}")
_ASIDE: Final = ".new-"


class ShelfError(ValueError):
    """A dataset cannot be found or registered under this name; the message says why."""


@dataclass(frozen=True)
class DatasetVersion:
    """One state of a registered dataset.

    Attributes:
        name: of the dataset; ``version`` counts from 1.
        kind: see ``trainer.datasets.kinds``.
        path: where the file lies, absolute.
        columns: role -> column of the file.
        num_bytes: with ``mtime_ns``: what the file looked like when it was read.
        sha256: of its bytes.
        content_hash: of what training sees of it; equal for equal rows, whatever the columns are called.
        is_copy: whether the file belongs to the shelf and goes with the dataset.
        facts: columns, statistics and first rows, as the inspection found them.
    """

    name: str
    version: int
    kind: str
    path: str
    columns: dict[str, str]
    num_rows: int
    num_bytes: int
    mtime_ns: int
    sha256: str
    content_hash: str
    is_copy: bool
    created_at: float
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """``NAME@VERSION``, which names this version for good."""
        return f"{self.name}@{self.version}"

    def to_json(self) -> dict[str, Any]:
        """Everything but the facts, with ``dataset`` (the label) and ``trouble``."""
        told = {name: value for name, value in vars(self).items() if name != "facts"}
        return {"dataset": self.label, **told, "trouble": self.trouble()}

    def trouble(self) -> str | None:
        """Why the file is no longer what it was when it was read; None while it looks the same."""
        try:
            found = Path(self.path).stat()
        except (OSError, ValueError):
            return "the file is gone"
        if (found.st_size, found.st_mtime_ns) != (self.num_bytes, self.mtime_ns):
            return "the file has changed since"
        return None


def version_of(name: str, report: Mapping[str, Any]) -> DatasetVersion:
    """A version of ``name`` as an inspection has found it; its number is given when it is added.

    Raises:
        ShelfError: the inspection says that it cannot be trained on.
    """
    check: Mapping[str, Any] = report["check"]
    if not check["ok"] or "content_hash" not in check:
        raise ShelfError(str(check.get("error") or "only its first rows were looked at"))
    shown = ("format", "columns", "statistics", "preview")
    return DatasetVersion(
        name=name,
        version=0,
        kind=report["kind"],
        path=report["path"],
        columns=dict(report["mapping"]),
        num_rows=check["num_rows"],
        num_bytes=report["num_bytes"],
        mtime_ns=report["mtime_ns"],
        sha256=report["sha256"],
        content_hash=check["content_hash"],
        is_copy=False,
        created_at=time.time(),
        facts={fact: report[fact] for fact in shown} | {"groups": check["num_groups"]},
    )


def check_name(name: str) -> None:
    """Raise :class:`ShelfError` where ``name`` is no name for a dataset."""
    if _NAME.fullmatch(name) is None:
        raise ShelfError(f"{name!r}: {NAME_RULE}")


def names(datasets_dir: Path) -> list[str]:
    """The names of all registered datasets, sorted."""
    try:
        with os.scandir(datasets_dir / SHELF) as entries:
            found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(name for name in found if _NAME.fullmatch(name) and versions(datasets_dir, name))


def versions(datasets_dir: Path, name: str) -> list[DatasetVersion]:
    """The versions of ``name``, oldest first; unreadable ones are left out, none for an unknown name."""
    if _NAME.fullmatch(name) is None:
        return []
    found = (_load(folder) for folder in _folders(datasets_dir / SHELF / name))
    return [version for version in found if version is not None and version.name == name]


def find(datasets_dir: Path, wanted: str) -> DatasetVersion | None:
    """The version called ``NAME@VERSION``, or the newest of ``NAME``; None where there is none."""
    name, _, number = wanted.partition("@")
    there = versions(datasets_dir, name)
    if "@" not in wanted:
        return there[-1] if there else None
    return next((one for one in there if str(one.version) == number), None)


def add(datasets_dir: Path, version: DatasetVersion, *, take: Path | None = None) -> DatasetVersion:
    """Put ``version`` on the shelf under the next free number; the same content again adds nothing.

    Args:
        datasets_dir: where the shelf is.
        version: everything but its number, which is ignored.
        take: a file on the same file system that moves to the shelf; None leaves the file at its path.

    Returns:
        The version as it is stored; an earlier one if nothing has changed.

    Raises:
        ShelfError: the name is none, or is that of a dataset of another kind.
        OSError: the disk is full, or the like; nothing is left behind.
    """
    check_name(version.name)
    home = datasets_dir / SHELF / version.name
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        newest = next(iter(versions(datasets_dir, version.name)[::-1]), None)
        if newest is not None and newest.kind != version.kind:
            raise ShelfError(
                f"{version.name} is a dataset of {newest.kind}, not {version.kind}; choose another name"
            )
        if newest is not None and _is_same(newest, version):
            return newest
        taken = [int(folder.name) for folder in _folders(home)]
        number = max(taken, default=0) + 1
        if number > MAX_VERSIONS:
            raise ShelfError(f"{version.name} has {MAX_VERSIONS} versions; choose another name")
        numbered = replace(version, version=number, created_at=time.time())
        stored = _store(home, numbered, take)
        if stored is not None:
            return stored


def discard(datasets_dir: Path, name: str, *, trash: Path) -> Path:
    """Move a dataset with all its versions and copies to ``trash``; files elsewhere stay. Where it went.

    Raises:
        ShelfError: there is none of this name.
        OSError: it cannot be moved.
    """
    check_name(name)
    home = datasets_dir / SHELF / name
    if not home.is_dir():
        raise ShelfError(f"there is no dataset {name!r}")
    trash.mkdir(parents=True, exist_ok=True, mode=0o700)
    goal = trash / f"dataset-{name}-{time.time_ns()}"
    home.rename(goal)
    return goal


def _is_same(one: DatasetVersion, other: DatasetVersion) -> bool:
    """Whether registering ``other`` after ``one`` would tell nothing new."""
    is_same_place = one.is_copy == other.is_copy and (one.is_copy or one.path == other.path)
    same = (one.sha256, one.columns, one.content_hash) == (other.sha256, other.columns, other.content_hash)
    return same and is_same_place and one.trouble() is None


def _store(home: Path, version: DatasetVersion, take: Path | None) -> DatasetVersion | None:
    """Write aside and rename; None when somebody else took the number."""
    goal, aside = home / f"{version.version:04d}", home / f"{_ASIDE}{secrets.token_hex(8)}"
    aside.mkdir(mode=0o700)
    inside = aside / f"{version.name}{Path(version.path).suffix.lower()}"
    try:
        if take is not None:
            take.rename(inside)
            version = replace(version, path=str(goal / inside.name), is_copy=True)
        written = {**asdict(version), "path": inside.name if take is not None else version.path}
        write_atomic(aside / MANIFEST, json.dumps(written, indent=1).encode())
        try:
            aside.rename(goal)
        except OSError:
            if not goal.exists():
                raise
            if take is not None:
                inside.rename(take)
            return None
    finally:
        if aside.exists():
            if take is not None and inside.exists():
                inside.rename(take)
            shutil.rmtree(aside, ignore_errors=True)
    sync_folder(home)
    return version


def _folders(home: Path) -> list[Path]:
    try:
        return sorted(folder for folder in home.iterdir() if _NUMBER.fullmatch(folder.name))
    except OSError:
        return []


def _load(folder: Path) -> DatasetVersion | None:
    try:
        fields: Mapping[str, Any] = read_object(folder / MANIFEST)
        version = DatasetVersion(**fields)
    except (ProtocolError, TypeError):
        return None
    if version.is_copy:  # beside the manifest, wherever the instance is now
        return replace(version, path=str(folder.resolve() / Path(version.path).name))
    return version
