"""The search process of a run: it died, hung, or could not do what the trainer asked of it."""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.finding import Signature
from trainer.protocol.rungs import Rung

_SOURCE: Final = "docs/search-process.md"

SIGNATURES: Final = (
    Signature(
        "search_process_died",
        r"SearchProcessError: the search process \(pid \d+\) "
        r"(?:was killed by signal|ended with exit status|stopped listening)",
        cause="The process in which this run searches its documents died, and the run cannot go on without.",
        remedy="The lines below it are its last words. Killed by signal 9: probably for lack of memory, so "
        "search fewer documents. By 11 or 6: a native crash; start again with one thread, or reinstall the "
        "package its stack names.",
        source=_SOURCE,
        rank=6,
        rungs=(Rung.RESTART, Rung.THREADS),
    ),
    Signature(
        "search_process_hung",
        r"SearchProcessError: the search process \(pid \d+\) gave no answer within",
        cause="The process in which this run searches its documents hung, and was ended.",
        remedy="The lines below it tell where it stood. Start again with one thread; if it hangs again, set "
        "search_process to shared.",
        source=_SOURCE,
        rank=6,
        rungs=(Rung.RESTART, Rung.THREADS),
    ),
)
