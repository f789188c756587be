"""Where a model places its examples, step by step, on one plane.

A map is calculated from the vectors of all snapshots of a run and kept until
a snapshot comes or goes. Shape suffixes: N examples.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session
from threadpoolctl import threadpool_limits

from app.domain.projection import Projection, project
from app.services.evolution_examples import is_correct
from app.services.evolution_neighbours import neighbours_at
from app.services.evolution_placed import Placed, placed
from app.services.evolution_probes import Probes, ProbeShelf
from app.store import snapshots, vectors
from app.store.engine import Store
from app.store.snapshots import Moment

METHOD: Final = "pca"
_KEPT_MAPS: Final = 4
_DECIMALS: Final = 4
_SHOWN_CHARACTERS: Final = 120  # of an example's text, to point at


@dataclass(frozen=True)
class _Map:
    """A map that has been calculated; ``version`` changes with the snapshots it is of."""

    version: str
    steps: list[int]
    projection: Projection
    correct_N: list[NDArray[np.uint8]]
    bounds: list[list[float]]


class EvolutionMaps:
    """Calculates maps and keeps those that were looked at last; finds neighbours."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shelf = ProbeShelf()
        self._lock = threading.Lock()
        self._maps: OrderedDict[tuple[str, str], _Map] = OrderedDict()

    def map(
        self, dataset: str, *, run: str | None = None, step: int | str | None = None, with_probes: bool = True
    ) -> dict[str, Any]:
        """The places of all examples, at every step or at one.

        Args:
            dataset: plain name.
            run: which run; default the newest.
            step: only this frame: a step, or ``latest``, ``first``, ``best``.
            with_probes: also tell what the points are.
        Raises:
            NotFound: no such dataset, run or step.
            NoVectors: the run's snapshots, or this one, do not say where the examples lie.
        """
        with self._store.read() as session:
            found = placed(session, dataset, run)
            chosen = None if step is None else found.choose(session, step)
            drawn = self._drawn(session, found)
            probes = self._shelf.of(session, found.newest.probe_set) if with_probes else None
        numbers = range(len(drawn.steps)) if chosen is None else [drawn.steps.index(chosen.step)]
        first, second = drawn.projection.explained
        return {
            "dataset": dataset,
            "run": found.run_id,
            "task": found.newest.task,
            "method": METHOD,
            "version": drawn.version,
            "steps": drawn.steps,
            "probes": [] if probes is None else _points(probes, found.newest.task),
            "frames": [_frame(drawn, number) for number in numbers],
            "explained": [round(first, _DECIMALS), round(second, _DECIMALS)],
            "bounds": drawn.bounds,
        }

    def neighbours(
        self, dataset: str, step: int | str, *, example_id: str, k: int, run: str | None = None
    ) -> dict[str, Any]:
        """The examples nearest to one at a step, see :func:`neighbours_at`.

        Raises:
            NotFound: no such dataset, run, step or example.
            NoVectors: the snapshots do not say where the examples lie.
        """
        with self._store.read() as session:
            found = placed(session, dataset, run)
            probes = self._shelf.of(session, found.newest.probe_set)
            return neighbours_at(session, found, probes, step, example_id=example_id, k=k)

    def _drawn(self, session: Session, found: Placed) -> _Map:
        """The map of these snapshots, calculated once however many ask for it."""
        key = (found.run_id, found.dataset)
        version = _version(found.moments)
        with self._lock:
            kept = self._maps.get(key)
            if kept is None or kept.version != version:
                kept = _draw(session, found.moments, version)
                self._maps[key] = kept
            self._maps.move_to_end(key)
            while len(self._maps) > _KEPT_MAPS:
                self._maps.popitem(last=False)
            return kept


def _draw(session: Session, taken: Sequence[Moment], version: str) -> _Map:
    def frames() -> Iterator[NDArray[np.float16]]:
        for one in taken:
            yield vectors.vectors_of(session, one.id)

    columns = snapshots.columns(session, [one.id for one in taken], names=("correct", "rank"))
    with threadpool_limits(limits=1, user_api="blas"):  # runs train beside us: threads that spin cost tenfold
        projection = project(frames(), num_frames=len(taken))
    return _Map(
        version,
        [one.step for one in taken],
        projection,
        [is_correct(columns[one.id], one).astype(np.uint8) for one in taken],
        _bounds(projection),
    )


def _version(taken: Sequence[Moment]) -> str:
    ids = ",".join(f"{one.id}:{one.attempt}:{one.t}" for one in taken)
    return hashlib.blake2b(ids.encode(), digest_size=8).hexdigest()


def _frame(drawn: _Map, number: int) -> dict[str, Any]:
    frame_N2 = drawn.projection.frames_N2[number].astype(np.float64)
    x_N, y_N = (np.ascontiguousarray(np.round(frame_N2[:, axis], _DECIMALS)) for axis in (0, 1))
    disparity = drawn.projection.disparities[number]
    return {
        "step": drawn.steps[number],
        "x": x_N,
        "y": y_N,
        "correct": drawn.correct_N[number],
        "disparity": None if disparity is None else round(disparity, 6),
    }


def _bounds(projection: Projection) -> list[list[float]]:
    """``[[least x, largest x], [least y, largest y]]`` of all frames: a view of them all can stand still."""
    lows = np.min([frame.min(axis=0) for frame in projection.frames_N2], axis=0)
    highs = np.max([frame.max(axis=0) for frame in projection.frames_N2], axis=0)
    return [[round(float(low), 4), round(float(high), 4)] for low, high in zip(lows, highs, strict=True)]


def _points(probes: Probes, task: str) -> list[dict[str, Any]]:
    """What the points are; ``label`` is the right answer where few answers are shared by many."""
    is_labelled = task == "classification"
    return [
        {
            "example_id": probes.ids[row],
            "index": row,
            "group": probes.groups[row],
            "label": probe["expected_output"] if is_labelled else None,
            "text": probe["input"][:_SHOWN_CHARACTERS],
        }
        for row, probe in enumerate(probes.examples)
    ]
