"""Checkpoints that are whole or absent: written aside, synced, hashed, renamed; verified before use.

``step_000500.pt`` holds tensors and plain types only, so it loads with
``weights_only=True``. ``step_000500.json`` is its manifest; a file without a
manifest is not a checkpoint. The manifest is written last and removed first.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, Final, cast

import torch
from torch import Tensor

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import decode_number, encode_number
from trainer.protocol.files import read_object, sync_folder, write_atomic
from trainer.protocol.run_folder import RunPaths

RESERVE_BYTES: Final = 16 * 1024 * 1024  # left free beside a checkpoint, for the spool and the logs
_READ_BYTES: Final = 4 * 1024 * 1024


class CheckpointError(Exception):
    """A checkpoint cannot be written or read; the message says which and what to do."""


class NotEnoughSpace(CheckpointError):
    """There is no room for the checkpoint; the earlier ones are untouched."""


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint is: its name, size, hash and place in the run. Times are Unix seconds."""

    file: str
    bytes: int
    sha256: str
    step: int
    epoch: int
    metrics: dict[str, float]
    reason: str
    created_at: float
    best: bool


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
        _manifest_path(path).unlink(missing_ok=True)  # of an attempt that got here before
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    manifest = Manifest(path.name, num_bytes, sha256, step, epoch, dict(metrics), reason, time.time(), best)
    _write_manifest(paths, manifest)
    return manifest


def manifests(paths: RunPaths) -> list[Manifest]:
    """All checkpoints that claim to be whole, oldest step first; unreadable manifests are left out."""
    found = []
    for path in sorted(paths.checkpoints.glob("step_*.json")):
        try:
            found.append(_read_manifest(path))
        except (ProtocolError, TypeError):
            continue
    return sorted(found, key=lambda manifest: manifest.step)


def problem_with(paths: RunPaths, manifest: Manifest) -> str | None:
    """Why the checkpoint cannot be trusted, or None when every byte is as it was written."""
    path = paths.checkpoints / manifest.file
    try:
        num_bytes = path.stat().st_size
        if num_bytes != manifest.bytes:
            return f"has {num_bytes} bytes instead of {manifest.bytes}"
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    except OSError as exc:
        return f"cannot be read: {exc.strerror}"
    return None if digest.hexdigest() == manifest.sha256 else "has other content than was written (sha256)"


def newest_verified(
    paths: RunPaths, *, on_damage: Callable[[Manifest, str], None] | None = None
) -> Path | None:
    """The newest checkpoint whose every byte is as written, or None.

    Each newer one that is damaged is told to ``on_damage`` with the reason and
    set aside under the suffix ``.damaged``, so that it is never tried again.
    """
    for manifest in reversed(manifests(paths)):
        problem = problem_with(paths, manifest)
        if problem is None:
            return paths.checkpoints / manifest.file
        _set_aside(paths.checkpoints / manifest.file)
        if on_damage is not None:
            on_damage(manifest, problem)
    return None


def load(path: Path) -> dict[str, Any]:
    """Read a checkpoint to the CPU without running any code from it.

    Raises:
        CheckpointError: torch cannot read it.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
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


def mark(paths: RunPaths, manifest: Manifest, *, best: bool) -> Manifest:
    """Say anew whether a checkpoint is the best one."""
    changed = replace(manifest, best=best)
    _write_manifest(paths, changed)
    return changed


def prune(paths: RunPaths, *, keep: int) -> None:
    """Remove all but the newest ``keep`` (at least one) and the newest that is marked best.

    Older ones that were the best once lose the mark. Leftovers of interrupted
    writes go too.
    """
    existing = manifests(paths)
    best = next((manifest for manifest in reversed(existing) if manifest.best), None)
    newest = existing[-max(1, keep) :]
    for manifest in existing:
        if manifest in newest or manifest is best:
            if manifest.best and manifest is not best:
                mark(paths, manifest, best=False)
            continue
        path = paths.checkpoints / manifest.file
        _manifest_path(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    for leftover in paths.checkpoints.glob(".step_*.tmp"):
        leftover.unlink(missing_ok=True)
    for path in paths.checkpoints.glob("step_*.pt"):
        if not _manifest_path(path).exists():
            path.unlink(missing_ok=True)


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
    return NotEnoughSpace(
        f"{path.parent}: {error.strerror} while writing a checkpoint. Free space there and resume the run;"
        " the earlier checkpoints are untouched."
    )


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


def _manifest_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _write_manifest(paths: RunPaths, manifest: Manifest) -> None:
    fields = asdict(manifest)
    fields["metrics"] = {name: encode_number(value) for name, value in manifest.metrics.items()}
    path = _manifest_path(paths.checkpoints / manifest.file)
    try:
        write_atomic(path, json.dumps(fields, indent=2).encode())
    except OSError as exc:
        raise _write_failure(path, exc) from exc


def _read_manifest(path: Path) -> Manifest:
    fields = read_object(path)
    fields["metrics"] = {name: decode_number(value) for name, value in fields.get("metrics", {}).items()}
    return Manifest(**fields)


def _set_aside(path: Path) -> None:
    for damaged in (_manifest_path(path), path):
        if damaged.exists():
            damaged.replace(damaged.with_name(f"{damaged.name}.damaged"))


def is_finite(state: Mapping[str, Tensor]) -> bool:
    """Whether every floating-point tensor of a module's state holds finite numbers only."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in state.values() if tensor.is_floating_point())
