"""Finds an LLVM (or Intel, which is the same) OpenMP runtime on this machine.

The wheels of torch and faiss for Linux bring GNU's, which tolerates a twin; only
LLVM's ends the process with ``OMP: Error #15``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

WHERE_TO_GET_ONE = (
    "no LLVM OpenMP runtime here: requirements-dev.txt brings one for Linux on x86-64 (intel-openmp);"
    " elsewhere 'apt install libomp5' does"
)


def find_llvm_openmp() -> Path | None:
    """The library's file; None where there is none."""
    return next(_candidates(), None)


def _candidates() -> Iterator[Path]:
    for folder in (Path(sys.prefix) / "lib", *map(Path, sys.path)):
        for pattern in ("libiomp5.so", "libomp*.so*", "*.libs/libiomp5*.so*", "*.libs/libomp*.so*"):
            yield from folder.glob(pattern)
    yield from Path("/usr/lib").glob("*-linux-gnu/libomp.so.5")
    yield from Path("/usr/lib").glob("llvm-*/lib/libomp.so.5")
