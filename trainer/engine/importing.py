"""Importing thousands of modules without looking through them for garbage again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Within it the collector rests, and leaves alone for good what was imported.

    A training library makes a million objects that stay; to look at all of
    them over and over costs a tenth to a quarter of the import's CPU time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
