"""Files that survive crashes: atomic writes, JSON objects read with clear errors, files beside a dataset."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from trainer.protocol.errors import ProtocolError


def write_atomic(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write ``content`` so that after any crash ``path`` holds the old or the new bytes, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames inside ``folder`` survive a power cut (no-op where folders cannot be synced)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some file systems refuse; the data itself is synced
    finally:
        os.close(descriptor)


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        ProtocolError: the file is missing, not JSON, or holds something else than an object.
    """
    try:
        value = json.loads(path.read_bytes())
    except OSError as exc:
        raise ProtocolError(f"{path}: {exc.strerror}") from exc
    except ValueError as exc:
        raise ProtocolError(f"{path}: not JSON ({exc})") from exc
    if not isinstance(value, dict):
        raise ProtocolError(f"{path}: must hold a JSON object")
    return value


def beside(dataset: str, name: str, *, datasets_dir: Path) -> Path:
    """The path of ``name`` in the folder of ``dataset``, of a built-in one in ``datasets_dir``.

    Raises:
        ProtocolError: it lies, links followed, in another folder.
    """
    folder = (Path(dataset).parent if Path(dataset).suffix else datasets_dir).resolve()
    path = folder / name
    if not path.resolve().is_relative_to(folder):
        raise ProtocolError(f"{path}: leads out of the dataset's folder {folder}; copy the file into it")
    return path
