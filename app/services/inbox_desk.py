"""What the inbox page shows, and what people may do there."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from app.config import Settings
from app.domain.inbox_states import TAKEN, InboxState
from app.domain.priorities import priority_word
from app.errors import Conflict, InvalidRequest
from app.services.datasets import QUARANTINE
from app.services.inbox import REASON_ENDING, Inbox
from app.services.inbox_files import SIDECAR
from app.services.inbox_wish import BY_CONTENT, WishError, preset_params, recipe_of
from app.services.runs import Runs
from app.store import inbox as rows
from app.store.engine import Store
from app.store.inbox import Listed
from trainer.recipes.registry import recipes

_ENDED_WITHOUT_RUN: Final = frozenset(
    {InboxState.FAILED, InboxState.CANCELLED, InboxState.DUPLICATE, InboxState.DONE}
)


class InboxDesk:
    """The use cases of the inbox page; taking files is :class:`app.services.inbox.Inbox`."""

    def __init__(self, store: Store, *, settings: Settings, runs: Runs, inbox: Inbox) -> None:
        self._store = store
        self._settings = settings
        self._runs = runs
        self._inbox = inbox
        self._turn = threading.Lock()  # of two clicks on one item, the second sees what the first has done

    def view(self, *, state: InboxState | None = None, limit: int = 200, offset: int = 0) -> dict[str, Any]:
        """Switch, folder, what files without a sidecar become, and one page of items, newest first."""
        with self._store.read() as session:
            chosen = rows.choice(session)
            recipe, preset = self._inbox.recipe(session)
            return {
                "on": self._inbox.is_on(session),
                "decided_by": "settings" if chosen.is_on is None else "switch",
                "folder": str(self._settings.inbox_dir),
                "recipe": recipe,
                "preset": preset,
                "trouble": self._inbox.trouble,
                "not_listed": self._inbox.num_beyond,
                "counts": rows.counts(session),
                "items": [
                    self._to_json(one)
                    for one in rows.listed(session, state=state, limit=limit, offset=offset)
                ],
            }

    def change(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Use the switch, or choose what files without a sidecar become.

        Args:
            changes: any of ``on``, ``recipe`` and ``preset`` (None: the recipe's defaults).
        Raises:
            InvalidRequest: there is no such recipe or preset.
            Conflict: what is dropped could not be trained on with the present settings.
        """
        values = {"is_on" if name == "on" else name: value for name, value in changes.items()}
        if "recipe" in changes or "preset" in changes:
            with self._store.read() as session:
                recipe, preset = self._inbox.recipe(session)
            values["recipe"] = changes.get("recipe", recipe)
            values["preset"] = changes.get("preset") if "recipe" in changes else changes.get("preset", preset)
            self._check_choice(values["recipe"], values["preset"])
        if values.get("is_on"):
            self._check_folders()
            self._inbox.make_folders()
        self._store.write(lambda session: rows.choose(session, **values))
        self._inbox.wake()
        return self.view()

    def retry(self, item_id: str) -> dict[str, Any]:
        """Try an item again: check the file anew, train a duplicate all the same, or retry its run.

        Raises:
            NotFound: there is no such item.
            Conflict: it is under way, waiting or done.
        """
        with self._turn:
            with self._store.read() as session:
                one = rows.get(session, item_id)
            if one.state not in (InboxState.FAILED, InboxState.CANCELLED, InboxState.DUPLICATE):
                raise Conflict(f"{one.item.name} is {one.state.value}; there is nothing to try again.")
            if one.item.goal is not None:
                raise Conflict(f"{one.item.name} is just being moved.", hint="Try again in a moment.")
            if one.run is not None:
                self._runs.retry(one.run.id)
            else:
                self._begin_again(one)
        self._inbox.wake()
        with self._store.read() as session:
            return self._to_json(rows.get(session, item_id))

    def forget(self, item_id: str) -> None:
        """Take an item off the list; a file of it in quarantine moves to ``instance/trash``.

        Raises:
            NotFound: there is no such item.
            Conflict: it is under way, or its file still lies in the inbox.
        """
        with self._turn:
            with self._store.read() as session:
                one = rows.get(session, item_id)
            name = one.item.name
            if one.state in TAKEN or one.item.goal is not None:
                raise Conflict(
                    f"{name} is {one.state.value}.", hint="Stop its run first, or wait for its check."
                )
            if one.state is InboxState.WAITING:
                raise Conflict(f"{name} waits to be taken.", hint="Remove the file from the folder instead.")
            self._throw_away(one.item.path)
            self._store.write(lambda session: rows.forget(session, [item_id]))

    def _begin_again(self, one: Listed) -> None:
        """Let the thread take up an item that has no run."""
        is_stored = Path(os.fsdecode(one.item.path)).is_relative_to(self._settings.datasets_dir)
        values = {
            "state": (InboxState.CHECKING if is_stored else InboxState.WAITING).value,
            "reason": None,
            "tries": one.item.tries + 1,
            "is_forced": one.item.is_forced or one.state is InboxState.DUPLICATE,
        }
        self._store.write(lambda session: rows.change(session, one.item.id, old=_ENDED_WITHOUT_RUN, **values))

    def _throw_away(self, path: bytes) -> None:
        """Move what lies in quarantine, with reason and sidecar, to the trash; everything else stays."""
        quarantine = os.fsencode(self._settings.inbox_dir / QUARANTINE) + b"/"
        if not path.startswith(quarantine):
            return
        trash = self._settings.instance / "trash"
        trash.mkdir(mode=0o700, exist_ok=True)
        for ending in (b"", REASON_ENDING, SIDECAR):
            old = Path(os.fsdecode(path + ending))
            if os.path.lexists(old):
                _move_to(trash, old)

    def _check_choice(self, recipe: str, preset: str | None) -> None:
        if recipe == BY_CONTENT:
            if preset is not None:
                raise InvalidRequest("belongs to a recipe; choose one first", field="preset")
            return
        try:
            preset_params(recipe_of(recipe), preset)
        except WishError as exc:
            field = "recipe" if recipe not in recipes() else "preset"
            raise InvalidRequest(str(exc), field=field) from exc

    def _check_folders(self) -> None:
        """Refuse to take files that no run could be made of."""
        target = os.path.realpath(self._settings.datasets_dir)
        roots = [os.path.realpath(root) for root in self._settings.dataset_roots]
        if not any(Path(target).is_relative_to(root) for root in roots):
            raise Conflict(
                f"{target} is none of the dataset folders, so what is dropped could not be trained on.",
                hint="Add it to dataset_roots in signalbox.toml and restart the dashboard.",
            )

    def _to_json(self, one: Listed) -> dict[str, Any]:
        item, run = one.item, one.run
        reason = item.reason
        if run is not None and one.state in (InboxState.FAILED, InboxState.CANCELLED, InboxState.DONE):
            reason = run.reason
        wish = item.wish or {}
        return {
            "id": item.id,
            "name": item.name,
            "state": one.state.value,
            "reason": reason,
            "priority": priority_word(item.priority if run is None else run.priority),
            "folder": os.fsdecode(os.path.dirname(item.path)).encode("utf-8", "replace").decode(),  # noqa: PTH120 - bytes
            "bytes": item.num_bytes,
            "sha256": item.sha256,
            "facts": item.facts,
            "recipe": wish.get("recipe") or None,
            "run": None if run is None else {"id": run.id, "name": run.name, "state": run.state},
            "can_retry": item.goal is None
            and one.state in (InboxState.FAILED, InboxState.CANCELLED, InboxState.DUPLICATE),
            "can_forget": item.goal is None and one.state not in {*TAKEN, InboxState.WAITING},
            "created_at": item.created_at,
            "changed_at": item.changed_at,
        }


def _move_to(trash: Path, old: Path) -> None:
    """Move one file into the trash under a name that is free there; across file systems it is deleted."""
    try:
        old.rename(trash / f"{int(time.time() * 1000)}-{old.name}"[:250])
    except OSError:
        old.unlink(missing_ok=True)
