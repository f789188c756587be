"""Checks a run before it is queued, in a process of its own: ``python -m trainer preflight … --json``.

A report is remembered for a moment, so that the form, which has just asked
for it, does not wait twice when the run is then started.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from app.config import Settings
from app.errors import Conflict, PreflightRed, Unavailable
from app.services.run_plan import RunPlan
from app.services.side_process import SideProcess
from trainer.scripts.recipe import file_of

LIMIT_S: Final = 100.0  # every check has a limit of its own; this one is for the command itself
SMOKE_LIMIT_S: Final = 220.0
RECENT_S: Final = 20.0
MOST_AT_ONCE: Final = 2
RED: Final = "problem"
MakeCommand = Callable[[Settings, RunPlan, bool], list[str]]


class Preflight:
    """A few preflights at a time, one smoke run at a time."""

    def __init__(
        self, settings: Settings, *, command: MakeCommand | None = None, limit_s: float | None = None
    ) -> None:
        """Wire it; nothing can be asked before :meth:`start`.

        Args:
            settings: where the instance is, and how many runs share the machine.
            command: what prints a report; None stands for the preflight of the training side.
            limit_s: seconds after which it is ended; None stands for the usual ones.
        """
        self._settings = settings
        self._command = command or preflight_command
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._is_open = False
        self._running: set[SideProcess] = set()
        self._is_smoking = False
        self._recent: tuple[str, float, dict[str, Any]] | None = None

    def start(self) -> None:
        """From now on runs can be checked."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End what runs, and start nothing any more; their callers get an answer."""
        with self._lock:
            self._is_open = False
            for process in self._running:
                process.ask_to_end()

    def report(self, plan: RunPlan, *, smoke: bool = False) -> dict[str, Any]:
        """Check the run that ``plan`` describes: ``{"checks", "verdict", "took_s", "outlook"}``.

        Raises:
            Conflict: the server is starting or ending, or a smoke run is going on.
            Unavailable: too many are asked for at once, or the command has no report.
        """
        process = self._launch(plan, smoke)
        limit_s = self._limit_s or (SMOKE_LIMIT_S if smoke else LIMIT_S)
        timer = process.limit(limit_s)
        try:
            answer = process.output.read()
        finally:
            timer.cancel()
            code, said = process.close()
            with self._lock:
                self._running.discard(process)
                self._is_smoking = self._is_smoking and not smoke
        report = _parsed(answer)
        if report is None:
            raise Unavailable(
                f"The preflight ended with {code} and without a report. {said}".strip(),
                hint="Start without it, or run on a terminal: python -m trainer preflight",
            )
        with self._lock:
            self._recent = (_key(plan), time.monotonic(), report)
        return report

    def require(self, plan: RunPlan) -> None:
        """Refuse a run that cannot succeed.

        Raises:
            PreflightRed: with the red findings.
            Conflict: the server is starting or ending.
            Unavailable: too many are asked for at once, or the command has no report.
        """
        with self._lock:
            recent = self._recent
        is_same = recent is not None and recent[0] == _key(plan) and time.monotonic() - recent[1] < RECENT_S
        report = recent[2] if is_same and recent is not None else self.report(plan)
        red = [check for check in report["checks"] if check["verdict"] == RED]
        if red:
            raise PreflightRed(red)

    def _launch(self, plan: RunPlan, smoke: bool) -> SideProcess:
        with self._lock:
            if not self._is_open:
                raise Conflict("the server is starting or ending", hint="try again in a moment")
            if smoke and self._is_smoking:
                raise Conflict("a smoke run is going on already", hint="wait for it: it takes a minute")
            if len(self._running) >= MOST_AT_ONCE:
                raise Unavailable("too many runs are being checked at once", hint="try again in a moment")
            try:
                process = SideProcess(
                    self._command(self._settings, plan, smoke), told=json.dumps(plan.environment).encode()
                )
            except OSError as exc:
                raise Unavailable(f"the preflight cannot be started: {exc.strerror}") from exc
            self._running.add(process)
            self._is_smoking = self._is_smoking or smoke
            return process


def preflight_command(settings: Settings, plan: RunPlan, smoke: bool) -> list[str]:
    """What checks ``plan`` for the dashboard with these ``settings``."""
    params = [word for name, value in plan.params.items() for word in ("--set", f"{name}={value}")]
    return [
        *(sys.executable, "-P", "-m", "trainer", "preflight", plan.recipe.name, "--json", "--env-stdin"),
        *_subject(plan),
        f"--instance={settings.instance}",
        f"--profile={plan.profile}",
        f"--num-concurrent={settings.max_runs}",
        *params,
        *(f"--column={role}={column}" for role, column in plan.columns.items()),
        *(["--smoke"] if smoke else []),
    ]


def _subject(plan: RunPlan) -> list[str]:
    """Dataset and script; a script without a file has no dataset to name."""
    if plan.script is None:
        return [f"--dataset={plan.dataset}"]
    file = file_of(plan.dataset)
    return [f"--script={plan.script.name}", *([f"--dataset={file}"] if file else [])]


def _parsed(answer: bytes) -> dict[str, Any] | None:
    try:
        report = json.loads(answer)
    except ValueError:
        return None
    return report if isinstance(report, dict) and isinstance(report.get("checks"), list) else None


def _key(plan: RunPlan) -> str:
    return json.dumps(
        [
            *(plan.recipe.name, plan.script_name, plan.dataset, plan.columns),
            *(plan.params, plan.profile, plan.environment),
        ],
        sort_keys=True,
    )
