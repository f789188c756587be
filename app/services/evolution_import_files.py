"""Which snapshot files of the original system lie in a folder; nothing outside of it is read."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.errors import InvalidRequest
from app.services.evolution_import_checks import BadSnapshotFile
from app.services.evolution_original import STEP_FILE, printable
from app.services.ingest_checks import MAX_STEP

MAX_FILE_BYTES: Final = 256 * 1024 * 1024
_USUAL_PLACES: Final = ("data/evolution_snapshots", "evolution_snapshots")


@dataclass
class DatasetFolder:
    """A dataset's folder: its files by step, what is wrong with it, what is left alone."""

    path: Path
    name: str
    files: dict[int, Path] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    num_others: int = 0


def dataset_folders(root: Path) -> list[DatasetFolder]:
    """The dataset folders of ``root`` by name, or ``root`` itself where it is one.

    Raises:
        InvalidRequest: it is no folder, cannot be read, or has no snapshot in it.
    """
    try:
        root = root.resolve(strict=True)
        names = sorted(path.name for path in root.iterdir())
    except (OSError, RuntimeError) as exc:  # RuntimeError: links that lead in a circle
        why = exc.strerror if isinstance(exc, OSError) else "its links lead in a circle"
        raise InvalidRequest(f"{printable(str(root), limit=300)}: {why}", field="DIR") from exc
    if any(_looks_like_step(name) for name in names):
        return [_folder(root, inside=root)]
    found = [_folder(root / name, inside=root) for name in names if (root / name).is_dir()]
    found = [one for one in found if one.files or one.problems]
    if not found:
        raise InvalidRequest(
            f"{printable(str(root), limit=300)} has no snapshot in it: "
            "neither step_NNNNNN.json nor a folder with such files.",
            field="DIR",
            hint=_place_hint(root),
        )
    return found


def read_file(path: Path) -> bytes:
    """The content of a snapshot file.

    Raises:
        BadSnapshotFile: it cannot be read, is no file, or is too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not make us wait
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise BadSnapshotFile("it is no regular file. Leave it out.")
            if status.st_size > MAX_FILE_BYTES:
                raise BadSnapshotFile(
                    f"it has {status.st_size / 2**20:,.0f} MiB, the limit is {MAX_FILE_BYTES // 2**20} MiB."
                )
            return file.read(MAX_FILE_BYTES)
    except IsADirectoryError:
        raise BadSnapshotFile("it is a folder, not a file. Leave it out.") from None
    except OSError as exc:
        raise BadSnapshotFile(f"it cannot be read: {exc.strerror}.") from exc


def _folder(path: Path, *, inside: Path) -> DatasetFolder:
    found = DatasetFolder(path, path.name)
    if not _is_inside(path, inside):
        found.problems.append("the folder is a link that leads out of the tree. Copy what it points to here.")
        return found
    try:
        names = sorted(one.name for one in path.iterdir())
    except OSError as exc:
        found.problems.append(f"the folder cannot be read: {exc.strerror}.")
        return found
    for name in names:
        if not _looks_like_step(name):
            found.num_others += 1
            continue
        try:
            _take(found, name, inside=inside)
        except BadSnapshotFile as exc:
            found.problems.append(f"{printable(name)}: {exc}")
    return found


def _take(found: DatasetFolder, name: str, *, inside: Path) -> None:
    match = STEP_FILE.fullmatch(name)
    if match is None or int(match[1]) > MAX_STEP:
        raise BadSnapshotFile(
            f"the name tells no step from 0 to {MAX_STEP}. Call it step_NNNNNN.json, or leave it out."
        )
    path, step = found.path / name, int(match[1])
    if not _is_inside(path, inside):
        raise BadSnapshotFile("it is a link that leads out of the tree, or nowhere. Copy the file here.")
    if step in found.files:
        raise BadSnapshotFile(f"{found.files[step].name} is of step {step}, too. Keep one of them.")
    found.files[step] = path


def _looks_like_step(name: str) -> bool:
    return name.startswith("step_") and name.endswith(".json")


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _place_hint(root: Path) -> str:
    near = next((root / place for place in _USUAL_PLACES if (root / place).is_dir()), None)
    if near is not None:
        return f"There is {printable(str(near), limit=300)}: import that."
    return "Name the folder evolution_snapshots of the original, or one dataset's folder in it."
