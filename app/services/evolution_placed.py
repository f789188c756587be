"""Which snapshots of a run say where the model places its examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.errors import NoVectors
from app.services.evolution_choice import comparable, snapshot_of
from app.store import vectors
from app.store.snapshots import Moment


@dataclass(frozen=True)
class Placed:
    """The snapshots of a run that have vectors, by step: of the newest one's probes, all of one length."""

    run_id: str
    dataset: str
    moments: Sequence[Moment]

    @property
    def newest(self) -> Moment:
        """The last of them."""
        return self.moments[-1]

    def choose(self, session: Session, step: int | str) -> Moment:
        """The one at ``step``: a number, or ``latest``, ``first``, ``best``.

        Raises:
            NotFound: the run has no such snapshot; the hint names the nearest.
            NoVectors: it has, but without vectors of these examples.
        """
        if step in ("latest", "first"):
            return self.moments[-1 if step == "latest" else 0]
        wanted = snapshot_of(session, self.run_id, self.dataset, step)
        for one in self.moments:
            if one.id == wanted.id:
                return one
        listing = ", ".join(str(one.step) for one in self.moments[:8])
        raise NoVectors(
            f"The snapshot of {self.dataset} at step {wanted.step} has no vectors of these examples.",
            hint=f"Steps that have: {listing}.",
        )

    def before(self, chosen: Moment) -> Moment | None:
        """The one before ``chosen``."""
        earlier = [one for one in self.moments if one.step < chosen.step]
        return earlier[-1] if earlier else None


def placed(session: Session, dataset: str, run: str | None) -> Placed:
    """The snapshots meant.

    Raises:
        NotFound: no such dataset or run.
        NoVectors: none of its snapshots has vectors.
    """
    run_id, taken = comparable(session, dataset, run)
    dims = vectors.dims(session, [one.id for one in taken])
    dim = next((dims[one.id] for one in reversed(taken) if one.id in dims), None)
    if dim is None:
        raise NoVectors(
            f"The snapshots of {dataset} in run {run_id} do not say where the model places its examples.",
            hint="Runs that are started now keep it; a script passes vectors= to run.snapshot().",
        )
    return Placed(run_id, dataset, [one for one in taken if dims.get(one.id) == dim])
