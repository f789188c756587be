"""One launch of a run's trainer, from its environment to its exit status."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.variables import as_environ
from trainer.protocol.events import EventType
from trainer.protocol.files import write_atomic
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.supervisor.alerts.lookout import Lookout
from trainer.supervisor.console import Console
from trainer.supervisor.hang_report import HangReport
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.process import ExitStatus, Trainer, spawn
from trainer.supervisor.pulse import Pulse
from trainer.supervisor.recovery import process_record, resume_step
from trainer.supervisor.samples import Sampler
from trainer.supervisor.stop import StopLadder
from trainer.supervisor.tally import Tally
from trainer.supervisor.tree import ProcessTree, children_now
from trainer.supervisor.watch import Watch, Word

MakeCommand = Callable[[Path, int], list[str]]
LOOK_EVERY_S = 0.05


class Attempt:
    """A running trainer and everything that watches it."""

    def __init__(
        self, paths: RunPaths, spec: RunSpec, *, number: int, spool: OwnSpool, argv: list[str]
    ) -> None:
        """Start the trainer.

        Raises:
            OSError: it cannot be started.
        """
        self._paths = paths
        self._spool = spool
        self.number = number
        self.started_at = time.time()
        from_step = resume_step(paths) if number > 1 else 0
        self.tally = Tally(paths, run=spec.run_id, attempt=number, step=from_step)
        self.lookout = Lookout(paths, attempt=number, spool=spool, tally=self.tally)
        self._console = Console(paths, number)
        strangers = children_now()
        variables = build(
            device=str(spec.params.get("device", "auto")),
            profile=spec.profile,
            num_concurrent=spec.num_concurrent,
            physical_cores=usable_cores(),
            inherited=os.environ,
            run_dir=str(paths.root),
            platform=sys.platform,
        )
        shown = [variable.to_json() for variable in variables]
        write_atomic(paths.environment(number), json.dumps({"command": argv, "variables": shown}).encode())
        self.trainer: Trainer = spawn(
            argv, environ=as_environ(variables), output=paths.output(number), cwd=paths.root
        )
        with contextlib.suppress(OSError):  # without the record its mark still finds it
            self.trainer.record.save(process_record(paths, number))
        self.tree = ProcessTree(self.trainer.record, run_dir=str(paths.root), strangers=strangers)
        self.pulse = Pulse(
            paths, attempt=number, spool=spool, sampler=Sampler(self.tree), step=lambda: self.tally.step
        )
        self._heard_at = time.monotonic()
        self.hangs = self._hang_report(spec, from_step)
        self.pulse.start()
        spool.append(
            EventType.ATTEMPT,
            attempt=number,
            what="started",
            pid=self.trainer.pid,
            from_step=from_step,
            command=argv,
            environment=shown,
        )

    def _hang_report(self, spec: RunSpec, from_step: int) -> HangReport:
        return HangReport(
            self._paths,
            attempt=self.number,
            trainer=self.trainer,
            spool=self._spool,
            watch=Watch(self.trainer.pid, root=self._paths.root, policy=spec.policy, from_step=from_step),
            policy=spec.policy,
        )

    def look(self, stop: StopLadder) -> ExitStatus | None:
        """Read what is new, do what is due; the exit status once the trainer has ended."""
        status = self.trainer.poll()  # before reading: what it wrote until its end is then read below
        if self.tally.update():
            self._heard_at = time.monotonic()
        self.lookout.look(stall=self.hangs.reason, process=self.pulse.process, stop=stop)
        self._console.update(last=status is not None)
        if status is None:
            stop.advance(self.trainer, self.tree)
        return status

    def look_for_hangs(self) -> bool:
        """Judge whether the trainer advances; whether there is something new to say about it."""
        if not self.hangs.is_due():
            return False
        word = Word(self.pulse.heartbeat(), self._heard_at, self.tally.phase, self.tally.step)
        return self.hangs.look(word, gpu_percent=self.pulse.gpu_percent)

    def finish(self, status: ExitStatus) -> list[int]:
        """Clear away what the trainer left running and record its end; returns what could not be killed."""
        survivors = self.tree.kill()
        self.pulse.stop()
        self.tally.update()
        self.lookout.end(status)
        self._console.update(last=True)
        self._console.close()
        self.tally.close()
        self._spool.append(
            EventType.ATTEMPT,
            attempt=self.number,
            what="ended",
            exit_code=status.code,
            exit_signal=status.signal,
            rusage=status.rusage,
        )
        return survivors

    def status(self) -> dict[str, Any]:
        """What the dashboard shows of the process right now."""
        return self.pulse.status()
