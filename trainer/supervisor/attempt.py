"""One launch of a run's trainer, from its environment to its exit status."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import replace
from typing import Any

from trainer.environment.command import keep_awake
from trainer.environment.launch import launch_variables
from trainer.environment.variables import as_environ
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.events import EventType, Stream
from trainer.protocol.files import write_atomic
from trainer.protocol.rank_files import nproc_of
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.supervisor.alerts.advice import advice_of
from trainer.supervisor.alerts.lookout import Lookout
from trainer.supervisor.awake import Companion
from trainer.supervisor.cgroup import Cgroup
from trainer.supervisor.console import Console
from trainer.supervisor.hang_report import HangReport
from trainer.supervisor.output_watch import OutputWatch, output_watch
from trainer.supervisor.own_spool import OwnSpool
from trainer.supervisor.process import ExitStatus, Trainer, save_record, spawn
from trainer.supervisor.pulse import Pulse
from trainer.supervisor.rank_processes import RankProcesses
from trainer.supervisor.recovery import process_record
from trainer.supervisor.samples import Sampler
from trainer.supervisor.script_hangs import ScriptVerdict
from trainer.supervisor.script_launch import Launch, MakeCommand
from trainer.supervisor.spool_reader import last_seq
from trainer.supervisor.stop import StopLadder
from trainer.supervisor.tally import Tally
from trainer.supervisor.tree import ProcessTree, children_now
from trainer.supervisor.verdict import Verdict
from trainer.supervisor.watch import Watch, Word

__all__ = ["Attempt", "MakeCommand"]


class Attempt:
    """A running trainer and everything that watches it."""

    def __init__(
        self, paths: RunPaths, spec: RunSpec, *, plan: AttemptPlan, spool: OwnSpool, launch: Launch
    ) -> None:
        """Start the trainer.

        Raises:
            OSError: it cannot be started.
        """
        self._paths = paths
        self._spool = spool
        self.number = number = plan.attempt
        self.script, argv = launch.script, launch.argv
        self.from_step = from_step = launch.from_step
        self._script_verdict: ScriptVerdict | None = None
        spec = replace(spec, params={**spec.params, **plan.params})
        self.tally = Tally(paths, run=spec.run_id, attempt=number, step=from_step)
        advice = advice_of(spec.recipe)
        self.lookout = Lookout(paths, attempt=number, spool=spool, tally=self.tally, advice=advice)
        self._console = Console(paths, number)
        self.output = output_watch(paths, spec, attempt=number, from_step=from_step)
        self._is_stopping = False
        strangers = children_now()
        variables = launch_variables(spec, run_dir=str(paths.root), rung_variables=plan.environment)
        self.environment = as_environ(variables)
        shown = [variable.to_json() for variable in variables]
        made_of = {"script": dict(launch.fingerprint)} if launch.fingerprint else {}
        write_atomic(
            paths.environment(number), json.dumps({"command": argv, "variables": shown, **made_of}).encode()
        )
        self.trainer, self.tree = self._launch(launch, as_environ(variables), strangers)
        self._companion = Companion(keep_awake(self.trainer.pid))
        self.pulse = Pulse(
            paths, attempt=number, spool=spool, sampler=Sampler(self.tree), step=lambda: self.tally.step
        )
        self._heard_at = time.monotonic()
        self.hangs = self._hang_report(spec, from_step)
        self.pulse.start()
        self._tell("started", pid=self.trainer.pid, from_step=from_step, command=argv,
                   environment=shown, plan=plan.to_json(), **made_of)  # fmt: skip

    def _launch(
        self, launch: Launch, environ: dict[str, str], strangers: frozenset[int]
    ) -> tuple[Trainer, ProcessTree]:
        """Start the trainer in the run's control group, and write down who it is."""
        root = str(self._paths.root)
        group = Cgroup.create(root)
        output = self._paths.output(self.number)
        trainer = spawn(launch.argv, environ=environ, output=output, cwd=launch.cwd, cgroup=group)
        with contextlib.suppress(OSError):  # without the record its mark still finds it
            save_record(process_record(self._paths, self.number), trainer, cgroup=group)
        return trainer, ProcessTree(trainer.identity, run_dir=root, strangers=strangers, cgroup=group)

    def _hang_report(self, spec: RunSpec, from_step: int) -> HangReport:
        nproc = 1 if self.script is not None else nproc_of(spec.params)
        ranks = None
        if nproc > 1:
            ranks = RankProcesses(self.trainer.pid, self._paths, attempt=self.number, count=nproc)
        watch = Watch(
            self.trainer.pid, root=self._paths.root, policy=spec.policy, from_step=from_step, ranks=ranks
        )
        if self.script is not None:
            self._script_verdict = ScriptVerdict(step_may_take_s=watch.limits.training_floor_s)
            watch.judge_with(self._script_verdict)
        return HangReport(
            self._paths,
            attempt=self.number,
            trainer=self.trainer,
            spool=self._spool,
            watch=watch,
            policy=spec.policy,
            ranks=ranks,
        )

    def look(self, stop: StopLadder) -> ExitStatus | None:
        """Read what is new, do what is due; the exit status once the trainer has ended."""
        status = self.trainer.poll()  # before reading: what it wrote until its end is then read below
        if self.output is not None:
            self.output.look(last=status is not None)
            self._heard_at = max(self._heard_at, self.output.heard_at)  # whatever it prints: a sign of life
        if self.tally.update():
            self._heard_at = time.monotonic()
        self.lookout.look(stall=self.hangs.reason, process=self.pulse.process)
        self._console.update(last=status is not None)
        self._is_stopping = stop.requested
        if stop.requested and self.output is not None:
            self.output.ask_to_stop()
        if status is None:
            stop.advance(self.trainer, self.tree, is_script=self.script is not None)
        return status

    @property
    def has_begun(self) -> bool:
        """Whether the trainer has said its first word; a script need never say one."""
        return self.tally.begun or self.script is not None

    @property
    def begun_words(self) -> str:
        """Why the attempt counts as running."""
        return "the trainer reports" if self.script is None else f"the script {self.script.name} runs"

    def look_for_hangs(self) -> bool:
        """Judge whether the trainer advances; whether there is something new to say about it."""
        if not self.hangs.is_due():
            return False
        if self._script_verdict is not None:
            self._script_verdict.has_spoken = bool(self.tally.latest) or self.tally.step > self.from_step
        word = Word(self.pulse.heartbeat(), self._heard_at, self.tally.phase, self.tally.step)
        return self.hangs.look(word, gpu_percent=self.pulse.gpu_percent)

    def finish(self) -> list[int]:
        """Clear away what the trainer left running and read the rest; returns what could not be killed."""
        survivors = self.tree.kill()
        self._companion.close()
        self.pulse.stop()
        if self.output is not None:
            self._end_output(self.output)
        self.tally.update()
        self._console.update(last=True)
        self._console.close()
        self.tally.close()
        return survivors

    def _end_output(self, output: OutputWatch) -> None:
        """The last of what a script has said; one that ended with code 0 has finished."""
        output.look(last=True)
        self.tally.update()
        status = self.trainer.poll()
        if status is not None and status.code == 0 and self.tally.finished is None:
            reason = "stopped" if self._is_stopping else "completed"
            output.finish(self.tally.step, reason=reason, last=self.tally.latest)
        output.close()

    def tell_end(self, status: ExitStatus, verdict: Verdict) -> None:
        """Spool the attempt's end; ``trainer_seq`` is the last event that must arrive before it."""
        self.lookout.end(verdict)
        self._tell(
            "ended",
            exit_code=status.code,
            exit_signal=status.signal,
            rusage=status.rusage,
            step=self.tally.step,
            state=verdict.state,
            reason=verdict.reason,
            trainer_seq=last_seq(self._paths.spool(Stream.TRAINER)),
        )

    def _tell(self, what: str, **facts: Any) -> None:
        self._spool.append(EventType.ATTEMPT, attempt=self.number, what=what, **facts)

    def status(self) -> dict[str, Any]:
        """What the dashboard shows of the process right now."""
        return self.pulse.status()
