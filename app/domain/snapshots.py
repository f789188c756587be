"""A snapshot as it comes from a trainer: what a model answered to fixed probes at one step.

Only the standard library may be imported here.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

IMPORTED: Final = "imported"  # the task of snapshots that came from the original system's files


@dataclass(frozen=True)
class PackedVectors:
    """Where the model places the probes: rows of ``dim`` little-endian half floats, all finite."""

    dim: int
    packed: bytes


@dataclass(frozen=True)
class SnapshotRecord:
    """A checked snapshot.

    ``columns`` hold one float64 per probe (NaN where undefined), ``outputs`` one object per probe.
    ``examples`` are the probes themselves, or None when this file leaves them to an earlier one;
    ``documents`` are ``{id: (title, text)}``. ``t`` is Unix seconds, ``cost_s`` seconds.
    """

    dataset: str
    task: str
    attempt: int | None
    step: int
    epoch: float | None
    t: float
    model_version: str
    cost_s: float | None
    probe_set: str
    examples: list[dict[str, Any]] | None
    columns: dict[str, array[float]]
    outputs: list[dict[str, Any]]
    documents: dict[str, tuple[str, str]]
    summary: dict[str, Any]
    vectors: PackedVectors | None = None


def plain_name(dataset: str) -> str:
    """The name a dataset goes by in addresses: a path's file stem, any other name as it is."""
    return PurePath(dataset).stem if "/" in dataset or "\\" in dataset else dataset


def name_trouble(name: str) -> str | None:
    """Why no dataset can go by ``name``, None where one can: it is one part of an address, between slashes.

    Servers see ``%2F`` as a slash, so that a name with one would be another dataset's page; browsers
    resolve ``.`` and ``..`` before they ask.
    """
    if not name.strip():
        return "must not be empty"
    if "/" in name:
        return "must not hold a slash, which parts addresses"
    if name in (".", ".."):
        return f"must not be {name}, which no browser can ask for"
    return None
