"""Asking trained models: a process per run that stays for a while, a few of them at a time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.errors import Conflict, InvalidRequest, ModelFailed, SignalboxError, TooManyRequests, Unavailable
from app.services.ask_process import AskProcess
from app.services.checkpoint_files import checkpoints_in
from app.services.runs import Runs
from trainer.protocol.run_folder import RunPaths
from trainer.recipes.questions import QuestionError, checked
from trainer.recipes.registry import Recipe, recipes

MOST_RUNS: Final = 2
MOST_WAITING: Final = 4
LIMIT_S: Final = 480.0  # opening and answering have limits of their own; this one is for the desk itself
MakeCommand = Callable[[RunPaths], list[str]]


@dataclass
class _Talk:
    """The conversation with one run."""

    process: AskProcess
    turn: threading.Lock = field(default_factory=threading.Lock)
    num_inside: int = 0  # the one who is answered, and who wait for their turn
    asked_at: float = 0.0
    checkpoint: dict[str, Any] | None = None  # which one its model is, once it has answered


class Asking:
    """Who is asked at the moment; started and ended with the server."""

    def __init__(self, runs: Runs, *, command: MakeCommand | None = None, most_runs: int = MOST_RUNS) -> None:
        """Wire it; nothing can be asked before :meth:`start`.

        Args:
            runs: what is known of runs.
            command: what answers for a run; None stands for the training side's.
            most_runs: how many models are held at once, >= 1.
        """
        self._runs = runs
        self._command = command or ask_command
        self._most_runs = most_runs
        self._lock = threading.Lock()
        self._is_open = False
        self._talks: dict[str, _Talk] = {}

    def start(self) -> None:
        """From now on models can be asked."""
        with self._lock:
            self._is_open = True

    def close(self) -> None:
        """End every process, and start none any more; who waits gets an answer."""
        with self._lock:
            self._is_open = False
            talks, self._talks = list(self._talks.values()), {}
        for talk in talks:
            talk.process.end()
        for talk in talks:
            talk.process.close()

    def forget(self, run_id: str) -> None:
        """Let go of the run's model; harmless when none is held."""
        with self._lock:
            talk = self._talks.pop(run_id, None)
        if talk is not None:
            talk.process.close()

    def status(self, run_id: str) -> dict[str, Any]:
        """What can be asked, which checkpoints there are, and what the run's process is doing.

        Raises:
            NotFound: there is no such run.
        """
        run = self._runs.get(run_id)
        recipe = recipes().get(run.recipe)
        paths = self._runs.paths(run_id)
        checkpoints = checkpoints_in(paths)
        with self._lock:
            talk = self._talks.get(run_id)
        is_held = talk is not None and talk.process.is_alive
        doing = talk.process.doing if talk is not None and is_held else None
        return {
            "why_not": _why_not(recipe, paths, has_checkpoint=bool(checkpoints)),
            "question": [part.to_json() for part in recipe.question] if recipe and recipe.answerer else [],
            "checkpoints": checkpoints,
            "state": "asleep" if not is_held else "ready" if doing is None else "busy",
            "doing": doing,
            "checkpoint": talk.checkpoint if talk is not None and is_held else None,
        }

    def ask(
        self, run_id: str, question: Mapping[str, Any], *, checkpoint: str | None = None
    ) -> dict[str, Any]:
        """Ask the run's model; the first question opens it, which may take a while.

        Args:
            run_id: which run.
            question: as its recipe declares it.
            checkpoint: ``best``, ``last`` or a step; None stands for the best, else the last.

        Returns:
            ``{"answer", "checkpoint", "open_s", "answer_s"}``.

        Raises:
            NotFound: there is no such run.
            InvalidRequest: ``field`` names what is wrong: ``question.NAME`` or ``checkpoint``.
            Conflict: this run cannot be asked, at least now.
            TooManyRequests: several wait for this run already.
            Unavailable: too many runs are asked at once, or the answer took too long or too much.
            ModelFailed: the model's process died, or the program failed.
        """
        recipe = recipes().get(self._runs.get(run_id).recipe)
        paths = self._runs.paths(run_id)
        refusal = _why_not(recipe, paths, has_checkpoint=bool(checkpoints_in(paths)))
        if recipe is None or refusal is not None:
            raise Conflict(refusal or "this run cannot be asked")
        try:
            whole = checked(recipe.question, question)
        except QuestionError as exc:
            raise InvalidRequest(exc.message, field=f"question.{exc.field}") from exc
        talk = self._entered(run_id, paths)
        try:
            with talk.turn:
                return self._asked(talk, whole, checkpoint)
        finally:
            with self._lock:
                talk.num_inside -= 1
                talk.asked_at = time.monotonic()

    def _asked(self, talk: _Talk, question: Mapping[str, Any], checkpoint: str | None) -> dict[str, Any]:
        word = talk.process.ask(question, checkpoint=checkpoint, limit_s=LIMIT_S)
        if word is None:
            talk.process.close()
            said = talk.process.last_words
            raise Unavailable(
                f"The process that answers ended before it had. {said}".strip(), hint="Ask again."
            )
        if "error" in word:
            talk.checkpoint = None
            raise _error_of(word["error"])
        result: dict[str, Any] = word["result"]
        talk.checkpoint = result["checkpoint"]
        return result

    def _entered(self, run_id: str, paths: RunPaths) -> _Talk:
        """The run's conversation, begun if need be; another one may have to go for it."""
        with self._lock:
            if not self._is_open:
                raise Conflict("the server is starting or ending", hint="try again in a moment")
            self._drop_ended()
            talk = self._talks.get(run_id)
            if talk is None:
                self._make_room()
                talk = self._talks[run_id] = _Talk(self._started(paths))
            if talk.num_inside > MOST_WAITING:
                raise TooManyRequests(
                    f"{MOST_WAITING} questions are waiting for this run already", hint="try again in a moment"
                )
            talk.num_inside += 1
            return talk

    def _started(self, paths: RunPaths) -> AskProcess:
        try:
            return AskProcess(self._command(paths))
        except OSError as exc:
            raise Unavailable(f"no process can be started: {exc.strerror}") from exc

    def _drop_ended(self) -> None:
        for run_id, talk in list(self._talks.items()):
            if not talk.process.is_alive and talk.num_inside == 0:
                del self._talks[run_id]

    def _make_room(self) -> None:
        """Let the model go that was asked longest ago, where there are as many as may be."""
        if len(self._talks) < self._most_runs:
            return
        idle = [run_id for run_id, talk in self._talks.items() if talk.num_inside == 0]
        if not idle:
            raise Unavailable(
                f"{self._most_runs} other runs are being asked just now", hint="try again in a moment"
            )
        self._talks.pop(min(idle, key=lambda run_id: self._talks[run_id].asked_at)).process.end()


