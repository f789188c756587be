"""Texts that people add: tokenised as those of the dataset, each with one of its labels."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from transformers import PreTrainedTokenizerFast

from trainer.datasets.labelled_texts import LabelledTexts
from trainer.language.token_cache import tokens_of
from trainer.protocol.probe_files import AddedProbe, ProbeRowError, refused_by
from trainer.tasks.text_classification.material import Material

_NAMED: Final = 10  # labels that an error tells


def refused_texts(material: Material, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
    """The rows whose label there is not."""
    known = set(material.names)
    return refused_by(lambda probe, row: _check_label(material, known, probe, row), probes)


def with_texts(
    material: Material, probes: Sequence[AddedProbe], tokenizer: PreTrainedTokenizerFast
) -> Material:
    """``material`` with the added texts for its own; the labels keep their numbers.

    Raises:
        ProbeRowError: there is no such label; names the row and the labels there are.
    """
    place = {name: number for number, name in enumerate(material.names)}
    for row, probe in enumerate(probes, start=1):
        _check_label(material, place, probe, row)
    texts = [probe.input for probe in probes]
    labels = [probe.expected_output for probe in probes]
    return replace(
        material,
        texts=LabelledTexts(
            name=material.texts.name,
            ids=[probe.example_id for probe in probes],
            texts=texts,
            labels=labels,
            groups=[probe.group for probe in probes],
            places=[],
            content_hash=material.texts.content_hash,
        ),
        labels_N=np.array([place[label] for label in labels], dtype=np.int64),
        tokens=tokens_of(texts, tokenizer, tell=lambda detail, fraction: None),
    )


def _check_label(material: Material, known: Container[str], probe: AddedProbe, row: int) -> None:
    if probe.expected_output in known:
        return
    few = ", ".join(material.names[:_NAMED]) + (" …" if len(material.names) > _NAMED else "")
    raise ProbeRowError(
        row, f"{probe.expected_output[:60]!r} is none of the labels: {few}", field="expected_output"
    )
