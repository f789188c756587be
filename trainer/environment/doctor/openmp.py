"""Which OpenMP runtimes torch, faiss and numpy load together, and how many threads they really use.

Two copies of an LLVM or Intel runtime in one process abort with ``OMP: Error #15``, or crash once
that is silenced.  Two GNU ones do not, but each keeps threads of its own.
The libraries are loaded by name, because this module must be importable without them.
"""

from __future__ import annotations

import importlib
import os
import warnings
from pathlib import Path
from typing import Any, Final

import psutil

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

CLASHING: Final = ("libomp", "libiomp", "vcomp")  # file names of runtimes that tolerate no second copy
SIZE: Final = 512
NUM_VECTORS: Final = 2048
REMEDY: Final = (
    "Search in a process of its own (search_process=own, the default on macOS), or install torch and faiss "
    "from one channel that shares a runtime (conda-forge). KMP_DUPLICATE_LIB_OK only hides it: results may "
    "be silently wrong."
)


def look(surroundings: Surroundings) -> list[Check]:
    """Load all three, let each compute something, and look at what is in the process then."""
    before = psutil.Process().num_threads()
    torch = importlib.import_module("torch")
    faiss = importlib.import_module("faiss")
    numpy = importlib.import_module("numpy")
    matrix = torch.randn(SIZE, SIZE)
    vectors = numpy.ascontiguousarray(torch.randn(NUM_VECTORS, 64).numpy())
    index = faiss.IndexFlatIP(64)
    index.add(vectors)
    (matrix @ matrix).relu().sum().item()
    index.search(vectors[:256], 10)
    float((vectors @ vectors.T).sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pools = importlib.import_module("threadpoolctl").threadpool_info()
    started = psutil.Process().num_threads() - before
    complaints = [str(one.message) for one in caught]
    asked = int(os.environ.get("OMP_NUM_THREADS", "0"))
    own = {"torch": torch.get_num_threads(), "faiss": faiss.omp_get_max_threads()}
    return [runtimes_check(pools, complaints), threads_check(pools, own, asked=asked, started=started)]


def runtimes_check(pools: list[dict[str, Any]], complaints: list[str]) -> Check:
    """Judge what ``threadpoolctl`` found loaded; ``complaints`` are its own warnings."""
    openmp = [pool for pool in pools if pool.get("user_api") == "openmp"]
    names = [Path(str(pool["filepath"])).name for pool in openmp]
    clashing = [name for name in names if name.startswith(CLASHING)]
    details = {"runtimes": [_shown(pool) for pool in pools], "warnings": complaints}
    title = "OpenMP runtimes"
    if len(clashing) > 1:
        found = (
            f"{len(clashing)} copies of an OpenMP runtime are loaded in one process ({', '.join(clashing)}). "
            "This is what aborts with OMP Error #15, or crashes later."
        )
        return Check("openmp", title, Verdict.PROBLEM, found, REMEDY, details)
    if (clashing and len(openmp) > 1) or complaints:
        found = (
            f"Runtimes of different makers are loaded together ({', '.join(names)}): known to crash or hang."
        )
        return Check("openmp", title, Verdict.WARNING, found, REMEDY, details)
    if len(openmp) > 1:
        found = (
            f"{len(openmp)} GNU OpenMP runtimes are loaded ({', '.join(names)}). They live together without "
            "an abort. Each has threads of its own: where cores are short, a run's waiting threads sleep."
        )
        return Check("openmp", title, Verdict.NOTE, found, "", details)
    found = f"One OpenMP runtime serves torch and faiss ({', '.join(names) or 'none found'})."
    return Check("openmp", title, Verdict.OK, found, "", details)


def threads_check(pools: list[dict[str, Any]], own: dict[str, int], *, asked: int, started: int) -> Check:
    """Compare the threads every pool uses with what the environment asks for.

    Args:
        pools: from ``threadpoolctl``.
        own: what torch and faiss say themselves.
        asked: ``OMP_NUM_THREADS`` of the hardened environment.
        started: threads this process has gained while it computed.
    """
    counts = {Path(str(pool["filepath"])).name: int(pool["num_threads"]) for pool in pools} | own
    details = {"asked": asked, "threads": counts, "threads_started": started}
    wrong = {name: count for name, count in counts.items() if count != asked}
    title = "Threads really used"
    if not wrong:
        found = f"torch, faiss and the BLAS libraries use {asked} threads each, as the environment asks."
        return Check("threads", title, Verdict.OK, found, "", details)
    shown = ", ".join(f"{name} {count}" for name, count in sorted(wrong.items()))
    more = any(count > asked for count in wrong.values())
    found = f"The environment asks for {asked} threads, but: {shown}."
    remedy = (
        "More threads than cores slow every run down; look for code that calls set_num_threads."
        if more
        else "Fewer threads only cost speed: the lower of OMP_NUM_THREADS and MKL_NUM_THREADS rules."
    )
    return Check("threads", title, Verdict.WARNING if more else Verdict.NOTE, found, remedy, details)


def _shown(pool: dict[str, Any]) -> dict[str, Any]:
    names = ("user_api", "internal_api", "prefix", "version", "num_threads", "filepath")
    return {name: pool.get(name) for name in names}
