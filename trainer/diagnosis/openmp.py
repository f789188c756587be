"""OpenMP runtimes: two in one process, too many threads, pools that did not survive a fork."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Role, Signature
from trainer.protocol.rungs import Rung

SIGNATURES: Final = (
    Signature(
        "omp_duplicate",
        r"OMP: Error #15: Initializing \S+, but found \S+ already initialized",
        cause="Two copies of the OpenMP thread library were loaded into one process, usually one by torch "
        "and one by faiss.",
        remedy="Let mining and search run in a process of their own, or install both packages from "
        "conda-forge so that they share one copy. KMP_DUPLICATE_LIB_OK=TRUE only silences the check: "
        "results may be wrong.",
        source="https://github.com/faiss-wheels/faiss-wheels/issues/40",
        rank=8,
        rungs=(Rung.MINING_PROCESS, Rung.THREADS),
    ),
    Signature(
        "omp_segv",
        r"__kmp_(?:suspend|fork_barrier|hyper_barrier|flag)\w*|EXC_BAD_ACCESS.*libomp"
        r"|libomp\.dylib.void __kmp",
        cause="Two copies of the OpenMP thread library got in each other's way; the warning about them had "
        "been silenced.",
        remedy="Run faiss in a process of its own, or with one thread. KMP_DUPLICATE_LIB_OK=TRUE does not "
        "cure it.",
        source="https://github.com/pytorch/pytorch/issues/149201",
        rank=7,
        rungs=(Rung.MINING_PROCESS, Rung.THREADS),
    ),
    Signature(
        "static_tls",
        r"cannot allocate memory in static TLS block",
        cause="An OpenMP library was loaded too late: the process has no room left for it.",
        remedy="Import torch (or scikit-learn) before everything else, or start with LD_PRELOAD set to "
        "that library.",
        source="https://github.com/dmlc/xgboost/issues/8488",
        rank=8,
    ),
    Signature(
        "omp_threads_exhausted",
        r"libgomp: Thread creation failed|OMP: Error #34|blas_thread_init: pthread_create"
        r"|RuntimeError: can't start new thread",
        cause="No more threads could be started: the limit of processes (ulimit -u, or the container's "
        "pids limit).",
        remedy="Use fewer threads (OMP_NUM_THREADS, OPENBLAS_NUM_THREADS) or raise ulimit -u / the pids "
        "limit.",
        source="https://github.com/OpenMathLib/OpenBLAS/issues/1668",
        rank=7,
        rungs=(Rung.THREADS, Rung.WORKERS),
    ),
    Signature(
        "mkl_layer",
        r"MKL_THREADING_LAYER=INTEL is incompatible with libgomp",
        cause="Intel's math library (MKL) was loaded after GNU OpenMP and refuses to share the process with"
        " it.",
        remedy="Set MKL_THREADING_LAYER=GNU, or import numpy before torch.",
        source="https://github.com/pytorch/pytorch/issues/37377",
        rank=8,
    ),
    Signature(
        "faiss_fork_hang",
        r"\bgomp_(?:team_start|team_barrier_wait\w*|barrier_wait\w*)\b|waits in libgomp futex",
        cause="A process was copied (forked) after threads had been used: the copy waits for threads it "
        "does not have.",
        remedy="Start processes with spawn or as fresh programs, never by fork after using torch or faiss.",
        source="https://github.com/facebookresearch/faiss/issues/5206",
        role=Role.HANG,
        rank=3,
        rungs=(Rung.THREADS, Rung.MINING_PROCESS, Rung.WORKERS),
        anywhere=True,
    ),
)
