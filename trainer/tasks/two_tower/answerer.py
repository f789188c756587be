"""A trained two-tower model that is asked: which documents answer this query best.

Shape suffixes: M documents of the pool, D length of the vectors.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from trainer.asking.declaration import QuestionError, Tell
from trainer.engine import checkpoints, devices
from trainer.engine.checkpoints import CheckpointError
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.two_tower import TwoTowerParams
from trainer.recipes.two_tower_question import ALL, EVALUATION
from trainer.retrieval.ranking import Floats, Ints
from trainer.tasks.two_tower.inputs import Inputs
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.model import TwoTowers
from trainer.tasks.two_tower.train import load_task

_CHUNK: Final = 1024
_SHOWN_TEXT: Final = 2000
_CHANGED: Final = (
    "The dataset has changed since this checkpoint was written: some of these documents may be new to it, "
    "and some of the evaluation documents may be ones it was trained on."
)


class TwoTowerAnswerer:
    """Implements :class:`trainer.asking.declaration.Answerer`."""

    def __init__(
        self, material: Material, towers: TwoTowers, params: TwoTowerParams, *, tell: Tell, note: str = ""
    ) -> None:
        """Embed the documents of the evaluation pool; all others when they are first asked for.

        Args:
            material: the run's dataset.
            towers: trained.
            params: the recipe's parameters.
            tell: called with how far it is.
            note: what to say beside every answer.
        """
        self._material = material
        self._towers = towers
        self._params = params
        self._note = note
        self._vectors: dict[str, tuple[Ints, Floats]] = {}
        tell("reading the documents", 0.0)
        self._pool(EVALUATION)

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The best documents for ``query``, best first; a cosine is each one's score."""
        rows, vectors = self._pool(question["among"])
        query_D = self._query_vector(question["query"])
        scores = vectors @ query_D
        count = min(int(question["count"]), len(scores))
        best = np.argsort(-scores, kind="stable")[:count]
        answer: dict[str, Any] = {
            "kind": "ranking",
            "documents": [self._described(int(rows[place]), float(scores[place])) for place in best],
            "num_candidates": len(scores),
        }
        return {**answer, "note": self._note} if self._note else answer

    def _described(self, document: int, score: float) -> dict[str, Any]:
        material = self._material
        text = material.document_texts[document]
        return {
            "id": material.document_ids[document],
            "title": material.document_titles[document],
            "text": text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + " ...",
            "score": score,
        }

    def _query_vector(self, query: str) -> Floats:
        inputs, row = self._inputs_of(query)
        rows = np.array([row], dtype=np.int64)
        vector: Floats = self._towers.vectors(self._towers.query, inputs, rows, chunk=1)[0]
        return vector

    def _inputs_of(self, query: str) -> tuple[Inputs, int]:
        """What the query tower reads for ``query``: a text, or in a dataset of vectors a pair's id."""
        material = self._material
        if material.reader is not None:
            return material.reader.inputs([query]), 0
        wanted = query.strip()
        try:
            return material.queries, material.ids.index(wanted)
        except ValueError:
            near = difflib.get_close_matches(wanted, material.ids[:5000], n=3, cutoff=0.5)
            raise QuestionError(
                "query",
                "this model reads vectors, so it is asked with the id of a pair, and there is none called "
                f"{wanted[:60]!r}; there are {', '.join(near or material.ids[:3])}",
            ) from None

    def _pool(self, among: str) -> tuple[Ints, Floats]:
        """Documents and their vectors (M, D)."""
        if among not in self._vectors:
            rows = self._rows(among)
            documents = self._material.documents
            vectors = self._towers.vectors(self._towers.document, documents, rows, chunk=_CHUNK)
            self._vectors[among] = (rows, vectors)
        return self._vectors[among]

    def _rows(self, among: str) -> Ints:
        material = self._material
        if among == ALL or self._params.candidates == "all":
            return np.arange(len(material.document_ids), dtype=np.int64)
        return np.union1d(material.document_of_N[material.split.held_out], material.bank)


def open_answerer(spec: RunSpec, paths: RunPaths, checkpoint: Path, tell: Tell) -> TwoTowerAnswerer:
    """Build the run's towers with the weights of ``checkpoint``, and embed its documents.

    Raises:
        DatasetError: the dataset is gone or cannot be used.
        CheckpointError: the checkpoint does not fit.
        DeviceUnavailable: the device asked for is not there.
    """
    params = TwoTowerParams.model_validate(dict(spec.params))
    device = devices.pick(params.device)
    tell("reading the dataset", 0.0)
    task, material = load_task(
        spec.dataset,
        params,
        datasets_dir=Path(spec.datasets_dir),
        device=device,
        tell=tell,
        columns=spec.columns,
    )
    modules = task.modules()
    tell("reading the weights", 0.0)
    state = checkpoints.load(checkpoint)
    try:
        for name, module in modules.items():
            module.load_state_dict(state["modules"][name])
        is_same = state["task"].get("content_hash") == material.content_hash
    except (KeyError, RuntimeError) as exc:
        raise CheckpointError(
            f"{checkpoint.name} does not fit this model: {exc}. A dataset whose vectors have another length "
            "than those it was trained on does this; put the old file back."
        ) from exc
    towers = TwoTowers(modules["query_tower"], modules["document_tower"], device=device)
    towers.train(False)
    return TwoTowerAnswerer(material, towers, params, tell=tell, note="" if is_same else _CHANGED)
