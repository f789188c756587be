"""Asking a run: chooses the checkpoint, keeps its model at hand, and starts another process after a death."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from trainer.asking.chosen import choose, file_of, shown, verify
from trainer.asking.faults import AskingError, Fault
from trainer.asking.model_process import ModelProcess, Tell
from trainer.asking.surroundings import AskLimits, command, environment, program_folder
from trainer.engine.manifests import Manifest, manifests
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.questions import QuestionError, checked
from trainer.recipes.registry import Recipe, recipes


def askable_recipe(name: str) -> Recipe:
    """The recipe, whose trained models can be asked.

    Raises:
        AskingError: it is unknown, or they cannot.
    """
    recipe = recipes().get(name)
    if recipe is None:
        raise AskingError(Fault.OPENING, f"This version knows no recipe {name!r}.")
    if not recipe.answerer:
        raise AskingError(Fault.OPENING, f"Models of the recipe {name} cannot be asked.")
    return recipe


class Desk:
    """One run that can be asked; holds at most one process with one model. Used by one thread."""

    def __init__(self, paths: RunPaths, *, limits: AskLimits, device: str = "cpu") -> None:
        """Nothing is started yet.

        Args:
            paths: of the run.
            limits: what the model may take.
            device: ``cpu`` takes nothing from a training on the GPU; else as in the recipe's parameters.

        Raises:
            ProtocolError: the run's spec cannot be read.
            AskingError: models of its recipe cannot be asked.
        """
        self._paths = paths
        self._limits = limits
        self._device = device
        self._spec = RunSpec.load(paths)
        self._recipe = askable_recipe(self._spec.recipe)
        self._process: ModelProcess | None = None
        self._open: Manifest | None = None

    @property
    def pid(self) -> int | None:
        """Of the process with the model, while there is one."""
        return None if self._process is None else self._process.pid

    def ask(self, question: Mapping[str, Any], *, wish: str | None, tell: Tell) -> dict[str, Any]:
        """Put ``question`` to a checkpoint: ``best``, ``last``, a step, or None for the best there is.

        Returns:
            ``{"answer", "checkpoint", "open_s", "answer_s"}``.

        Raises:
            AskingError: there is no answer; after all but a wrong question there is no process any more.
        """
        try:
            whole = checked(self._recipe.question, question)
        except QuestionError as exc:
            raise AskingError(Fault.QUESTION, exc.message, field=exc.field) from exc
        chosen = choose(self._paths, wish)
        newest = manifests(self._paths)[-1]
        had_one = self._process is not None
        try:
            answered = self._answered(chosen, whole, tell)
        except AskingError as fault:
            if not (had_one and fault.kind is Fault.DIED):
                raise
            answered = self._answered(chosen, whole, tell)  # it may have died between two questions
        return {**answered, "checkpoint": shown(chosen, newest=newest)}

    def look(self) -> None:
        """Between questions: let go of a process that has died or holds too much."""
        if self._process is None:
            return
        try:
            if self._process.is_alive:
                self._process.check_memory("idle")
                return
        except AskingError:
            pass  # it was ended; the next question starts another
        self.close()

    def close(self) -> None:
        """End the process; the next question starts another."""
        process, self._process, self._open = self._process, None, None
        if process is not None:
            process.end()

    def _answered(self, chosen: Manifest, question: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        try:
            began = time.monotonic()
            process = self._opened(chosen, tell)
            opened = time.monotonic()
            tell("answering", 1.0)
            request = {"do": "answer", "question": question}
            word = process.ask(request, what="answering", limit_s=self._limits.answer_s, tell=tell)
        except AskingError as fault:
            if fault.kind is not Fault.QUESTION:
                self.close()
            raise
        except BaseException:
            self.close()
            raise
        return {
            "answer": word["answer"],
            "open_s": round(opened - began, 3),
            "answer_s": round(time.monotonic() - opened, 3),
        }

    def _opened(self, chosen: Manifest, tell: Tell) -> ModelProcess:
        if self._process is not None and not self._process.is_alive:
            self.close()
        if self._process is None:
            tell("starting a process", 0.0)
            self._process = self._started()
        if self._open is None or self._open.sha256 != chosen.sha256:
            verify(self._paths, chosen)
            self._open = None
            request = {
                "do": "open",
                "checkpoint": str(file_of(self._paths, chosen)),
                "device": self._device,
            }
            self._process.ask(request, what="opening the model", limit_s=self._limits.open_s, tell=tell)
            self._open = chosen
        return self._process

    def _started(self) -> ModelProcess:
        try:
            return ModelProcess(
                command(self._paths),
                environ=environment(self._spec, self._paths, device=self._device),
                cwd=program_folder(),
                memory_bytes=self._limits.memory_bytes,
            )
        except OSError as exc:
            raise AskingError(Fault.OPENING, f"No process can be started: {exc.strerror}.") from exc
