"""Where a recipe's searches run: in the trainer, or in a process of their own.

torch and faiss each bring an OpenMP runtime.  On macOS both are LLVM's, and
two copies of that in one process abort, or give silently wrong results once
the check is silenced; on Linux both are GNU's, which live together.

A recipe that searches has a parameter ``search_process`` of type :data:`Wish`;
one that has none does not load faiss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Wish = Literal["auto", "own", "shared"]
Home = Literal["own", "shared"]


def home_of_search(wish: Wish, *, platform: str) -> Home:
    """Where to search on ``platform`` (``sys.platform``); ``auto`` keeps clashing runtimes apart."""
    if wish == "auto":
        return "own" if platform == "darwin" else "shared"
    return wish


def isolated(params: Mapping[str, Any], *, profile: str) -> dict[str, Any]:
    """Complete parameters as a trainer of ``profile`` takes them.

    The profile ``safe`` isolates all it can: who leaves the choice to us searches in a process of its own.
    """
    if profile == "safe" and params.get("search_process") == "auto":
        return {**params, "search_process": "own"}
    return dict(params)


def loads_faiss_beside_torch(params: Mapping[str, Any], *, platform: str, profile: str = "auto") -> bool:
    """Whether a trainer with these complete parameters holds faiss and torch in one process."""
    params = isolated(params, profile=profile)
    wish: Wish | None = params.get("search_process")
    return wish is not None and home_of_search(wish, platform=platform) == "shared"
