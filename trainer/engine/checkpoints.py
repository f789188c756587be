"""Checkpoints that are whole or absent: written aside, synced, hashed, renamed, then declared whole.

``step_000500.pt`` holds tensors and plain types only, so it loads with
``weights_only=True``; its manifest (see ``trainer.engine.manifests``) is
written last.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, Final, cast

import torch
from torch import Tensor

from trainer.engine.manifests import (
    Manifest,
    manifest_path,
    manifests,
    newest_verified,
    problem_with,
    prune,
    write_manifest,
)
from trainer.protocol.files import sync_folder
from trainer.protocol.run_folder import RunPaths

__all__ = [
    "CheckpointError",
    "Manifest",
    "NotEnoughSpace",
    "is_finite",
    "load",
    "manifests",
    "newest_verified",
    "problem_with",
    "prune",
    "write",
]

RESERVE_BYTES: Final = 16 * 1024 * 1024  # left free beside a checkpoint, for the spool and the logs
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CheckpointError(Exception):
    """A checkpoint cannot be written or read; the message says which and what to do."""


class NotEnoughSpace(CheckpointError):
    """There is no room for the checkpoint; the earlier ones are untouched."""


def write(
    paths: RunPaths,
    state: Mapping[str, Any],
    *,
    step: int,
    epoch: int,
    metrics: Mapping[str, float],
    reason: str,
    best: bool,
) -> Manifest:
    """Write ``state`` as the checkpoint of ``step``; when this returns it survives a power cut.

    Raises:
        NotEnoughSpace: the disk is full or nearly so.
        CheckpointError: ``state`` holds something else than tensors and plain types.
        OSError: the disk refuses for another reason.
    """
    num_bytes = _weigh(state, "checkpoint")
    path = paths.checkpoints / f"step_{step:06d}.pt"
    paths.checkpoints.mkdir(parents=True, exist_ok=True)
    _check_space(path, num_bytes)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        sha256, num_bytes = _save_synced(state, temporary)
        manifest_path(path).unlink(missing_ok=True)  # of an attempt that got here before
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    manifest = Manifest(path.name, num_bytes, sha256, step, epoch, dict(metrics), reason, time.time(), best)
    try:
        write_manifest(paths, manifest)
    except OSError as exc:
        raise _write_failure(path, exc) from exc
    return manifest


def load(path: Path, *, is_mapped: bool = False) -> dict[str, Any]:
    """Read a checkpoint to the CPU without running any code from it.

    With ``is_mapped`` its tensors stay on the disk until they are looked at.

    Raises:
        CheckpointError: torch cannot read it.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=is_mapped)
    except UnpicklingError:  # torch's own message recommends to load it unsafely
        raise CheckpointError(
            f"{path}: holds more than tensors and plain types, so loading it could run foreign code."
            " Remove it to resume from the one before, or start a new run."
        ) from None
    except (RuntimeError, OSError, EOFError, ValueError) as exc:
        raise CheckpointError(
            f"{path}: {exc}. Remove it to resume from the one before, or start a new run."
        ) from exc
    if not isinstance(state, dict):
        raise CheckpointError(f"{path}: holds a {type(state).__name__}, not a checkpoint of this program")
    return state


class _HashingFile(io.RawIOBase):
    """Passes bytes on to a file and hashes them on the way, so nothing is read back."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.sha256 = hashlib.sha256()
        self.num_bytes = 0
        self.error: OSError | None = None
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        view = memoryview(content).cast("B")
        try:
            written = 0
            while written < len(view):
                written += os.write(self._descriptor, view[written:])
        except OSError as exc:
            self.error = exc  # torch turns it into a message without the cause
            raise
        self.sha256.update(view)
        self.num_bytes += len(view)
        return len(view)


def _save_synced(state: Mapping[str, Any], path: Path) -> tuple[str, int]:
    """``(sha256, bytes)`` of the synced file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        file = _HashingFile(descriptor)
        try:
            torch.save(dict(state), cast(IO[bytes], file))
        except (OSError, RuntimeError) as exc:
            if file.error is not None:
                raise _write_failure(path, file.error) from exc
            raise
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return file.sha256.hexdigest(), file.num_bytes


def _write_failure(path: Path, error: OSError) -> Exception:
    if error.errno in _FULL:
        return NotEnoughSpace(
            f"{path.parent}: {error.strerror} while writing a checkpoint. Free space there and resume the"
            " run; the earlier checkpoints are untouched."
        )
    return CheckpointError(f"{path.parent}: {error.strerror} while writing a checkpoint.")


def _check_space(path: Path, num_bytes: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if free < num_bytes + RESERVE_BYTES:
        raise NotEnoughSpace(
            f"{path.parent}: No space left on device for the checkpoint {path.name}: it needs"
            f" {num_bytes / 1e6:.0f} MB and {free / 1e6:.0f} MB are free. Free space there or keep fewer"
            " checkpoints, then resume the run; the earlier checkpoints are untouched."
        )


def _weigh(value: Any, where: str) -> int:
    """Bytes of all tensors in ``value``.

    Raises:
        CheckpointError: names the entry that ``weights_only`` could not load.
    """
    if type(value) is Tensor or isinstance(value, torch.nn.Parameter):
        return value.nbytes
    if type(value) in (dict, OrderedDict):
        return sum(_weigh(entry, f"{where}[{key!r}]") for key, entry in value.items())
    if type(value) in (list, tuple, torch.Size):
        return sum(_weigh(entry, f"{where}[{index}]") for index, entry in enumerate(value))
    if value is None or type(value) in (bool, int, float, str, bytes):
        return 0
    raise CheckpointError(
        f"{where} is a {type(value).__name__}; checkpoints hold tensors and plain types only"
    )


def is_finite(state: Mapping[str, Tensor]) -> bool:
    """Whether every floating-point tensor of a module's state holds finite numbers only."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in state.values() if tensor.is_floating_point())
