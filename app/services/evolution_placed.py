"""Which snapshots of a run say where the model places its examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from app.errors import NoVectors
from app.services.evolution import _choose, _taken
from app.store import vectors
from app.store.models import Snapshot


@dataclass(frozen=True)
class Placed:
    """The snapshots of a run that have vectors, by step: of the newest one's probes, all of one length."""

    run_id: str
    dataset: str
    snapshots: list[Snapshot]
    without: Sequence[int]

    @property
    def newest(self) -> Snapshot:
        """The last of them."""
        return self.snapshots[-1]

    def choose(self, step: int | str) -> Snapshot:
        """The snapshot at ``step``, a number or a name.

        Raises:
            NotFound: there is none; the hint names the nearest.
            NoVectors: there is one, without vectors.
        """
        if isinstance(step, int) and step in self.without:
            listing = ", ".join(str(one.step) for one in self.snapshots[:8])
            raise NoVectors(
                f"The snapshot of {self.dataset} at step {step} has no vectors of these examples.",
                hint=f"Steps that have: {listing}.",
            )
        return _choose(self.snapshots, step, dataset=self.dataset)

    def before(self, chosen: Snapshot) -> Snapshot | None:
        """The one before ``chosen``."""
        earlier = [one for one in self.snapshots if one.step < chosen.step]
        return earlier[-1] if earlier else None


def placed(session: Session, dataset: str, run: str | None) -> Placed:
    """The snapshots meant.

    Raises:
        NotFound: no such dataset or run.
        NoVectors: none of its snapshots has vectors.
    """
    run_id, taken = _taken(session, dataset, run)
    dims = vectors.dims(session, [one.id for one in taken])
    newest: Any = next((one for one in reversed(taken) if one.id in dims), None)
    if newest is None:
        raise NoVectors(
            f"The snapshots of {dataset} in run {run_id} do not say where its examples lie.",
            hint="Runs that are started now keep it; a script passes vectors= to run.snapshot().",
        )
    kept = [one for one in taken if one.probe_set == newest.probe_set and dims.get(one.id) == dims[newest.id]]
    steps = {one.step for one in kept}
    return Placed(run_id, dataset, kept, [one.step for one in taken if one.step not in steps])
