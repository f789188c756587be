"""Probes that people add to a run: kept in its folder, where its training and back-fills find them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from app.domain.snapshots import plain_name
from app.errors import Conflict, InvalidRequest, NotFound
from app.services.runs import Runs
from app.store import snapshots
from app.store.engine import Store
from app.store.models import Run
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import write_atomic
from trainer.protocol.probe_files import (
    AddedProbe,
    ProbeRowError,
    added_name,
    checked_probes,
    lines_of,
    probes_path,
    read_probes,
    rows_of,
)
from trainer.recipes.registry import recipes

NOTE: Final = (
    "A training that goes on asks these from its next snapshot on; what it would have said before, its "
    "checkpoints tell. Each change begins a new set, and only answers to the newest set are compared."
)
_MEANING: Final = {
    "retrieval": "the id, the title or the whole text of the document to be found",
    "classification": "one of the labels",
    "language_model": "how the text should go on",
}


class RunProbes:
    """Reads and writes ``probes.jsonl`` of run folders; one writer at a time."""

    def __init__(self, runs: Runs, *, store: Store) -> None:
        """Wire it.

        Args:
            runs: where their folders are.
            store: knows what has been answered.
        """
        self._runs, self._store = runs, store
        self._lock = threading.Lock()

    def show(self, run_id: str) -> dict[str, Any]:
        """``{"probes", "dataset", "expects", "note", "has_answers"}``; ``dataset`` names their snapshots.

        Raises:
            NotFound: there is no such run.
            Conflict: the file cannot be read.
        """
        run = self._runs.get(run_id)
        return self._shown(run, self._read(run_id))

    def add(self, run_id: str, rows: Sequence[Any], *, replace: bool = False) -> dict[str, Any]:
        """Add probes, or put them in the place of all there are.

        Raises:
            NotFound: there is no such run.
            Conflict: models of its recipe cannot be asked, or its folder is not here.
            InvalidRequest: a row is wrong; ``field`` and message name it. Nothing is added then.
        """
        run = self._runs.get(run_id)
        recipe = recipes().get(run.recipe)
        if recipe is None or not recipe.rebuild:
            raise Conflict(f"Checkpoints of the recipe {run.recipe} cannot be asked added probes.")
        if not self._runs.paths(run_id).spec.is_file():
            raise Conflict("The run's folder is not on this machine, so nothing can be added to it.")
        with self._lock:
            known = [] if replace else self._read(run_id)
            try:
                added = checked_probes(rows, known=[one.example_id for one in known])
            except ProbeRowError as exc:
                raise _refused(exc) from exc
            if not added and not replace:
                raise InvalidRequest("there is no probe among what was sent", field="probes")
            path = probes_path(self._runs.paths(run_id))
            write_atomic(path, lines_of([*known, *added]), mode=0o600)
        return self._shown(run, [*known, *added])

    def add_lines(self, run_id: str, content: bytes, *, replace: bool = False) -> dict[str, Any]:
        """The same from JSON lines."""
        try:
            rows = rows_of(content)
        except ProbeRowError as exc:
            raise _refused(exc) from exc
        return self.add(run_id, rows, replace=replace)

    def remove(self, run_id: str, example_id: str) -> dict[str, Any]:
        """Take one of them away; what it has answered stays where it is.

        Raises:
            NotFound: there is no such run, or no such probe.
            Conflict: the file cannot be read.
        """
        run = self._runs.get(run_id)
        with self._lock:
            known = self._read(run_id)
            kept = [one for one in known if one.example_id != example_id]
            if len(kept) == len(known):
                raise NotFound(
                    f"Run {run_id} has no added probe {example_id[:60]!r}.",
                    hint=f"GET /api/runs/{run_id}/probes lists them.",
                )
            write_atomic(probes_path(self._runs.paths(run_id)), lines_of(kept), mode=0o600)
        return self._shown(run, kept)

    def _read(self, run_id: str) -> list[AddedProbe]:
        try:
            return read_probes(probes_path(self._runs.paths(run_id)))
        except ProtocolError as exc:
            raise Conflict(
                f"The added probes cannot be read: {exc}", hint="Send them anew, to replace."
            ) from exc

    def _shown(self, run: Run, probes: Sequence[AddedProbe]) -> dict[str, Any]:
        recipe, dataset = recipes().get(run.recipe), added_name(plain_name(run.dataset))
        with self._store.read() as session:
            has_answers = snapshots.has_snapshots(session, run.id, dataset)
        return {
            "probes": [one.to_json() for one in probes],
            "dataset": dataset,
            "expects": _MEANING.get(recipe.task, "the right answer") if recipe else "the right answer",
            "note": NOTE,
            "has_answers": has_answers,
        }


def _refused(error: ProbeRowError) -> InvalidRequest:
    field = f"probes.{error.row - 1}" + (f".{error.field}" if error.field else "")
    return InvalidRequest(
        f"The probes: {error}.", field=field, hint="Nothing was added: put the row right and send all again."
    )
