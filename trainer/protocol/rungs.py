"""The rungs of the fallback ladder: remedies that a machine may try by itself, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final


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


@dataclass(frozen=True)
class RungWords:
    """What a rung is called, wherever it is shown.

    Attributes:
        title: in words, as it reads after "attempt 2 of 3:".
        changes_numbers: losses or results differ from those of a run that never needed it.
        is_unsafe: results may be silently wrong.
    """

    title: str
    changes_numbers: bool = False
    is_unsafe: bool = False


WORDS: Final[Mapping[Rung, RungWords]] = {
    Rung.RESTART: RungWords("the same again"),
    Rung.PREVIOUS_CHECKPOINT: RungWords("go on from the checkpoint before the last one"),
    Rung.THREADS: RungWords("one OpenMP thread that sleeps while it waits"),
    Rung.OPEN_FILES: RungWords("a higher limit of open files"),
    Rung.MINING_PROCESS: RungWords("search in a process of its own"),
    Rung.DUPLICATE_OPENMP: RungWords("let two OpenMP runtimes live in one process", is_unsafe=True),
    Rung.WORKERS: RungWords("no DataLoader workers"),
    Rung.HALVE_BATCH: RungWords("half as many examples in memory at once, the same batch"),
    Rung.SHORTER: RungWords("read half as many words of each text", changes_numbers=True),
    Rung.EVALUATION_OFF: RungWords(
        "evaluate at the end only, so the best checkpoint is the last", changes_numbers=True
    ),
    Rung.SUBSET: RungWords("train on half of the examples", changes_numbers=True),
    Rung.CPU: RungWords("train on the CPU", changes_numbers=True),
}


def in_words(rungs: Iterable[object]) -> list[dict[str, Any]]:
    """``{"rung", "title", "changes_numbers", "is_unsafe"}`` of each, in the order given.

    A rung nobody knows here, of a newer supervisor, is called by its id.
    """
    known = {rung.value: WORDS[rung] for rung in Rung}
    named = [(str(rung), known.get(str(rung)) or RungWords(str(rung).replace("_", " "))) for rung in rungs]
    return [
        {
            "rung": rung,
            "title": words.title,
            "changes_numbers": words.changes_numbers,
            "is_unsafe": words.is_unsafe,
        }
        for rung, words in named
    ]
