"""Main memory: refused allocations, the kernel's OOM killer, Windows' page file."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature
from trainer.protocol.rungs import Rung

OOM_KILLER: Final = Signature(
    "oom_killer",
    r"Out of memory: Kill(?:ed)? process|\boom-kill:|invoked oom-killer|Memory cgroup out of memory"
    r"|\bOOMKilled\b|Detected \d+ oom[-_]kill event|Some of (?:your"
    r"|the step) .* killed by the cgroup out-of-memory",
    cause="The machine or the container ran out of memory, and the kernel ended the trainer.",
    remedy="Use a smaller batch, fewer workers or memory-mapped arrays (.npy with mmap_mode='r'); or give "
    "it more memory.",
    source="https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files",
    rank=8,
    rungs=(Rung.WORKERS, Rung.HALVE_BATCH, Rung.SHORTER),
    anywhere=True,
)
SIGNATURES: Final = (
    Signature(
        "cpu_alloc",
        r"DefaultCPUAllocator: |^(?:\S+: )?(?:[\w.]*\.)?_?(?:Array)?MemoryError\b"
        r"|Unable to allocate .* for an array"
        r"|\bstd::bad_alloc\b|Cannot allocate memory\b|ArrowMemoryError"
        r"|memory allocation of \d+ bytes failed",
        cause="The program asked for more main memory than there is.",
        remedy="Use a smaller batch, or memory-map big arrays: .npy with mmap_mode='r'; an .npz is always "
        "loaded whole.",
        source="measured with torch 2.13",
        rank=6,
        rungs=(Rung.HALVE_BATCH, Rung.WORKERS, Rung.SHORTER),
    ),
    OOM_KILLER,
    Signature(
        "win_pagefile",
        r"WinError 1455|paging file is too small",
        cause="Windows' page file is too small: every worker loads the CUDA libraries again.",
        remedy="Use no workers, or let Windows manage a larger page file.",
        source="https://docs.pytorch.org/docs/stable/notes/windows.html",
        rank=7,
        rungs=(Rung.WORKERS,),
    ),
)
