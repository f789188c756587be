"""Takes dropped datasets from the folder to the queue; a crash at any point neither loses nor doubles one.

Every step is written down before it is done: a row tells where a file lies
(``path``) and, while it is being moved, where to (``goal``).  Whatever was
begun is completed first after every start, by doing the step again:

    waiting   in the inbox (or back in quarantine, after a click on Retry)
    checking  in ``.taken``: is read, hashed and compared; then in ``datasets/inbox``: gets its run
    queued    has its run; from here on the run tells where it stands
    failed, duplicate  in ``quarantine`` with ``NAME.reason.txt``, or left where it is if it is no file
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sqlalchemy.orm import Session

from app.config import Settings
from app.domain.inbox_states import InboxState
from app.errors import Conflict, InvalidRequest, Unavailable
from app.services import inbox_files as files
from app.services.datasets import QUARANTINE
from app.services.inbox_arrivals import Arrivals
from app.services.inbox_check import Checker, CheckTrouble
from app.services.inbox_wish import BY_CONTENT, WishError, read_sidecar, recipe_by_content, wish_of
from app.services.queue import RunFeed
from app.store import inbox as rows
from app.store.engine import Store
from app.store.models import InboxItem, Run
from trainer.protocol.files import write_atomic
from trainer.recipes.registry import recipes

LOOK_EVERY_S: Final = 2.0
TRY_AGAIN_S: Final = 30.0
MAX_AHEAD: Final = 50  # runs of dropped files that may wait in the queue, counted from their priority up
MAX_BEGUN: Final = 3  # files taken that have to wait, for space on the disk perhaps: take no more
MAX_BYTES: Final = 16 * 1024**3
_STORED: Final = "inbox"  # folder below the datasets
log: Final = logging.getLogger(__name__)


class Inbox:
    """A thread that looks into the folder while the switch is on."""

    def __init__(
        self,
        store: Store,
        *,
        settings: Settings,
        create_run: Callable[..., tuple[Run, bool]],
        live: RunFeed,
        checker: Checker,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        """Wire it; nothing is touched before :meth:`start`.

        Args:
            store: where items are kept.
            settings: folders, and whether it is on while nobody has used the switch.
            create_run: queues a run; with a key that was used before, returns the run it made.
            live: told when an item was handed to a run.
            checker: says whether a file can be trained on.
            look_every_s: pause between two looks; a file is complete when it is the same in both.
        """
        self._store = store
        self._settings = settings
        self._create_run = create_run
        self._live = live
        self._checker = checker
        self._look_every_s = look_every_s
        self._arrivals = Arrivals(store, inbox=settings.inbox_dir, settled_s=0.9 * look_every_s)
        self._not_before: dict[str, float] = {}  # item id -> monotonic time of its next try
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_note = 0.0  # monotonic
        self.trouble: str | None = None
        self.num_beyond = 0

    def start(self) -> None:
        """Start the thread; once. The folder is there from now on, also to choose files from by hand."""
        with contextlib.suppress(OSError):  # told when it is needed
            self._settings.inbox_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._thread = threading.Thread(target=self._loop, name="inbox", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take nothing further; what is begun is completed after the next start."""
        self._closing.set()
        self._wake.set()
        self._checker.close()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Look now: the switch was used, or somebody wants a retry."""
        self._not_before = {}
        self._wake.set()

    def is_on(self, session: Session) -> bool:
        """Whether dropped files are taken."""
        chosen = rows.choice(session).is_on
        return self._settings.inbox if chosen is None else chosen

    def recipe(self, session: Session) -> tuple[str, str | None]:
        """Recipe and preset for files without a sidecar; the recipe may be ``BY_CONTENT``."""
        chosen = rows.choice(session)
        return (chosen.recipe or BY_CONTENT, chosen.preset if chosen.recipe else None)

    def look(self) -> bool:
        """Complete what was begun, take note of what is new, and take one file; whether one was taken.

        Raises:
            OSError: the folder cannot be read or made.
            Unavailable: the database cannot be read or written now.
        """
        self._complete_begun()
        with self._store.read() as session:
            if not self.is_on(session):
                return False
        self.make_folders()
        if time.monotonic() >= self._next_note:
            self.num_beyond = self._arrivals.take_note()
            self._next_note = time.monotonic() + 0.95 * self._look_every_s
        chosen = self._next()
        if chosen is None:
            return False
        self._claim(chosen)
        self._complete_begun()
        return True

    def make_folders(self) -> None:
        """Create the inbox with its subfolders."""
        for name in ("high", "normal", "low", QUARANTINE, files.TAKEN):
            (self._settings.inbox_dir / name).mkdir(parents=True, exist_ok=True, mode=0o700)

    def _loop(self) -> None:
        while not self._closing.is_set():
            self._wake.clear()
            try:
                while not self._closing.is_set() and self.look():
                    pass
                self.trouble = None
            except Unavailable as exc:
                self.trouble = exc.message
            except OSError as exc:
                self.trouble = f"{exc.filename or self._settings.inbox_dir}: {exc.strerror}"
                log.warning("inbox: %s", self.trouble)
            except Exception:  # one odd file must not end all taking
                self.trouble = "an unexpected error, see the server's log"
                log.exception("inbox met an unexpected error")
            self._wake.wait(self._look_every_s)

    def _next(self) -> InboxItem | None:
        """The complete file that is next, if the queue has not got enough of its kind already."""
        with self._store.read() as session:
            if len(rows.unfinished(session)) >= MAX_BEGUN:
                return None
            for item in rows.waiting(session):
                if not self._arrivals.is_complete(item):
                    continue
                if rows.num_queued(session, priority=item.priority) >= MAX_AHEAD:
                    return None
                return item
        return None

    def _claim(self, item: InboxItem) -> None:
        """Write down that the file is taken, and how it is to be trained; nothing is moved yet."""
        waiting = frozenset({InboxState.WAITING})
        sidecar = None
        if not os.path.lexists(item.path) and not self._is_in(
            item.path, self._settings.inbox_dir / QUARANTINE
        ):
            return  # taken back; the next look takes note of it
        with self._store.read() as session:
            recipe, preset = self.recipe(session)
        try:
            sidecar = read_sidecar(item.path + files.SIDECAR)
            if item.num_bytes > MAX_BYTES:
                raise WishError(_TOO_LARGE)
            wish, priority = wish_of(sidecar, recipe=recipe, preset=preset)
        except WishError as exc:
            self._put_aside(item, InboxState.FAILED, str(exc), old=waiting, sidecar=sidecar)
            return
        place = self._settings.inbox_dir / files.TAKEN / item.id
        _, ending = files.safe_name(os.path.basename(item.path))  # noqa: PTH119 - bytes
        values = {
            "state": InboxState.CHECKING.value,
            "goal": os.fsencode(place / f"dataset{ending}"),
            "reason": None,
            "sidecar": sidecar,
            "wish": wish,
            "priority": item.priority if priority is None else priority,
        }
        self._write(item, old=waiting, **values)

    def _complete_begun(self) -> None:
        """Bring everything that was begun to its end, or to where it has to wait."""
        with self._store.read() as session:
            begun = rows.unfinished(session)
        now = time.monotonic()
        for item in begun:
            if self._closing.is_set() or now < self._not_before.get(item.id, 0.0):
                continue
            try:
                present: InboxItem | None = item
                while present is not None and _is_begun(present):
                    present = self._advance(present)
            except files.Interrupted:
                return
            except (CheckTrouble, Unavailable, OSError, _NotYet) as exc:
                self._postpone(item, exc)

    def _advance(self, item: InboxItem) -> InboxItem | None:
        """The one step that is next for an item that was begun; returns it as it is then."""
        if item.goal is not None:
            return self._move(item)
        if self._is_in(item.path, self._settings.datasets_dir / _STORED):
            return self._hand_over(item)
        return self._check(item)

    def _move(self, item: InboxItem) -> InboxItem | None:
        """Complete the move that was written down."""
        source, goal = item.path, item.goal or item.path
        expected = (item.inode, item.num_bytes, item.mtime_ns)
        try:
            found = files.move(source, goal, expected=expected, should_stop=self._closing.is_set)
        except files.Vanished:
            return self._write(item, state=InboxState.FAILED.value, goal=None, reason=_VANISHED)
        self._tidy_up(item, source, goal)
        return self._write(
            item,
            path=goal,
            goal=None,
            num_bytes=found.st_size,
            mtime_ns=found.st_mtime_ns,
            inode=files.inode_of(found),
        )

    def _tidy_up(self, item: InboxItem, source: bytes, goal: bytes) -> None:
        """What goes with a move: the sidecar and the reason, the empty folder that is left."""
        with contextlib.suppress(WishError):
            if item.sidecar is not None and read_sidecar(source + files.SIDECAR) == item.sidecar:
                Path(os.fsdecode(source + files.SIDECAR)).unlink(missing_ok=True)
        quarantine = self._settings.inbox_dir / QUARANTINE
        if self._is_in(source, quarantine):
            Path(os.fsdecode(source + REASON_ENDING)).unlink(missing_ok=True)
        if self._is_in(goal, quarantine):
            write_atomic(Path(os.fsdecode(goal + REASON_ENDING)), f"{item.name}: {item.reason}\n".encode())
            if item.sidecar is not None:
                write_atomic(Path(os.fsdecode(goal + files.SIDECAR)), item.sidecar.encode())
        if self._is_in(source, self._settings.inbox_dir / files.TAKEN / item.id):
            with contextlib.suppress(OSError):
                Path(os.fsdecode(source)).parent.rmdir()

    def _check(self, item: InboxItem) -> InboxItem | None:
        """Read, hash and compare a file that was taken; then it knows where it goes."""
        if files.is_being_written(item.path):
            raise _NotYet("Another program still has it open for writing.")
        try:
            before = os.lstat(item.path)
        except FileNotFoundError:
            return self._write(item, state=InboxState.FAILED.value, reason=_VANISHED)
        if not stat.S_ISREG(before.st_mode):
            return self._put_aside(item, InboxState.FAILED, "Is no regular file.")
        wish = item.wish or {}
        recipe = recipes().get(wish.get("recipe", BY_CONTENT))
        kinds = recipe.dataset_kinds if recipe is not None else ()
        verdict = self._checker.check(Path(os.fsdecode(item.path)), kinds=kinds)
        after = os.lstat(item.path)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise _NotYet("It was changed while it was being read.")
        if not verdict["ok"]:
            told = str(verdict["error"]).replace(os.fsdecode(item.path), item.name)
            return self._put_aside(item, InboxState.FAILED, told)
        if recipe is None:
            try:
                wish, _ = wish_of(item.sidecar, recipe=recipe_by_content(str(verdict["kind"])), preset=None)
            except WishError as exc:
                return self._put_aside(item, InboxState.FAILED, str(exc))
        sha256 = str(verdict["sha256"])
        facts = {name: verdict.get(name) for name in ("kind", "num_pairs", "num_groups")}
        with self._store.read() as session:
            twin = None if item.is_forced else rows.same_content(session, sha256, but=item.id)
        if twin is not None:
            told = f"Has the same content as {twin.item.name}, which is {twin.state.value}."
            return self._put_aside(item, InboxState.DUPLICATE, told, sha256=sha256, facts=facts)
        stem, _ = files.safe_name(os.fsencode(item.name))
        ending = _ENDINGS.get(Path(os.fsdecode(item.path)).suffix, Path(os.fsdecode(item.path)).suffix)
        return self._write_goal(
            item, self._settings.datasets_dir / _STORED, stem, ending,
            reason=None, sha256=sha256, facts=facts, wish=wish,
        )  # fmt: skip

    def _hand_over(self, item: InboxItem) -> InboxItem | None:
        """Queue the run of a file among the datasets; after a crash the key finds the run made before it."""
        wish = dict(item.wish or {})
        try:
            run, _ = self._create_run(
                wish.pop("recipe"),
                os.fsdecode(item.path),
                wish.pop("params"),
                priority=item.priority,
                idempotency_key=f"inbox-{item.id}-{item.tries}",
                **wish,
            )
        except (InvalidRequest, Conflict, KeyError) as exc:
            return self._put_aside(item, InboxState.FAILED, f"No run can be made of it: {exc}")
        handed = self._write(item, state=InboxState.QUEUED.value, run_id=run.id, reason=None)
        self._live.run_changed(run.id)
        return handed

    def _put_aside(
        self,
        item: InboxItem,
        state: InboxState,
        reason: str,
        *,
        old: frozenset[InboxState] | None = None,
        **values: Any,
    ) -> InboxItem | None:
        """Write down that the file goes to quarantine, and why."""
        stem, ending = files.safe_name(os.fsencode(item.name))
        quarantine = self._settings.inbox_dir / QUARANTINE
        log.info("inbox: %s: %s", item.name, reason)
        if self._is_in(item.path, quarantine):  # a retry that has failed before it was moved
            write_atomic(Path(os.fsdecode(item.path + REASON_ENDING)), f"{item.name}: {reason}\n".encode())
            return self._write(item, old=old, state=state.value, reason=reason, **values)
        return self._write_goal(
            item, quarantine, stem, ending, old=old, state=state.value, reason=reason, **values
        )

    def _write_goal(
        self,
        item: InboxItem,
        folder: Path,
        stem: str,
        ending: str,
        *,
        old: frozenset[InboxState] | None = None,
        **values: Any,
    ) -> InboxItem | None:
        def work(session: Session) -> InboxItem | None:
            goal = files.free_name(
                folder, stem, ending, is_taken=lambda path: rows.is_taken_path(session, path)
            )
            return rows.change(session, item.id, old=old, goal=goal, **values)

        return self._store.write(work)

    def _write(
        self, item: InboxItem, *, old: frozenset[InboxState] | None = None, **values: Any
    ) -> InboxItem | None:
        return self._store.write(lambda session: rows.change(session, item.id, old=old, **values))

    def _postpone(self, item: InboxItem, cause: Exception) -> None:
        """Say why an item has to wait, and try it again later."""
        told = cause.strerror if isinstance(cause, OSError) else str(cause)
        pause_s = self._look_every_s if isinstance(cause, _NotYet) else TRY_AGAIN_S
        self._not_before[item.id] = time.monotonic() + pause_s
        log.warning("inbox: %s has to wait: %s", item.name, told)
        reason = f"{told or type(cause).__name__} It is tried again by itself."
        with contextlib.suppress(Unavailable):
            self._write(item, old=frozenset({InboxState.CHECKING}), reason=reason)

    def _is_in(self, path: bytes, folder: Path) -> bool:
        return Path(os.fsdecode(path)).is_relative_to(folder)


class _NotYet(Exception):
    """The file cannot be used at this moment; the message says why."""


def _is_begun(item: InboxItem) -> bool:
    return item.goal is not None or item.state == InboxState.CHECKING


REASON_ENDING: Final = b".reason.txt"
_VANISHED: Final = "It was taken away before it could be used."
_ENDINGS: Final = {".ndjson": ".jsonl"}  # the same thing under the name that the dataset list knows
_TOO_LARGE: Final = (
    f"is larger than {MAX_BYTES // 1024**3} GiB; put it into instance/datasets yourself and start a run on it"
)
