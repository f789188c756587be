"""The processes of a run that is trained by several: which rank is which, and what they do meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Final

import psutil

from trainer.protocol.rank_files import rank_paths
from trainer.protocol.run_folder import Heartbeat, RunPaths
from trainer.supervisor import process_state
from trainer.supervisor.hangs import Wait
from trainer.supervisor.process_state import ProcessState
from trainer.supervisor.stacks import StackRequest, threads

_ON_ITS_OWN: Final = (Wait.PIPE, Wait.SOCKET, Wait.FILE, Wait.ANSWER)
_TOGETHER: Final = ("/torch/distributed/", "trainer/engine/exchange.py")
_INNERMOST: Final = 8
_CLOCK_S: Final = 2.0


class RankProcesses:
    """The ranks of one attempt; they tell who they are by their heartbeats."""

    def __init__(self, launcher: int, paths: RunPaths, *, attempt: int, count: int) -> None:
        """``launcher`` is the process that has started them."""
        self._launcher, self._paths, self._attempt, self._count = launcher, paths, attempt, count

    def beats(self) -> dict[int, Heartbeat]:
        """The newest heartbeat of each rank that has one and lives."""
        found = {}
        for rank in range(self._count):
            path = (
                self._paths.heartbeat if rank == 0 else rank_paths(self._paths, self._attempt, rank).heartbeat
            )
            beat = Heartbeat.load(path)
            if beat is not None and beat.attempt == self._attempt and _is_same(beat):
                found[rank] = beat
        return found

    def suspended(self) -> dict[int, Heartbeat]:
        """The ranks that somebody has suspended."""
        return {rank: beat for rank, beat in self.beats().items() if process_state.is_suspended(beat.pid)}

    def look(self) -> ProcessState | None:
        """The state of all together, without the process that started them; None when none is known."""
        states = [state for beat in self.beats().values() if (state := process_state.look(beat.pid))]
        if not states:
            return process_state.look(self._launcher)
        waits = [state.waits_for for state in states]
        return ProcessState(
            is_running=any(state.is_running for state in states),
            waits_for=next((wait for wait in waits if wait in _ON_ITS_OWN), waits[0]),
            cpu_s=sum(state.cpu_s for state in states),
            threads={number: times for state in states for number, times in state.threads.items()},
        )


class RankStacks:
    """One dump of every rank; look at it until ``is_over``, as at a :class:`StackRequest`."""

    def __init__(self, ranks: RankProcesses, paths: RunPaths, *, attempt: int) -> None:
        """Ask all that are ready to answer."""
        beats = ranks.beats()
        self._pids = {rank: beat.pid for rank, beat in beats.items()}
        self._requests = {
            rank: StackRequest(_Answering(pid), rank_paths(paths, attempt, rank).stacks)
            for rank, pid in self._pids.items()
        }

    @property
    def is_over(self) -> bool:
        """Whether all have answered, or never will."""
        return all(request.is_over for request in self._requests.values())

    def look(self) -> None:
        """Read what has come."""
        for request in self._requests.values():
            request.look()

    @property
    def rank(self) -> int:
        """The one that keeps the others waiting: it does not answer, or does not wait for them itself."""
        silent = [rank for rank, request in self._requests.items() if not request.text]
        alone = [rank for rank, request in self._requests.items() if not _waits_for_others(request.text)]
        return (silent or alone or [0])[0]

    @property
    def pid(self) -> int:
        """Of that rank; 0 when nothing is known of it."""
        return self._pids.get(self.rank, 0)

    @property
    def decisive(self) -> str:
        """The dump of that rank."""
        request = self._requests.get(self.rank)
        return request.text if request is not None else ""

    @property
    def text(self) -> str:
        """All dumps, that of the decisive rank last."""
        order = sorted(self._requests, key=lambda rank: (rank == self.rank, rank))
        return "\n".join(f"Rank {rank}:\n{self._requests[rank].text}" for rank in order)


class _Answering:
    """A rank as :class:`StackRequest` asks it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def ask_for_stacks(self) -> bool:
        """SIGUSR1, if it has a handler for it; whether it was sent."""
        if process_state.is_suspended(self._pid) is not False:
            return False
        if not process_state.catches(self._pid, signal.SIGUSR1):
            return False
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGUSR1)
            return True
        return False


def _waits_for_others(text: str) -> bool:
    stacks = threads(text)
    innermost = stacks[-1][:_INNERMOST] if stacks else []
    return any(part in frame.file for frame in innermost for part in _TOGETHER)


def _is_same(beat: Heartbeat) -> bool:
    """Whether the process that beat is still the one with this pid."""
    try:
        return bool(psutil.Process(beat.pid).create_time() <= beat.t + _CLOCK_S)
    except psutil.Error:
        return False
