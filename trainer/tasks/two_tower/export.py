"""What a finished run leaves to be used elsewhere: both towers, the documents, and the index of all of them.

Files: ``towers.safetensors``, ``index.faiss``, ``documents.jsonl`` (line i is
row i of the index) and ``signalbox.json``, which tells the rest; where an
encoder reads the texts also its folder, as ``save_pretrained`` writes it.
:mod:`trainer.tasks.two_tower.exported` opens such a folder.

Shape suffixes: B queries, M documents, D length of the vectors.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from safetensors.torch import save_file
from torch import Tensor, nn

from trainer.datasets.records import Tell
from trainer.engine.export_folder import replaced
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.two_tower import TwoTowerParams
from trainer.retrieval.index_settings import IndexSettings
from trainer.retrieval.ranking import Floats, Ints
from trainer.retrieval.search import Search
from trainer.tasks.two_tower.evaluation import OVERLAP_AT, judged
from trainer.tasks.two_tower.material import Material

FORMAT: Final = 1
ABOUT, TOWERS, INDEX, DOCUMENTS = "signalbox.json", "towers.safetensors", "index.faiss", "documents.jsonl"
ASKED: Final = 1000  # held-out queries that the index is judged with
_SPARE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class Trained:
    """What is exported.

    Attributes:
        params: the recipe's parameters.
        material: the documents, row by row as the index will have them.
        modules: the towers.
        queries_BD: unit-norm held-out queries to judge the index with.
        documents_MD: the unit-norm vectors of all documents.
    """

    params: TwoTowerParams
    material: Material
    modules: Mapping[str, nn.Module]
    queries_BD: Floats
    documents_MD: Floats


def write_export(
    folder: Path,
    trained: Trained,
    *,
    run: RunSpec,
    step: int,
    metrics: Mapping[str, float],
    search: Search,
    settings: IndexSettings,
    tell: Tell,
) -> None:
    """Write everything into ``folder``, replacing an earlier export as a whole.

    Args:
        folder: where it ends up.
        trained: towers and documents.
        run: whose they are; ``step`` and ``metrics`` are those of the weights.
        search: who builds the index.
        settings: which index.
        tell: called with what is being done and the fraction done.

    Raises:
        OSError: there is no room; the message says how much is needed.
    """
    encoders = _encoders_of(trained)
    tensors, shared = _tensors(trained.modules, but=encoders.values())
    weights = sum(one.nbytes for one in [*tensors.values(), *_numbers_of(encoders.values())])
    texts = sum(map(len, trained.material.document_texts))
    folder.parent.mkdir(parents=True, exist_ok=True)
    _check_room(folder.parent, settings.index_bytes(*trained.documents_MD.shape) + weights + 2 * texts)
    with replaced(folder) as unfinished:
        index = _write_index(unfinished / INDEX, trained, search, settings, tell)
        tell("writing towers and documents", 0.9)
        save_file(tensors, unfinished / TOWERS)
        _write_encoders(unfinished, trained.material, encoders)
        _write_documents(unfinished / DOCUMENTS, trained.material)
        about = {
            "format": FORMAT,
            "step": step,
            "metrics": dict(metrics),
            "created_at": time.time(),
            **_described(trained, run),
            "shared_weights": shared,
            "encoders": list(encoders),
            "index": {**settings.to_json(), **index},
            "files": _sha256_by_name(unfinished),
        }
        (unfinished / ABOUT).write_text(json.dumps(about, indent=2), encoding="utf-8")


def _encoders_of(trained: Trained) -> dict[str, nn.Module]:
    reader = trained.material.reader
    return {} if reader is None else reader.encoders(trained.modules)


def _write_encoders(folder: Path, material: Material, encoders: Mapping[str, nn.Module]) -> None:
    """Each into the folder of its name."""
    if material.reader is not None:
        for name, encoder in encoders.items():
            material.reader.write(encoder, folder / name)


def _described(trained: Trained, run: RunSpec) -> dict[str, Any]:
    """Whose it is, what a reader needs to build the towers again, and what they were trained on."""
    material, input_dims = trained.material, trained.material.input_dims()
    return {
        "run": run.run_id,
        "name": run.name,
        "recipe": run.recipe,
        "dataset": material.name,
        "content_hash": material.content_hash,
        "reads": "vectors" if input_dims else "text",
        "input_dims": input_dims,
        "params": trained.params.model_dump(),
        "num_documents": len(trained.documents_MD),
    }


def _write_index(
    path: Path, trained: Trained, search: Search, settings: IndexSettings, tell: Tell
) -> dict[str, float]:
    """Build, judge and save the index; what it finds of the exact best ten, and how fast."""
    queries_BD, documents_MD = trained.queries_BD, trained.documents_MD
    tell("searching exactly", 0.4)
    with search.pool(documents_MD) as exact:
        exact_BK: Ints = exact.search(queries_BD, k=min(OVERLAP_AT, len(documents_MD)))[1]
        if settings.kind == "flat":
            found = judged(exact, queries_BD, exact_BK)
            exact.write(path)
            return found
    with search.pool(
        documents_MD, settings, tell=lambda fraction: tell("building the index", 0.5 + 0.3 * fraction)
    ) as index:
        found = judged(index, queries_BD, exact_BK)
        tell("writing the index", 0.8)
        index.write(path)
    return found


def _write_documents(path: Path, material: Material) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        for one, title, text in zip(
            material.document_ids, material.document_titles, material.document_texts, strict=True
        ):
            file.write(json.dumps({"id": one, "title": title, "text": text}, ensure_ascii=False) + "\n")


def _tensors(
    modules: Mapping[str, nn.Module], *, but: Collection[nn.Module]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """All weights by ``module.name``; those that several modules share once, with where else they belong.

    Those of the submodules ``but`` are left out: they have files of their own.
    """
    tensors: dict[str, Tensor] = {}
    shared: dict[str, str] = {}
    first_name_of: dict[tuple[int, int, tuple[int, ...]], str] = {}
    for module_name, module in modules.items():
        others = tuple(f"{name}." for name, one in module.named_modules() if any(one is own for own in but))
        for name, tensor in module.state_dict().items():
            if name.startswith(others):
                continue
            key, whole = f"{module_name}.{name}", tensor.detach().cpu().contiguous()
            first = first_name_of.setdefault((tensor.data_ptr(), tensor.numel(), tuple(tensor.shape)), key)
            if first == key or tensor.numel() == 0:
                tensors[key] = whole
            else:
                shared[key] = first
    return tensors, shared


def _numbers_of(encoders: Iterable[nn.Module]) -> Iterator[Tensor]:
    return (tensor for encoder in encoders for tensor in encoder.state_dict().values())


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE_BYTES:
        raise OSError(
            f"{folder}: the export needs {needed / 1e6:.0f} MB and {free / 1e6:.0f} MB are free. Free space "
            "there; the checkpoints hold everything that is in it."
        )


def asked_rows(held_out: Ints) -> Ints:
    """At most ``ASKED`` of the held-out pairs, spread evenly."""
    places = np.linspace(0, len(held_out) - 1, min(ASKED, len(held_out))).astype(np.int64)
    rows: Ints = held_out[places]
    return rows


def _sha256_by_name(folder: Path) -> dict[str, str]:
    """Of every file, those in folders of their own too."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _sha256(path) for path in files}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def about_of(folder: Path) -> dict[str, Any]:
    """What ``signalbox.json`` of an export says.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON object.
    """
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    if not isinstance(about, dict):
        raise ValueError(f"{folder / ABOUT}: holds no object")
    return about
