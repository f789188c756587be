"""The search service of a trainer, and its two homes.

``shared`` searches inside the trainer, ``own`` in a process that the trainer
starts.  Both make the same calls of the same library with as many threads, so
they find the same rows and scores, bit for bit.  Importing this module loads
no faiss; only a pool of the shared home does.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from trainer.recipes.search_process import Home
from trainer.retrieval.index_settings import FLAT, Index, IndexSettings
from trainer.retrieval.own_process import OwnSearch
from trainer.retrieval.portions import grow
from trainer.retrieval.ranking import Floats, Tell


class Search(Protocol):
    """Makes pools of documents that can be searched."""

    def pool(
        self, documents_MD: Floats, settings: IndexSettings = FLAT, *, tell: Tell | None = None
    ) -> AbstractContextManager[Index]:
        """A pool of unit-norm float32 documents, for as long as the context lasts.

        ``tell`` is called with the fraction of an approximate index that is built.

        Raises:
            ValueError: the pool is empty or not a float32 matrix.
        """

    def close(self) -> None:
        """Let go of everything; the next pool starts anew."""


class SharedSearch:
    """Searches in this process.

    On macOS with one thread: torch's OpenMP runtime is in the same process.
    """

    def __init__(self, *, platform: str = sys.platform) -> None:
        self._platform = platform

    @contextmanager
    def pool(
        self, documents_MD: Floats, settings: IndexSettings = FLAT, *, tell: Tell | None = None
    ) -> Iterator[Index]:
        """See :meth:`Search.pool`."""
        exact: Any = importlib.import_module("trainer.retrieval.exact")
        if self._platform == "darwin":
            exact.limit_threads(1)
        if settings.kind == "flat":
            index: Index = exact.ExactIndex(documents_MD)
            yield index
            return
        exact.check_pool(documents_MD)
        approximate: Any = importlib.import_module("trainer.retrieval.approximate")
        num_documents, length = documents_MD.shape
        grown = approximate.ApproximateIndex(settings, num_documents=num_documents, length=length)
        grow(grown, documents_MD, settings, tell=tell)
        yield grown

    def close(self) -> None:
        """Nothing is held."""


def open_search(
    home: Home, *, folder: Path | None = None, stop_if_asked: Callable[[], None] | None = None
) -> Search:
    """The search service of ``home``; cheap, an own process starts with its first pool.

    Args:
        home: see :func:`trainer.recipes.search_process.home_of_search`.
        folder: on which disk the own home hands over vectors, in files without a name; None for the
            system's temporary folder.
        stop_if_asked: called about ten times a second while an own process works; whatever it raises
            ends that process and is passed on.
    """
    if home == "shared":
        return SharedSearch()
    return OwnSearch(folder=folder, stop_if_asked=stop_if_asked)
