"""Lines from standard input, read without Python's buffers.

A thread that waits inside those when the interpreter ends makes it abort.
"""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable, Iterator
from typing import Final

_LOOK_EVERY_S: Final = 1.0


def lines_from(descriptor: int, *, is_wanted: Callable[[], bool]) -> Iterator[bytes]:
    """Every whole line until the input ends, or until nobody wants any; asked about once a second."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        rest = b""
        while is_wanted():
            if not selector.select(_LOOK_EVERY_S):
                continue
            received = os.read(descriptor, 65_536)
            if not received:
                return
            *lines, rest = (rest + received).split(b"\n")
            yield from lines
