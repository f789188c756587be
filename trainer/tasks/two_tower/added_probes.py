"""Queries that people add: read as those of the dataset, and the document each of them is meant to find.

Shape suffixes: B added queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from trainer.protocol.probe_files import AddedProbe, ProbeRowError, refused_by
from trainer.retrieval.ranking import Ints
from trainer.tasks.two_tower.material import Material

Find = Callable[[str], int | None]  # from an expected text to the row of its document


def refused_queries(material: Material, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
    """The rows that cannot be asked: all where the towers read vectors, else those without a document."""
    if material.reader is None:
        return refused_by(_no_vectors, probes)
    find = _finder(material)
    return refused_by(lambda probe, row: _gold(find, probe, row), probes)


def with_queries(material: Material, probes: Sequence[AddedProbe]) -> tuple[Material, Ints]:
    """``material`` with the added queries for its own, and the document (B,) that answers each.

    Raises:
        ProbeRowError: the towers read vectors, or no document is the one expected; names the row.
    """
    if material.reader is None:
        _no_vectors(probes[0], 1)
    find = _finder(material)
    golds_B = np.array([_gold(find, probe, row) for row, probe in enumerate(probes, 1)], dtype=np.int64)
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


def _no_vectors(probe: AddedProbe, row: int) -> NoReturn:
    raise ProbeRowError(row, "cannot be asked: this model reads vectors, and a probe is a text")


def _finder(material: Material) -> Find:
    """Finds the document whose id, else title, else text is given; of equal ones the first."""
    named = [
        {text: number for number, text in reversed(list(enumerate(texts)))}
        for texts in (material.document_ids, material.document_titles, material.document_texts)
    ]
    return lambda text: next((numbers[text] for numbers in named if text in numbers), None)


def _gold(find: Find, probe: AddedProbe, row: int) -> int:
    found = find(probe.expected_output)
    if found is None:
        raise ProbeRowError(
            row,
            f"{probe.expected_output[:60]!r} is no document of the dataset; write the id, the title or the "
            "whole text of one",
            field="expected_output",
        )
    return found
