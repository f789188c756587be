"""The fixed examples a classifier is asked again and again, and how its answers are written down.

Shape suffixes: B probes, K labels, D numbers of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.pinned import pinned_rows
from trainer.engine.task import ProbeAnswers
from trainer.tasks.probe_choice import choose_in_turn
from trainer.tasks.text_classification.material import Ints, Material
from trainer.tasks.text_classification.measures import Floats, losses, measure

MOST_SHOWN: Final = 10  # labels of an answer that are written down, the most probable and the right one


def choose_probes(material: Material, *, count: int, seed: int, pinned: Sequence[str] = ()) -> Ints:
    """Held-out rows: the ``pinned`` ones, then of every label in turn.

    Raises:
        DatasetError: a pinned one does not exist, or is not held out.
    """
    texts, split = material.texts, material.split
    held_out = split.held_out.tolist()
    first = pinned_rows(
        pinned, name=texts.name, ids=texts.ids, held_out=held_out, trained=split.train.tolist()
    )
    chosen = choose_in_turn(
        held_out,
        ids=texts.ids,
        group_of=lambda row: material.names[int(material.labels_N[row])],
        count=count,
        seed=seed,
        pinned=first,
    )
    return np.array(chosen, dtype=np.int64)


def describe_probes(material: Material, rows: Ints) -> list[dict[str, Any]]:
    """The probe set as the snapshots carry it, texts whole."""
    return [
        {
            "example_id": material.texts.ids[row],
            "input": material.texts.texts[row],
            "expected_output": material.names[int(material.labels_N[row])],
            "group": material.texts.groups[row],
            "gold": material.names[int(material.labels_N[row])],
        }
        for row in rows.tolist()
    ]


def answer_probes(
    material: Material, rows: Ints, probabilities_BK: Floats, vectors_BD: NDArray[np.float32] | None
) -> ProbeAnswers:
    """The answers as columns and outputs.

    ``score`` is the probability of the right label, ``margin`` by how much it
    beats the best wrong one, ``rank`` its place among all labels; the loss is
    the cross-entropy in nats, without weights or smoothing. ``vectors_BD`` are
    what the head saw of each probe.
    """
    labels = material.labels_N[rows]
    places = np.arange(len(rows))
    right = probabilities_BK[places, labels]
    others = probabilities_BK.copy()
    others[places, labels] = -1.0
    predicted = probabilities_BK.argmax(axis=1)
    columns = {
        "loss": losses(probabilities_BK, labels).tolist(),
        "correct": (predicted == labels).astype(float).tolist(),
        "score": right.tolist(),
        "margin": (right - others.max(axis=1)).tolist(),
        "rank": (1.0 + (probabilities_BK > right[:, None]).sum(axis=1)).tolist(),
        "confidence": probabilities_BK.max(axis=1).tolist(),
    }
    outputs = [
        {
            "output": material.names[int(predicted[place])],
            "probabilities": shown_probabilities(material, probabilities_BK[place], keep=int(labels[place])),
        }
        for place in places.tolist()
    ]
    found = measure(probabilities_BK, labels)
    summary = {"macro_f1": found.macro_f1, "ece": found.ece}
    return ProbeAnswers(columns, outputs, summary=summary, vectors_BD=vectors_BD)


def shown_probabilities(material: Material, probabilities: Floats, *, keep: int) -> list[list[str | float]]:
    """``[label, probability]`` of the most probable labels, most probable first; ``keep`` is among them.

    ``probabilities`` has shape (K,).
    """
    order = np.argsort(-probabilities, kind="stable").tolist()
    shown = order[:MOST_SHOWN]
    if keep not in shown:
        shown[-1] = keep
    return [[material.names[label], round(float(probabilities[label]), 6)] for label in shown]
