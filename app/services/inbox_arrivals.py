"""Takes note of what lies in the inbox, and knows which files are complete.

Complete is what looked the same twice in a row, at least two seconds apart, and
is open for writing nowhere.  A file that a run needs where it is stays there.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Any, Final

from sqlalchemy.orm import Session

from app.domain.inbox_states import InboxState
from app.services import inbox_files as files
from app.services.datasets import QUARANTINE
from app.services.inbox_files import Look
from app.services.run_ids import new_run_id
from app.store import inbox as rows
from app.store.engine import Store
from app.store.models import InboxItem

_ARRIVING: Final = "Still arriving: it changed a moment ago."
_WRITTEN: Final = "Another program still has it open for writing."
_LEFT: Final = {
    "folder": "Is a folder and was left where it is; put the files themselves into the inbox.",
    "link": "Is a symbolic link and was left where it is; put the file itself into the inbox.",
    "other": "Is no regular file and was left where it is; put a file into the inbox.",
}


class Arrivals:
    """What was seen at the last look; nothing of it needs to survive a restart."""

    def __init__(self, store: Store, *, inbox: Path, settled_s: float) -> None:
        """Args:
        store: where items are kept.
        inbox: the folder.
        settled_s: how long a file must not have changed.
        """
        self._store = store
        self._settled_s = settled_s
        self._inbox = inbox
        self._since: dict[bytes, tuple[Look, float]] = {}  # path -> what it looked like, and since when
        self._complete: set[bytes] = set()

    def is_complete(self, item: InboxItem) -> bool:
        """Whether a waiting item may be taken: what waits in quarantine was complete before."""
        return item.path in self._complete or _is_in_quarantine(item.path, self._inbox)

    def take_note(self) -> int:
        """Compare the folder with the rows; how many entries are beyond what is noted at once.

        Raises:
            OSError: the folder cannot be read.
            Unavailable: the database cannot be read or written now.
        """
        looks, num_beyond = files.look_around(self._inbox)
        now = time.monotonic()
        self._since = {
            look.path: known if (known := self._since.get(look.path)) and known[0] == look else (look, now)
            for look in looks
        }
        with self._store.read() as session:
            waiting = {
                item.path: item
                for item in rows.waiting(session)
                if not _is_in_quarantine(item.path, self._inbox)
            }
            left = {item.path: item for item in rows.left_in_place(session, [look.path for look in looks])}
            told = {look.path: self._told(session, look, now) for look in looks}
        self._complete = {path for path, reason in told.items() if reason is None}
        fresh = [
            _item(look, told[look.path])
            for look in looks
            if look.path not in waiting and not _is_same(left.get(look.path), look)
        ]
        gone = [item.id for path, item in waiting.items() if path not in told and not os.path.lexists(path)]
        changes = {
            item.id: changed
            for path, item in waiting.items()
            if path in told and (changed := _changes(item, self._since[path][0], told[path]))
        }
        if fresh or gone or changes:
            self._store.write(lambda session: _store(session, fresh, gone, changes))
        return num_beyond

    def _told(self, session: Session, look: Look, now: float) -> str | None:
        """Why a file cannot be taken yet; None when it can."""
        if look.kind != "file":
            return _LEFT[look.kind]
        if now - self._since[look.path][1] < self._settled_s:
            return _ARRIVING
        if files.is_being_written(look.path):
            return _WRITTEN
        if look.path in self._complete:
            return None
        users = (
            rows.users_of(session, os.path.realpath(os.fsdecode(look.path))) if _is_text(look.path) else []
        )
        if users:
            return f"Stays where it is: {', '.join(users)} trains on this very file. Give it another name."
        return None


def _store(
    session: Session, fresh: list[InboxItem], gone: list[str], changes: dict[str, dict[str, Any]]
) -> None:
    rows.add(session, fresh)
    rows.forget(session, gone, old=[InboxState.WAITING])
    for item_id, values in changes.items():
        rows.change(session, item_id, old=[InboxState.WAITING], **values)


def _item(look: Look, reason: str | None) -> InboxItem:
    """A row for what was found; a thousand of them are made at once, so ids need more chance than a run's."""
    now = time.time()
    state = InboxState.WAITING if look.kind == "file" else InboxState.FAILED
    return InboxItem(
        id=new_run_id(now=now) + secrets.token_hex(4),
        name=look.name,
        state=state.value,
        reason=reason,
        priority=look.priority,
        path=look.path,
        num_bytes=look.num_bytes if look.kind == "file" else 0,
        mtime_ns=look.mtime_ns,
        inode=look.inode,
        created_at=now,
        changed_at=now,
    )


def _changes(item: InboxItem, look: Look, reason: str | None) -> dict[str, Any]:
    """Columns of a waiting row that are no longer right."""
    seen: dict[str, Any] = {
        "num_bytes": look.num_bytes,
        "mtime_ns": look.mtime_ns,
        "inode": look.inode,
        "reason": reason,
    }
    if look.kind != "file":
        seen["state"] = InboxState.FAILED.value
    return {name: value for name, value in seen.items() if getattr(item, name) != value}


def _is_same(item: InboxItem | None, look: Look) -> bool:
    """Whether it was listed before and left where it is; a regular file never is."""
    return item is not None and look.kind != "file" and item.inode == look.inode


def _is_text(path: bytes) -> bool:
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_in_quarantine(path: bytes, inbox: Path) -> bool:
    return path.startswith(os.fsencode(inbox / QUARANTINE) + b"/")
