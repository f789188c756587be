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


def loads_faiss_beside_torch(params: Mapping[str, Any], *, platform: str) -> bool:
    """Whether a trainer with these complete parameters holds faiss and torch in one process."""
    wish: Wish | None = params.get("search_process")
    return wish is not None and home_of_search(wish, platform=platform) == "shared"
