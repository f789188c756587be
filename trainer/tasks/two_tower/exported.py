"""Opens what :mod:`trainer.tasks.two_tower.export` has written, and asks it.

export = open_export("instance/runs/ID/export")
for found in export.find("open a file for reading", k=5):
    print(found.score, found.id, found.title)
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file

from trainer.recipes.two_tower import TwoTowerParams
from trainer.retrieval.index_settings import Index
from trainer.retrieval.ranking import Floats
from trainer.tasks.two_tower.export import ABOUT, DOCUMENTS, FORMAT, INDEX, TOWERS, about_of
from trainer.tasks.two_tower.inputs import Inputs, VectorInputs
from trainer.tasks.two_tower.model import TwoTowers, text_towers, vector_towers
from trainer.tasks.two_tower.text_reader import TextReader, WordReader

_REMEDY: Final = "Export the run again: it does so when its training ends."
_ONE: Final = np.zeros(1, dtype=np.int64)


class ExportError(ValueError):
    """A folder is no export that can be used; the message names the file and the remedy."""


@dataclass(frozen=True)
class Found:
    """A document that answers a query; ``score`` is the cosine of both."""

    id: str
    title: str
    text: str
    score: float


class Export:
    """A trained retrieval model with its documents, ready to be asked."""

    def __init__(
        self,
        about: dict[str, Any],
        *,
        reader: TextReader | None,
        towers: TwoTowers,
        index: Index,
        documents: list[dict[str, str]],
    ) -> None:
        self.about = about
        self._reader = reader
        self._towers = towers
        self._index = index
        self._documents = documents

    def find(self, query: str | NDArray[np.floating[Any]], *, k: int = 10) -> list[Found]:
        """The ``k`` best documents, best first.

        Args:
            query: a text; of a model that reads vectors one vector (D,) or a sequence of them (T, D).
            k: how many, fewer where there are fewer.

        Raises:
            ValueError: the model reads the other kind, or vectors of another length.
        """
        count = min(k, len(self._documents))
        scores, rows = self._index.search(self.embed(query), k=count)
        return [
            Found(**self._documents[row], score=float(score))
            for score, row in zip(scores[0], rows[0].tolist(), strict=True)
            if row >= 0
        ]

    def embed(self, query: str | NDArray[np.floating[Any]]) -> Floats:
        """The query tower's unit vector, shape (1, D)."""
        return self._towers.vectors(self._towers.query, self._inputs(query), _ONE, chunk=1)

    def _inputs(self, query: str | NDArray[np.floating[Any]]) -> Inputs:
        dims = self.about["input_dims"]
        if isinstance(query, str):
            if self._reader is None:
                raise ValueError(f"this model reads vectors of length {dims['query']}, not text")
            return self._reader.inputs([query])
        if self._reader is not None:
            raise ValueError("this model reads text, not vectors")
        vectors = np.asarray(query, dtype=np.float32)
        vectors = vectors[None, :] if vectors.ndim == 1 else vectors
        if vectors.ndim != 2 or vectors.shape[1] != dims["query"]:
            raise ValueError(f"this model reads vectors of length {dims['query']}, got {np.shape(query)}")
        return VectorInputs(vectors[None])


def open_export(folder: str | Path) -> Export:
    """Load towers, index and documents of an export; the towers run on the CPU.

    Raises:
        ExportError: a file is missing, damaged, or does not belong to the others.
    """
    root = Path(folder)
    try:
        about = about_of(root)
        if about.get("format") != FORMAT or about.get("recipe") != "two_tower":
            raise ExportError(f"{root / ABOUT}: is no two-tower export of format {FORMAT}. {_REMEDY}")
        params = TwoTowerParams.model_validate(about["params"])
        towers, reader = _towers(root, about, params)
        with (root / DOCUMENTS).open(encoding="utf-8") as file:
            documents = [json.loads(line) for line in file]
        exact: Any = importlib.import_module("trainer.retrieval.exact")
        index: Index = exact.load_index(root / INDEX)
    except ExportError:
        raise
    except OSError as exc:
        raise ExportError(f"{root}: {exc}. {_REMEDY}") from exc
    except (KeyError, ValueError, RuntimeError, SafetensorError, ValidationError) as exc:
        raise ExportError(f"{root}: is damaged or of another version ({exc}). {_REMEDY}") from exc
    if not len(documents) == exact.num_documents(index) == about["num_documents"]:
        raise ExportError(f"{root}: {DOCUMENTS} and {INDEX} do not belong together. {_REMEDY}")
    return Export(about, reader=reader, towers=towers, index=index, documents=documents)


def _towers(root: Path, about: dict[str, Any], params: TwoTowerParams) -> tuple[TwoTowers, TextReader | None]:
    """The towers with their weights, and what reads texts for them; None where they read vectors."""
    cpu, dims = torch.device("cpu"), about["input_dims"]
    encoders = [root / name for name in about.get("encoders", [])]
    reader: TextReader | None
    if dims:
        reader = None
        towers = vector_towers(params, query_dim=dims["query"], document_dim=dims["document"], device=cpu)
    elif encoders:
        loading: Any = importlib.import_module("trainer.tasks.two_tower.encoders")  # takes seconds
        towers, reader = loading.exported_towers(encoders, params)
    else:
        towers, reader = text_towers(params, cpu), WordReader(params)
    _take_weights(towers, root, about)
    towers.train(False)
    return towers, reader


def _take_weights(towers: TwoTowers, root: Path, about: dict[str, Any]) -> None:
    """All weights but those of encoders, which have come with theirs."""
    tensors = load_file(root / TOWERS)
    tensors |= {name: tensors[first] for name, first in about["shared_weights"].items()}
    for module_name, module in towers.modules().items():
        prefix = f"{module_name}."
        known = {name: one for name, one in module.state_dict().items() if name.startswith("encoder.")}
        stored = {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}
        module.load_state_dict(known | stored)
