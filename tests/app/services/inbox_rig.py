"""An inbox on a real store whose checks run in this process, with the readers that training uses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.domain.inbox_states import InboxState
from app.services.inbox import Inbox
from app.services.inbox_desk import InboxDesk
from app.store import inbox as rows
from tests.app.services.run_rig import Rig
from trainer.datasets.checking import check
from trainer.datasets.records import DatasetError


@dataclass
class ReadingChecker:
    """Reads the file right here; ``before`` is called with its path first."""

    before: Callable[[Path], None] = lambda path: None
    checked: list[Path] = field(default_factory=list)

    def check(self, path: Path, *, kinds: Sequence[str] = ()) -> dict[str, Any]:
        self.before(path)
        self.checked.append(path)
        try:
            found = check(path, lambda detail, fraction: None, kind_names=kinds)
            return {"ok": True, **found.to_json()}
        except DatasetError as exc:
            return {"ok": False, "error": str(exc)}

    def close(self) -> None:
        pass


@dataclass
class InboxRig:
    """The inbox of one instance; ``reopen`` stands for a restart of the web process."""

    rig: Rig
    checker: ReadingChecker = field(default_factory=ReadingChecker)
    look_every_s: float = 0.0

    def __post_init__(self) -> None:
        self.rig.store.write(lambda session: rows.choose(session, is_on=True))
        self.reopen()
        self.inbox.make_folders()

    def reopen(self, *, store: Any = None, create_run: Callable[..., Any] | None = None) -> None:
        rig = self.rig
        self.inbox = Inbox(
            store or rig.store,
            settings=rig.settings,
            create_run=create_run or rig.runs.create,
            live=rig.live,
            checker=self.checker,
            look_every_s=self.look_every_s,
        )
        self.desk = InboxDesk(rig.store, settings=rig.settings, runs=rig.runs, inbox=self.inbox)

    @property
    def folder(self) -> Path:
        return self.rig.settings.inbox_dir

    def drop(self, name: str | bytes, content: str | bytes, *, sidecar: object = None) -> Path:
        """Put a file into the inbox, and its sidecar first."""
        path = self.folder / os.fsdecode(name)
        if sidecar is not None:
            text = sidecar if isinstance(sidecar, str) else json.dumps(sidecar)
            path.with_name(f"{path.name}.json").write_text(text)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def drain(self) -> None:
        """Look until nothing is taken any more."""
        for _ in range(2):
            while self.inbox.look():
                pass

    def states(self) -> dict[str, str]:
        """Where each name stands."""
        return {one["name"]: one["state"] for one in self.desk.view()["items"]}

    def item(self, name: str) -> dict[str, Any]:
        """The newest item of this name."""
        found: dict[str, Any] = next(one for one in self.desk.view()["items"] if one["name"] == name)
        return found

    def path_of(self, item_id: str) -> bytes:
        with self.rig.store.read() as session:
            return rows.get(session, item_id).item.path

    def state_of(self, item_id: str) -> InboxState:
        with self.rig.store.read() as session:
            return rows.get(session, item_id).state


def pairs(number: int = 4, *, word: str = "w") -> str:
    """A sound dataset of some pairs."""
    lines = [{"query": f"{word}{n} q", "document": f"{word}{n} d"} for n in range(number)]
    return "".join(json.dumps(line) + "\n" for line in lines)
