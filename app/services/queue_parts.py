"""Everything around the queue, wired in one place."""

from __future__ import annotations

from dataclasses import dataclass

from app.config import Settings
from app.launchers.launcher import Launcher
from app.services.inbox import Inbox
from app.services.inbox_check import ProcessChecker
from app.services.inbox_desk import InboxDesk
from app.services.queue import RunFeed, RunQueue
from app.services.queue_desk import QueueDesk
from app.services.run_ending import EndingDesk
from app.services.runs import Runs
from app.store.engine import Store


@dataclass(frozen=True)
class QueueParts:
    """The use cases of queue and inbox, and the inbox's thread."""

    desk: QueueDesk
    endings: EndingDesk
    inbox: Inbox
    inbox_desk: InboxDesk


def build_queue_parts(
    store: Store, *, settings: Settings, launcher: Launcher, live: RunFeed, queue: RunQueue, runs: Runs
) -> QueueParts:
    """Wire them; nothing is started."""
    inbox = Inbox(store, settings=settings, create_run=runs.create, live=live, checker=ProcessChecker())
    return QueueParts(
        desk=QueueDesk(store, settings=settings, live=live, runs=runs, wake_queue=queue.wake),
        endings=EndingDesk(
            store,
            settings=settings,
            launcher=launcher,
            live=live,
            is_launching=queue.is_launching,
            wake_queue=queue.wake,
        ),
        inbox=inbox,
        inbox_desk=InboxDesk(store, settings=settings, runs=runs, inbox=inbox),
    )
