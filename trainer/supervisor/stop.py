"""From a wish to stop to the certainty that nothing runs any more.

SIGTERM first: the trainer saves a checkpoint and leaves.  When the grace has
passed, or when somebody asks for a kill, the whole tree is killed.  A person's
script that ignores SIGTERM will never save anything, so it is not waited for
long.  Wishes come
from any thread and any number of times; only the supervisor's loop acts.
"""

from __future__ import annotations

import signal
import threading
import time
from typing import Final

from trainer.supervisor.process import Trainer
from trainer.supervisor.process_state import catches
from trainer.supervisor.tree import ProcessTree

DEAF_S: Final = 2.0  # for a script that does not take SIGTERM: to die of it, if it can


class StopLadder:
    """Remembers what was asked for, and climbs one rung when it is time."""

    def __init__(self, *, grace_s: float) -> None:
        self._grace_s = grace_s
        self._asked_at: float | None = None
        self._lock = threading.RLock()  # a signal's handler asks in the midst of whatever this thread does
        self._wants_kill = False
        self._wants_stop = False
        self._is_wish = False
        self.killed_after_s: float | None = None
        self.was_deaf = False  # that it was killed early, because it ignored the wish
        self.survivors: list[int] = []

    @property
    def requested(self) -> bool:
        """Whether anybody has asked for an end."""
        return self._wants_stop

    @property
    def wished(self) -> bool:
        """Whether the end was asked for by people, and not by the run's own policy alone."""
        return self._is_wish

    @property
    def kill_requested(self) -> bool:
        """Whether somebody did not want to wait for the grace to pass."""
        return self._wants_kill

    def request(self, *, kill: bool = False, is_wish: bool = True) -> bool:
        """Ask for an end; asking again changes nothing, unless it is for a kill. True the first time.

        ``is_wish`` is False where a policy asks and nobody in person.
        """
        with self._lock:
            self._is_wish = self._is_wish or is_wish
            first = not self._wants_stop
            self._wants_stop = True
            self._wants_kill = self._wants_kill or kill
            return first

    def end_attempt(self) -> None:
        """Forget what was done to the attempt that has ended, and its policy's wish; those of people stay."""
        with self._lock:
            self._wants_stop = self._is_wish
            self._asked_at = self.killed_after_s = None
            self.was_deaf = False
            self.survivors = []

    def advance(self, trainer: Trainer, tree: ProcessTree, *, is_script: bool = False) -> None:
        """Do what is due; called by the supervisor's loop for as long as the trainer lives.

        ``is_script`` says that it is a person's script, which need not know what SIGTERM is for.
        """
        if not self._wants_stop or self.killed_after_s is not None:
            return
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
            trainer.ask_to_stop()
        waited_s = now - self._asked_at
        if is_script and DEAF_S <= waited_s < self._grace_s and not self._wants_kill:
            self.was_deaf = not catches(trainer.pid, signal.SIGTERM)
        if self._wants_kill or self.was_deaf or waited_s >= self._grace_s:
            self.killed_after_s = waited_s
            trainer.kill()
            self.survivors = tree.kill()
