"""The list of a run's checkpoints: manifests, verification, retention. Loads no torch.

``step_000500.json`` beside ``step_000500.pt`` says what the checkpoint is and
what its bytes hash to. A file without a manifest is not a checkpoint: the
manifest is written last and removed first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import decode_number, encode_number
from trainer.protocol.files import read_object, write_atomic
from trainer.protocol.run_folder import RunPaths

_READ_BYTES: Final = 4 * 1024 * 1024


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


def mark(paths: RunPaths, manifest: Manifest, *, best: bool) -> Manifest:
    """Say anew whether a checkpoint is the best one."""
    changed = replace(manifest, best=best)
    write_manifest(paths, changed)
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
        manifest_path(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
    for leftover in paths.checkpoints.glob(".step_*.tmp"):
        leftover.unlink(missing_ok=True)
    for path in paths.checkpoints.glob("step_*.pt"):
        if not manifest_path(path).exists():
            path.unlink(missing_ok=True)


def write_manifest(paths: RunPaths, manifest: Manifest) -> None:
    """Declare a checkpoint whole; atomic and synced.

    Raises:
        OSError: the disk refuses.
    """
    fields = asdict(manifest)
    fields["metrics"] = {name: encode_number(value) for name, value in manifest.metrics.items()}
    path = manifest_path(paths.checkpoints / manifest.file)
    write_atomic(path, json.dumps(fields, indent=2).encode())


def manifest_path(path: Path) -> Path:
    """Where the manifest of a checkpoint file lies."""
    return path.with_suffix(".json")


def _read_manifest(path: Path) -> Manifest:
    fields = read_object(path)
    fields["metrics"] = {name: decode_number(value) for name, value in fields.get("metrics", {}).items()}
    return Manifest(**fields)


def _set_aside(path: Path) -> None:
    for damaged in (manifest_path(path), path):
        if damaged.exists():
            damaged.replace(damaged.with_name(f"{damaged.name}.damaged"))
