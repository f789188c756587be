"""Looks over NPZ files by their headers, within bounds; nothing is unpickled, nothing unpacked whole."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from trainer.datasets import vectors
from trainer.datasets.files import unreadable
from trainer.datasets.npz_arrays import read_header
from trainer.datasets.records import DatasetError

ENDING: Final = ".npz"
MAX_MEMBERS: Final = 200
PREVIEW_ROWS: Final = 10
MAX_RATIO: Final = 500  # zlib packs equal bytes to a thousandth; vectors never pack like that
FREE_BYTES: Final = 16 * 1024 * 1024  # that little may unpack from anything
_BROKEN: Final = (
    ValueError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
)


def describe(path: Path) -> list[dict[str, Any]]:
    """Name, shape and type of each array of ``path``.

    Raises:
        DatasetError: it is no NPZ file, holds too much, or Python objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MAX_MEMBERS:
                raise DatasetError(f"{path}: holds {len(members):,} arrays, {MAX_MEMBERS} are allowed")
            return [_described(path, archive, member) for member in members]
    except OSError as exc:
        raise unreadable(path, exc) from exc
    except _BROKEN as exc:
        if isinstance(exc, DatasetError):
            raise
        raise DatasetError(f"{path}: is not a readable NPZ file ({exc})") from exc


def _described(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> dict[str, Any]:
    name = member.filename.removesuffix(".npy")
    if member.file_size > max(FREE_BYTES, MAX_RATIO * member.compress_size):
        claim = f"{member.compress_size:,} bytes that unpack to {member.file_size:,}"
        raise DatasetError(f"{path}, {name}: holds {claim}, which no array of numbers does; refused")
    with archive.open(member) as file:
        shape, _, dtype = read_header(file)
    if dtype.hasobject:
        raise DatasetError(f"{path}, {name}: holds Python objects, which are never loaded; save plain arrays")
    words = f"{dtype} [{', '.join(map(str, shape))}]"
    return {"name": name, "type": words, "filled_share": 1.0, "examples": [], "shape": [*map(int, shape)]}


def preview(path: Path, columns: Mapping[str, str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The first rows in words, and figures of all of them.

    Raises:
        DatasetError: names array and row of what is wrong in the headers or the first rows.
    """
    head = vectors.read_head(path, num_rows=PREVIEW_ROWS, columns=columns)
    first = head.first
    rows = [
        {
            "line": row,
            "cells": {
                "query_vectors": _vector(first.query_vectors[row].reshape(-1)),
                "document_vectors": _vector(first.document_vectors[row]),
                **{role: labels[row] for role, labels in head.labels.items()},
            },
        }
        for row in range(len(first.ids))
    ]
    groups = head.labels.get("groups")
    figures = {
        "rows": head.query_shape[0],
        "vectors": {"query": list(head.query_shape[1:]), "document": list(head.document_shape[1:])},
        "groups": None if groups is None else len(set(groups)),
        "lengths": {},
        "empty": {},
        "duplicates": {},
    }
    return rows, figures


def _vector(values: np.ndarray[Any, Any]) -> str:
    some = ", ".join(f"{value:.3g}" for value in values[:6])
    return f"[{some}{', …' if len(values) > 6 else ''}]"
