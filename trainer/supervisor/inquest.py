"""What the supervisor knows about an attempt's end, gathered for the diagnosis."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path

from trainer.diagnosis.catalogue import signatures
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.diagnosis.finding import UNKNOWN, Finding, Role
from trainer.diagnosis.log_text import read_log
from trainer.diagnosis.of_rank import of_rank
from trainer.diagnosis.silent_ends import unexplained
from trainer.protocol.rank_files import RankFall, rank_paths
from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.hang_finding import HangFacts, hang_finding
from trainer.supervisor.oom_kills import count_oom_kills, memory_limit_bytes, oom_kills_are_own
from trainer.supervisor.process import ExitStatus
from trainer.supervisor.tally import Tally

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written
_PLATFORMS = {"darwin": "darwin", "win32": "windows"}


class Inquest:
    """Opened when an attempt starts, so that counters can be compared at its end."""

    def __init__(self, paths: RunPaths, *, attempt: int) -> None:
        self._paths = paths
        self._attempt = attempt
        self._oom_kills_before = count_oom_kills()

    def findings(
        self,
        status: ExitStatus,
        tally: Tally,
        *,
        reason: str,
        hang: HangFacts | None = None,
        is_stall: bool = False,
    ) -> list[Finding]:
        """Why the attempt failed, best first and at least one; a failure is none the less one on a wish.

        Args:
            status: of the trainer.
            tally: how far it came.
            reason: why its end is a failure, in words; told when nothing else can be said.
            hang: how it hung when it ended; None when it did not.
            is_stall: it was ended because it hung, so its status tells how it was ended, not why.
        """
        if is_stall and hang is not None:
            return _with_hang(hang, diagnose(self._evidence(None, tally, hang.stacks)))
        evidence = self._evidence(status, tally, hang.stacks if hang is not None else "")
        found = diagnose(evidence) or [unexplained(evidence, reason=reason)]
        fall = self.fall
        if fall is None:
            return found
        return of_rank(found, rank=fall.rank, end=fall.words, log=evidence.log)

    @property
    def fall(self) -> RankFall | None:
        """The rank with which the end began, where several processes trained."""
        return RankFall.load(self._paths, self._attempt)

    def _evidence(self, status: ExitStatus | None, tally: Tally, stacks: str) -> Evidence:
        platform = _PLATFORMS.get(sys.platform, "linux")
        number = None
        if status is not None and status.signal is not None:
            number = exit_of(-status.signal, platform=platform)[1]
        rss = status.rusage.get("max_rss_bytes") if status is not None else None
        return Evidence(
            log=self._output(),
            stacks=stacks,
            exit_code=status.code if status is not None else None,
            signal=number,
            phase=tally.phase,
            step=tally.step,
            steps_done=tally.step,
            said_finished=tally.finished is not None if status is not None else None,
            last_loss_is_finite=last_loss_is_finite(tally),
            last_rss_bytes=int(rss) if rss else None,
            num_oom_kills=self._oom_kills(),
            oom_kills_are_own=oom_kills_are_own(),
            memory_limit_bytes=memory_limit_bytes(),
            disk_free_bytes=room[0] if (room := _room(self._paths.root)) else None,
            shm_free_bytes=shm[0] if (shm := _room(_SHARED_MEMORY)) else None,
            shm_total_bytes=shm[1] if shm else None,
            platform=platform,
        )

    def _oom_kills(self) -> int | None:
        now = count_oom_kills()
        return None if now is None or self._oom_kills_before is None else now - self._oom_kills_before

    def _output(self) -> str:
        """What the trainer wrote; of several processes the one that fell first."""
        fall = self.fall
        path = self._paths.output(self._attempt)
        if fall is not None:
            path = rank_paths(self._paths, self._attempt, fall.rank).output
        try:
            return read_log(path)
        except OSError:
            return ""


def _room(folder: Path) -> tuple[int, int] | None:
    """Free and total bytes of the file system ``folder`` lies on; None where nobody can tell."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.free, usage.total


def _with_hang(hang: HangFacts, diagnosed: list[Finding]) -> list[Finding]:
    """What is known to hang comes before the verdict, everything else the log may say behind it."""
    known = signatures()
    diagnosed = [one for one in diagnosed if not one.id.startswith("hang_")]  # the watch names the place
    roots = [one for one in diagnosed if one.id in known and known[one.id].role is Role.HANG]
    rest = [one for one in diagnosed if one not in roots and one.id != UNKNOWN]
    return [*roots, hang_finding(hang), *rest]


def last_loss_is_finite(tally: Tally) -> bool | None:
    """Whether the newest training loss is a number; None when none was reported."""
    loss = tally.latest.get("train/loss")
    return None if loss is None else math.isfinite(loss)
