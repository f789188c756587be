"""What is installed beside us, without importing it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path


def torch_version() -> str | None:
    """The version of the installed torch, e.g. ``2.13.0+cpu``; None where there is none, or it does not say.

    Read from its own file: the machinery for metadata would cost a supervisor a megabyte.
    """
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return None
    try:
        text = (Path(found.origin).parent / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    version = re.search(r"__version__\s*=\s*['\"]([^'\"]+)['\"]", text)
    return version[1] if version else None


def release_of(version: str | None) -> tuple[int, int] | None:
    """Major and minor number of a version; None where it has none."""
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else None
