"""Files on their way in: streamed to disk, bounded, and kept under an id until they get a name.

Nothing of them is parsed here.  What nobody has given a name within a day is
removed when the next file comes.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from app.config import Settings
from app.errors import InvalidRequest, NotFound, TooLarge, Unavailable
from app.services.datasets import UPLOADS
from app.services.inbox_files import safe_name
from trainer.datasets.kinds.registry import endings_of, kinds

BLOCK_BYTES: Final = 1024 * 1024
SPARE_BYTES: Final = 512 * 1024 * 1024  # of the disk, which stay for the runs
KEPT_S: Final = 24 * 3600.0
MAX_WAITING: Final = 50
_ID: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Upload:
    """A file that has come in and has no name on the shelf yet."""

    id: str
    path: Path
    num_bytes: int


class Uploads:
    """The folder of files that have come in."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.datasets_dir / UPLOADS
        self.max_bytes = settings.max_upload_mib * 1024 * 1024

    def receive(self, name: str, stream: IO[bytes], *, length: int | None) -> Upload:
        """Store what ``stream`` brings under a harmless form of ``name``.

        Args:
            name: the file's name where it came from; its ending says how it is read.
            stream: read to its end.
            length: bytes that were announced; None where nothing was.

        Raises:
            InvalidRequest: the ending is unknown, or nothing came.
            TooLarge: more than ``Settings.max_upload_mib``.
            Unavailable: the disk is nearly full, or too many files wait for a name.
        """
        stem, ending = safe_name(name.encode("utf-8", "replace"))
        known = endings_of(kinds())
        if ending not in known:
            raise InvalidRequest(
                f"{name!r} has an unknown ending", field="name", hint=f"known endings: {', '.join(known)}"
            )
        if length is not None and length > self.max_bytes:
            raise self._too_large()
        self._make_room(length or 0)
        upload_id = secrets.token_hex(16)
        home = self._folder / upload_id
        home.mkdir(parents=True, mode=0o700)
        path = home / f"{stem}{ending}"
        try:
            num_bytes = self._write(path, stream)
        except BaseException:
            shutil.rmtree(home, ignore_errors=True)
            raise
        return Upload(upload_id, path, num_bytes)

    def find(self, upload_id: str) -> Upload:
        """The file with this id.

        Raises:
            NotFound: there is none; it may have been given a name, or been removed after a day.
        """
        files = list(self._files(upload_id)) if _ID.fullmatch(upload_id) else []
        if len(files) != 1:
            raise NotFound("This upload is no longer there.", hint="Upload the file again.")
        return Upload(upload_id, files[0], files[0].lstat().st_size)

    def forget(self, upload_id: str) -> None:
        """Remove what is left of an upload; harmless when nothing is."""
        if _ID.fullmatch(upload_id):
            shutil.rmtree(self._folder / upload_id, ignore_errors=True)

    def _files(self, upload_id: str) -> Iterator[Path]:
        home = self._folder / upload_id
        if home.is_dir() and not home.is_symlink():
            yield from (path for path in home.iterdir() if path.is_file() and not path.is_symlink())

    def _write(self, path: Path, stream: IO[bytes]) -> int:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        num_bytes = 0
        with os.fdopen(descriptor, "wb") as file:
            while block := stream.read(BLOCK_BYTES):
                num_bytes += len(block)
                if num_bytes > self.max_bytes:
                    raise self._too_large()
                try:
                    file.write(block)
                except OSError as exc:
                    raise Unavailable(
                        f"The file cannot be stored: {exc.strerror}.", hint="Make room on the disk."
                    ) from exc
            file.flush()
            os.fsync(file.fileno())
        if num_bytes == 0:
            raise InvalidRequest("the file is empty", field="body", hint="send the bytes of the file")
        return num_bytes

    def _make_room(self, wanted: int) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        now = time.time()
        waiting = 0
        for home in list(self._folder.iterdir()):
            if now - home.lstat().st_mtime > KEPT_S:
                shutil.rmtree(home, ignore_errors=True)
            else:
                waiting += 1
        if waiting >= MAX_WAITING:
            raise Unavailable(f"{waiting} uploads wait for a name.", hint="Register or cancel some of them.")
        if shutil.disk_usage(self._folder).free < wanted + SPARE_BYTES:
            raise Unavailable("The disk has no room for this file.", hint="Make room on the disk.")

    def _too_large(self) -> TooLarge:
        allowed = self.max_bytes // 2**20
        hint = "Put it into a dataset folder instead, or raise SIGNALBOX_MAX_UPLOAD_MIB."
        return TooLarge(f"the file may have at most {allowed:,} MiB", hint=hint)
