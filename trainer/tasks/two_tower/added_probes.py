"""Queries that people add: read as those of the dataset, and the document each of them is meant to find.

Shape suffixes: B added queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trainer.protocol.probe_files import AddedProbe, ProbeRowError
from trainer.retrieval.ranking import Ints
from trainer.tasks.two_tower.material import Material


def with_queries(material: Material, probes: Sequence[AddedProbe]) -> tuple[Material, Ints]:
    """``material`` with the added queries for its own, and the document (B,) that answers each.

    Raises:
        ProbeRowError: the towers read vectors, or no document is the one expected; names the row.
    """
    if material.reader is None:
        raise ProbeRowError(1, "cannot be asked: this model reads vectors, and a probe is a text")
    golds_B = np.array([_gold(material, probe, row) for row, probe in enumerate(probes, 1)], dtype=np.int64)
    texts = [probe.input for probe in probes]
    asked = replace(
        material,
        ids=[probe.example_id for probe in probes],
        groups=[probe.group for probe in probes],
        query_texts=texts,
        queries=material.reader.inputs(texts),
        query_of_N=np.arange(len(probes), dtype=np.int64),
        document_of_N=golds_B,
    )
    return asked, golds_B


def _gold(material: Material, probe: AddedProbe, row: int) -> int:
    """The document whose id, else title, else text is what the probe expects."""
    for known in (material.document_ids, material.document_titles, material.document_texts):
        try:
            return list(known).index(probe.expected_output)
        except ValueError:
            continue
    raise ProbeRowError(
        row,
        f"{probe.expected_output[:60]!r} is no document of the dataset; write the id, the title or the whole "
        "text of one",
        field="expected_output",
    )
