"""Main memory: refused allocations, the kernel's OOM killer, Windows' page file."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.finding import Signature
from trainer.protocol.rungs import Rung

OOM_KILLER: Final = Signature(
    "oom_killer",
    r"Out of memory: Kill(?:ed)? process|\boom-kill:|invoked oom-killer|Memory cgroup out of memory"
    r"|\bOOMKilled\b|Detected \d+ oom[-_]kill event|Some of (?:your"
    r"|the step) .* killed by the cgroup out-of-memory",
    cause="The machine or the container ran out of memory, and the system ended the trainer.",
    remedy="Use a smaller batch, fewer workers or memory-mapped arrays (.npy with mmap_mode='r'), or "
    "give it more memory.",
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

_SIGKILL: Final = 9
_MUCH: Final = 0.5  # of the limit: the kernel ends the largest, and who holds less is rarely that


def killed_for_memory(evidence: Evidence) -> str:
    """What proves that the kernel ended it for want of memory, in words; empty without proof."""
    if evidence.signal != _SIGKILL or not evidence.num_oom_kills:
        return ""
    if evidence.oom_kills_are_own:
        return f"the kernel's counter of memory kills rose by {evidence.num_oom_kills}"
    held, limit = evidence.last_rss_bytes, evidence.memory_limit_bytes
    if not held or not limit or held < _MUCH * limit:
        return ""
    return (
        f"the machine's counter of memory kills rose by {evidence.num_oom_kills}, and this trainer held "
        f"{_gib(held)} of {_gib(limit)}"
    )


def killed_beside_it(evidence: Evidence) -> str:
    """That memory was short on the machine while this trainer held little of it; empty where it was not."""
    if evidence.oom_kills_are_own or not evidence.num_oom_kills or killed_for_memory(evidence):
        return ""
    held = f" held at most {_gib(evidence.last_rss_bytes)}" if evidence.last_rss_bytes else " may not be it"
    return (
        f"The kernel ended something on this machine for want of memory meanwhile, but this trainer{held}: "
        "somebody else may have ended it."
    )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB"
