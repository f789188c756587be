"""What a run leaves to be used elsewhere: the files of its folder ``export``, one by one or as one archive.

Only regular files are listed or read, and no link is followed: a script may
have put anything there.
"""

from __future__ import annotations

import io
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from app.errors import NotFound, TooLarge
from trainer.protocol.run_folder import RunPaths

FOLDER: Final = "export"
MOST_FILES: Final = 5000
_BLOCK: Final = 1024 * 1024
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)  # the format has no earlier time
_LATEST_S: Final = 4_354_819_198.0  # and none after 2107


@dataclass(frozen=True)
class ExportedFile:
    """A file of the export; ``name`` has slashes for folders."""

    name: str
    num_bytes: int
    changed_at: float

    def to_json(self) -> dict[str, Any]:
        """``{"name", "bytes", "changed_at"}``."""
        return {"name": self.name, "bytes": self.num_bytes, "changed_at": self.changed_at}


def exported_files(paths: RunPaths) -> list[ExportedFile]:
    """All of them by name; empty where nothing was exported.

    Raises:
        TooLarge: there are over five thousand.
    """
    root = paths.root / FOLDER
    if root.is_symlink() or not root.is_dir():
        return []
    found = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = [name for name in folders if not (Path(folder) / name).is_symlink()]
        for name in names:
            path = Path(folder) / name
            try:
                facts = path.lstat()
                shown = path.relative_to(root).as_posix()
                shown.encode()
            except (OSError, UnicodeEncodeError):
                continue  # removed meanwhile, or a name that no address can hold
            if stat.S_ISREG(facts.st_mode):
                found.append(ExportedFile(shown, facts.st_size, facts.st_mtime))
        if len(found) > MOST_FILES:
            raise TooLarge(
                f"the export has over {MOST_FILES} files", hint=f"copy it from the run's folder: {root}"
            )
    return sorted(found, key=lambda file: file.name)


def open_exported(paths: RunPaths, name: str) -> tuple[IO[bytes], ExportedFile]:
    """One file, open to be read.

    Raises:
        NotFound: the export has no such file.
    """
    known = {file.name: file for file in exported_files(paths)}
    if name not in known:
        listed = ", ".join(list(known)[:10]) or "nothing has been exported yet"
        raise NotFound(f"the export has no file {name[:200]!r}", hint=f"there is: {listed}")
    return _opened(paths.root / FOLDER / name), known[name]


def archive(paths: RunPaths, *, top: str) -> Iterator[bytes]:
    """A ZIP of the whole export, made while it is read; weights hardly shrink, so nothing is compressed.

    Args:
        paths: of the run.
        top: the folder in the archive that holds everything.

    Raises:
        NotFound: nothing was exported.
    """
    files = exported_files(paths)
    if not files:
        raise NotFound("nothing has been exported yet", hint="A run writes its export when it has finished.")
    return _archived(paths, files, top)


def _archived(paths: RunPaths, files: list[ExportedFile], top: str) -> Iterator[bytes]:
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as zipped:
        for file in files:
            entry = zipfile.ZipInfo(f"{top}/{file.name}", _time_of(file.changed_at))
            entry.external_attr = 0o644 << 16
            try:
                source = _opened(paths.root / FOLDER / file.name)
            except NotFound:
                continue  # replaced by a newer export meanwhile
            with source, zipped.open(entry, "w", force_zip64=True) as target:
                while block := source.read(_BLOCK):
                    target.write(block)
                    yield pipe.taken()
            yield pipe.taken()
    yield pipe.taken()


def _opened(path: Path) -> IO[bytes]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as exc:
        raise NotFound(f"{path.name} cannot be read: {exc.strerror}") from exc
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotFound(f"{path.name} is no regular file")
    return os.fdopen(descriptor, "rb")


def _time_of(seconds: float) -> tuple[int, int, int, int, int, int]:
    when = time.gmtime(max(0.0, min(seconds, _LATEST_S)))[:6]
    return max(when, _EARLIEST)


class _Pipe(io.RawIOBase):
    """What a ZIP is written to: takes bytes until they are taken away; cannot seek."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        part = bytes(content)
        self._parts.append(part)
        return len(part)

    def taken(self) -> bytes:
        """Everything written since the last time."""
        taken, self._parts = b"".join(self._parts), []
        return taken
