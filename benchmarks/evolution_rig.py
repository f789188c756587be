"""Snapshots that look like those of real runs, stored by the hundred."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from sqlalchemy.orm import Session

from app.domain.snapshots import SnapshotRecord
from app.store import snapshots

TOP: Final = 10
NUM_DOCUMENTS: Final = 5_000
TOKENS: Final = 48
VARIANTS: Final = 20  # making one up takes longer than storing it
_WORDS: Final = 4_000
_SYLLABLES: Final = ("ra", "ten", "lo", "mi", "s", "qua", "der", "ing", "pre", "to", "con", "al", "es", "fun")


@lru_cache(maxsize=1)
def words() -> list[str]:
    """A vocabulary; how often a word comes falls off as in real text (see ``sentence``)."""
    rng = np.random.default_rng(7)
    return ["".join(rng.choice(_SYLLABLES, size=rng.integers(1, 5))) for _ in range(_WORDS)]


def sentence(rng: np.random.Generator, num_words: int) -> str:
    """So many words, frequent ones more often."""
    chosen = np.minimum(rng.zipf(1.3, num_words), _WORDS) - 1
    return " ".join(words()[index] for index in chosen)


class Retriever:
    """A two-tower run: its probes learn one after the other, some forget again."""

    task = "retrieval"

    def __init__(self, num_probes: int, *, dataset: str, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.dataset, self.num_probes, self._rng = dataset, num_probes, rng
        names = [f"package.{sentence(rng, 2).replace(' ', '.')}:{number}" for number in range(NUM_DOCUMENTS)]
        self.ids = names
        self.documents = {name: (name, sentence(rng, 90)) for name in names}
        self.gold = rng.integers(0, NUM_DOCUMENTS, num_probes)
        self.examples = [
            {
                "example_id": f"probe-{row:05d}",
                "input": sentence(rng, 14),
                "expected_output": self.documents[names[gold]][1],
                "group": f"module {row % 12}",
                "gold": names[gold],
            }
            for row, gold in enumerate(self.gold)
        ]
        self._learned_at = rng.random(num_probes) * 1.3
        self._liked = rng.integers(0, NUM_DOCUMENTS, (num_probes, TOP))

    def at(self, step: int, progress: float) -> SnapshotRecord:
        """What it answers at a step; ``progress`` runs from 0 to 1."""
        rng, count = self._rng, self.num_probes
        right = (self._learned_at < progress) ^ (rng.random(count) < 0.02)
        changed = rng.random((count, TOP)) < 0.1
        self._liked = np.where(changed, rng.integers(0, NUM_DOCUMENTS, (count, TOP)), self._liked)
        top = self._liked.copy()
        top[right, 0] = self.gold[right]
        scores = -np.sort(-np.round(rng.random((count, TOP)), 6), axis=1)
        rank = np.where(right, 1, rng.integers(2, 200, count)).astype(float)
        loss = np.where(right, rng.random(count), 2 + 3 * rng.random(count))
        outputs = [
            {"top": [[self.ids[document], score] for document, score in zip(row, values, strict=True)]}
            for row, values in zip(top.tolist(), scores.tolist(), strict=True)
        ]
        columns = {"loss": loss, "correct": right.astype(float), "rank": rank, "score": scores[:, 0],
                   "margin": rng.normal(size=count)}  # fmt: skip
        return _record(self, step, columns, outputs, documents=self.documents if step == 0 else {})


class LanguageModel:
    """A language model: whole answers, and the log-probability of every token of the reference."""

    task = "causal_lm"

    def __init__(self, num_probes: int, *, dataset: str, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.dataset, self.num_probes, self._rng = dataset, num_probes, rng
        self.examples = [
            {
                "example_id": f"probe-{row:05d}",
                "input": sentence(rng, 30),
                "expected_output": sentence(rng, TOKENS),
                "group": "all",
                "gold": None,
            }
            for row in range(num_probes)
        ]

    def at(self, step: int, progress: float) -> SnapshotRecord:
        """What it answers at a step; ``progress`` runs from 0 to 1."""
        rng, count = self._rng, self.num_probes
        values = np.round(-rng.exponential(5 - 4 * progress, (count, TOKENS)), 4)
        outputs = [
            {
                "output": sentence(rng, TOKENS),
                "tokens": [
                    [f" {piece}", value]
                    for piece, value in zip(str(probe["expected_output"]).split(), row, strict=True)
                ],
                "is_cut": False,
            }
            for probe, row in zip(self.examples, values.tolist(), strict=True)
        ]
        columns = {"loss": -values.mean(axis=1), "correct": (rng.random(count) < progress / 4).astype(float),
                   "similarity": rng.random(count), "token_accuracy": rng.random(count)}  # fmt: skip
        return _record(self, step, columns, outputs, documents={})


def store_snapshots(session: Session, run_id: str, model: Retriever | LanguageModel, count: int) -> list[int]:
    """Store so many snapshots, 50 steps apart, of which ``VARIANTS`` differ; returns their steps."""
    steps = [50 * number for number in range(count)]
    each = -(-count // VARIANTS)
    for number, step in enumerate(steps):
        if number % each == 0:
            record = model.at(step, number / max(1, count - 1))
        snapshots.save(session, run_id, replace(record, step=step, t=1.7e9 + step), attempt=1)
    return steps


def as_original_json(examples: list[dict[str, Any]]) -> bytes:
    """The examples as the original system wrote them into its files: the fields it had, nothing of ours."""
    fields = ("example_id", "step", "input", "expected_output", "model_output", "loss", "exact_match",
              "output_length", "similarity")  # fmt: skip
    return json.dumps([{name: one[name] for name in fields} for one in examples]).encode()


def as_same_json(examples: list[dict[str, Any]]) -> bytes:
    """The same files with all that was answered; of found documents id and score, as their texts lie once."""
    return json.dumps([{**one, **_pairs(one)} for one in examples]).encode()


def _pairs(example: dict[str, Any]) -> dict[str, Any]:
    return {"top": [[hit["document_id"], hit["score"]] for hit in example["top"]]} if "top" in example else {}


def _record(
    model: Retriever | LanguageModel,
    step: int,
    columns: dict[str, Any],
    outputs: list[dict[str, Any]],
    *,
    documents: dict[str, tuple[str, str]],
) -> SnapshotRecord:
    right = float(columns["correct"].mean())
    return SnapshotRecord(
        dataset=model.dataset,
        task=model.task,
        attempt=1,
        step=step,
        epoch=step / 1_000,
        t=1.7e9 + step,
        model_version=f"bench@{step}",
        cost_s=0.15,
        probe_set=f"bench-{model.dataset}-{model.num_probes}",
        examples=model.examples,
        columns={name: array("d", column.tolist()) for name, column in columns.items()},
        outputs=outputs,
        documents=documents,
        summary={
            "avg_loss": float(columns["loss"].mean()),
            "accuracy": right,
            "total_examples": model.num_probes,
            "correct": int(columns["correct"].sum()),
            "incorrect": int((1 - columns["correct"]).sum()),
        },
    )
