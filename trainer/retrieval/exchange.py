"""Arrays handed from one process to another through files without a name.

A file is made by the trainer below the run's folder, has no name (or loses it
at once), and is open in both processes: whoever dies, nothing is left behind.
Not shared memory: ``/dev/shm`` is a few MiB in many containers, and a page of
it that cannot be had kills with SIGBUS, where ``write`` says that the disk is
full.  A file of this kind is gone before most systems write it to the disk.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


def write_arrays(descriptor: int, arrays: Sequence[NDArray[Any]]) -> None:
    """Write ``arrays`` one behind the other from the file's beginning.

    Raises:
        OSError: there is no room.
    """
    offset = 0
    for array in arrays:
        left = np.ascontiguousarray(array).data.cast("B")
        while len(left):
            written = os.pwrite(descriptor, left, offset)
            offset += written
            left = left[written:]


def mapped(descriptor: int, shape: tuple[int, int], dtype: DTypeLike, *, offset: int = 0) -> NDArray[Any]:
    """The matrix that begins ``offset`` bytes into the file, not copied: it changes when the file does.

    Raises:
        ValueError: the file is shorter.
    """
    memory = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
    return np.frombuffer(memory, dtype=dtype, count=shape[0] * shape[1], offset=offset).reshape(shape)


def emptied(descriptor: int) -> None:
    """Give the file's room back."""
    os.ftruncate(descriptor, 0)
