"""A folder that is there whole or not at all: written aside, synced, renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.protocol.files import sync_folder


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """An empty folder to write files into; when the context ends well it takes the place of ``folder``.

    Raises:
        OSError: there is no room; what was there before is left as it was.
    """
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        _sync(unfinished)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        unfinished.rename(folder)
        sync_folder(folder.parent)
    except BaseException:
        if old.exists() and not folder.exists():
            old.rename(folder)
        raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _sync(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            _sync(path)
            continue
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)
