"""Which examples a model holds for alike at a step, and how that has changed.

Exact cosines over the vectors stored with the snapshot. Shape suffixes: N
examples, D numbers of a vector.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from app.domain.projection import directions
from app.services.evolution_choice import no_example
from app.services.evolution_examples import is_correct
from app.services.evolution_placed import Placed
from app.services.evolution_probes import Probes
from app.store import snapshots, vectors
from app.store.snapshots import Moment

LARGEST_K: Final = 100
_BLOCK_NUMBERS: Final = 4_000_000  # of vectors that are float32 at once: 16 MB


def neighbours_at(
    session: Session, found: Placed, probes: Probes, step: int | str, *, example_id: str, k: int
) -> dict[str, Any]:
    """The ``k`` examples nearest to one, most alike first, and who came and went since the step before.

    ``churn`` is the share of them that were not among the nearest at ``previous_step``; None where there
    is no such step.

    Raises:
        NotFound: no such step or example; the hint names similar ids.
        NoVectors: the snapshot does not say where the examples lie.
    """
    chosen = found.choose(session, step)
    row = probes.row_of.get(example_id)
    if row is None:
        raise no_example(found.dataset, example_id, probes.ids)
    before = found.before(chosen)
    rows, cosines_N = _nearest(session, chosen, row, k)
    earlier = [] if before is None else _nearest(session, before, row, k)[0]
    columns = snapshots.columns(session, [chosen.id], names=("correct", "rank"))[chosen.id]
    correct_N = is_correct(columns, chosen)
    entered = [] if before is None else [probes.ids[one] for one in rows if one not in set(earlier)]
    return {
        "dataset": found.dataset,
        "run": found.run_id,
        "step": chosen.step,
        "example_id": example_id,
        "k": k,
        "example": _told(probes, row, correct_N),
        "neighbors": [
            {**_told(probes, one, correct_N), "similarity": round(float(cosines_N[one]), 6)} for one in rows
        ],
        "previous_step": None if before is None else before.step,
        "entered": entered,
        "left": [probes.ids[one] for one in earlier if one not in set(rows)],
        "churn": None if before is None or not rows else round(len(entered) / len(rows), 6),
    }


def _told(probes: Probes, row: int, correct_N: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        "example_id": probes.ids[row],
        "index": row,
        "input": probes.examples[row]["input"],
        "expected_output": probes.examples[row]["expected_output"],
        "group": probes.groups[row],
        "exact_match": bool(correct_N[row]),
    }


def _nearest(session: Session, snapshot: Moment, row: int, k: int) -> tuple[list[int], NDArray[np.float32]]:
    """The rows nearest to ``row``, itself left out, and the cosines of all."""
    cosines_N = cosines(vectors.vectors_of(session, snapshot.id), row)
    count = min(k, len(cosines_N) - 1)
    ordered = np.where(np.arange(len(cosines_N)) == row, -np.inf, cosines_N)
    return np.argsort(-ordered, kind="stable")[:count].tolist(), cosines_N


def cosines(vectors_ND: NDArray[np.float16], row: int) -> NDArray[np.float32]:
    """The cosine of every vector with that of ``row``; 0 for a vector of zeros."""
    aim_D = directions(vectors_ND[row : row + 1])[0]
    size = max(1, _BLOCK_NUMBERS // vectors_ND.shape[1])
    blocks = [  # einsum and not @: a product so small is no work for threads
        np.einsum("nd,d->n", directions(vectors_ND[start : start + size]), aim_D)
        for start in range(0, len(vectors_ND), size)
    ]
    return np.concatenate(blocks)