def ask_command(paths: RunPaths) -> list[str]:
    """What answers for the run in ``paths``."""
    return [sys.executable, "-P", "-m", "trainer", "ask", str(paths.root), "-"]


def _why_not(recipe: Recipe | None, paths: RunPaths, *, has_checkpoint: bool) -> str | None:
    """Why the run cannot be asked, for a person; None when it can."""
    if recipe is None:
        return "This version does not know the run's recipe."
    if not recipe.answerer:
        return f"Models of the recipe {recipe.title} cannot be asked."
    if not paths.spec.is_file():
        return "The run's folder is not on this machine."
    if not has_checkpoint:
        return "There is no checkpoint yet: the model can be asked once the first one is saved."
    return None


def _error_of(told: dict[str, Any]) -> SignalboxError:
    """The desk's error (see ``trainer.asking.faults``) as this server's."""
    kind, message, hint = told["kind"], told["message"], told["hint"] or None
    if kind == "question":
        return InvalidRequest(message, field=f"question.{told['field']}", hint=hint)
    if kind == "checkpoint" and told["field"]:
        return InvalidRequest(message, field="checkpoint", hint=hint)
    if kind in ("checkpoint", "opening"):
        return Conflict(message, hint=hint)
    if kind == "limit":
        return Unavailable(message, hint=hint)
    return ModelFailed(message, hint=hint, findings=told["findings"], lines=told["lines"])
