"""Which probes hold a text: in their id, in what was asked or expected, or in what was answered.

Answers lie packed in blocks. They are unpacked at the first search in a snapshot, and what was searched
last is kept: the letters of a word that somebody types are one reading.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.services.evolution_examples import answered_texts
from app.services.evolution_probes import Probes
from app.store.models import Snapshot
from app.store.snapshots import Moment

_KEPT_CHARACTERS: Final = 32 * 1024 * 1024


class AnswerSearch:
    """Searches snapshots; safe for threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, float], list[str]] = OrderedDict()
        self._sizes: dict[tuple[int, int, float], int] = {}
        self._lock = threading.Lock()

    def rows(
        self, session: Session, snapshot: Snapshot | Moment, probes: Probes, q: str | None
    ) -> NDArray[np.intp]:
        """The probes that hold ``q``, without regard to case, in their order; all of them without ``q``."""
        if not q:
            return np.arange(len(probes.ids))
        words = q.casefold()
        answers = self._answers(session, snapshot, probes)
        texts = enumerate(zip(probes.sought_in, answers, strict=True))
        return np.array([row for row, (own, answer) in texts if words in own or words in answer], np.intp)

    def _answers(self, session: Session, snapshot: Snapshot | Moment, probes: Probes) -> list[str]:
        key = (snapshot.id, snapshot.attempt, snapshot.t)  # ids alone are given anew
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        texts = answered_texts(session, snapshot, probes)
        folded = {
            text: text.casefold() for text in set(texts)
        }  # many probes have one answer: it is kept once
        found = [folded[text] for text in texts]
        with self._lock:
            self._kept[key] = found
            self._sizes[key] = sum(map(len, folded.values()))
            while len(self._kept) > 1 and sum(self._sizes.values()) > _KEPT_CHARACTERS:
                self._sizes.pop(self._kept.popitem(last=False)[0])
        return found
