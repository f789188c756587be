"""What is installed beside us, without importing it."""

from __future__ import annotations

import importlib.metadata
import re


def torch_version() -> str | None:
    """The version of the installed torch, e.g. ``2.13.0+cpu``; None where there is none."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def release_of(version: str | None) -> tuple[int, int] | None:
    """Major and minor number of a version; None where it has none."""
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else None
