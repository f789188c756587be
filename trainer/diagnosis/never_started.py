"""What kept a trainer from being started: the operating system's own answer, in words."""

from __future__ import annotations

import errno
from typing import Final

from trainer.diagnosis.catalogue import signatures
from trainer.diagnosis.finding import Finding

NOT_STARTED: Final = "not_started"
_SURE: Final = 0.95
_SOURCE: Final = "https://docs.python.org/3/library/errno.html"
# known from logs as well: there is no need for a second name
_SAME_AS: Final = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EMFILE: "fd_limit",
    errno.ENFILE: "fd_limit",
    errno.EIO: "disk_error",
    errno.EROFS: "disk_error",
}
_MISSING: Final = (
    "{what} is not there",
    "The Python environment may have been moved, rebuilt or deleted since the dashboard was started: set it "
    "up again (make test), start the dashboard from it, then start the run again.",
)
_FORBIDDEN: Final = (
    "This user may not run or read {what}",
    "Give this user the right to it (chmod, chown), or run the dashboard as the user it belongs to. On a "
    "drive mounted with 'noexec' no program runs: set the environment up elsewhere.",
)
_CROWDED: Final = (
    "The system had no room for another process",
    "Look for what fills the machine (free -h, ps aux, ulimit -u), end what is not needed, then start the "
    "run again.",
)
_UNFIT: Final = (
    "{what} is no program this system can run",
    "Install a Python for this system and this processor, then set the environment up again.",
)
_WORDS: Final = {
    errno.ENOENT: _MISSING,
    errno.ENOTDIR: _MISSING,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOMEM: _CROWDED,
    errno.EAGAIN: _CROWDED,
    errno.ENOEXEC: _UNFIT,
}
_UNHEARD_OF: Final = (
    "The system refused to start it ({what})",
    "Run the doctor (python -m trainer doctor): it looks at the Python environment, the disk and the "
    "limits. Then start the run again.",
)


def not_started(error: OSError) -> Finding:
    """Why no trainer came up: ``error`` is what starting it raised."""
    said = (str(error),)
    known = signatures().get(_SAME_AS.get(error.errno or 0, ""))
    if known is not None:
        rungs = tuple(rung.value for rung in known.rungs)
        return Finding(known.id, known.cause, known.remedy, _SURE, said, known.source, rungs)
    cause, remedy = _WORDS.get(error.errno or 0, _UNHEARD_OF)
    what = str(error.filename or error.strerror or error)
    words = cause.format(what=what)
    return Finding(NOT_STARTED, f"The trainer was never started. {words}.", remedy, _SURE, said, _SOURCE)


def never_supervised(reason: str) -> Finding:
    """Why a run failed that had not even a supervisor to look into it: what the dashboard knows.

    Args:
        reason: of the failure, in words.
    """
    return Finding(
        NOT_STARTED,
        cause=f"The trainer was never started, or nothing is known of it. {reason}".strip(),
        remedy="Read supervisor.log in the run's folder, and run the doctor: it looks at the Python "
        "environment, the disk and the limits. Then start the run again.",
        confidence=0.5,
        lines=(reason,) if reason else (),
    )
