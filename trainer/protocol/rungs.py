"""The rungs of the fallback ladder: remedies that a machine may try by itself."""

from __future__ import annotations

from enum import StrEnum


class Rung(StrEnum):
    """One remedy; the order here is from the least to the most invasive."""

    RESTART = "restart"  # the same again, from the last good checkpoint
    PREVIOUS_CHECKPOINT = "previous_checkpoint"  # the newest one whose checksum is right
    THREADS = "threads"  # one OpenMP thread, passive waiting
    OPEN_FILES = "open_files"  # a higher limit of open files
    MINING_PROCESS = "mining_process"  # search and mining in a process of their own
    DUPLICATE_OPENMP = "duplicate_openmp"  # let two OpenMP runtimes live together; unsafe, macOS only
    WORKERS = "workers"  # no DataLoader workers, no pinned memory, spawn
    HALVE_BATCH = "halve_batch"  # half the micro-batch at once, the same effective batch
    SHORTER = "shorter"  # shorter sequences; changes numbers
    EVALUATION_OFF = "evaluation_off"  # no evaluation before the end
    SUBSET = "subset"  # fewer training examples; changes numbers
    CPU = "cpu"  # another device; changes numbers
