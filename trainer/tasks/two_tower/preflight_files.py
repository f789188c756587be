"""Near misses and documents from files, looked at before the run; loads no training library."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from trainer.datasets import near_misses
from trainer.datasets.near_misses import PCache, file_beside
from trainer.datasets.records import DatasetError
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question

TITLE: Final = "Near misses from files"
REMEDY: Final = "Put that place right, or leave the parameter empty."
WHOLE_BYTES: Final = 64 * 1024 * 1024


def look_at_files(question: Question, known: Survey) -> list[Check]:
    """Whether the files are there, and name rows that there are; large ones are read by the run alone."""
    params = question.params
    if not (params["near_miss_file"] or params["p_cache_file"]):
        return []
    try:
        found = _looked_at(question, known)
    except DatasetError as exc:
        return [Check("near_misses", TITLE, Verdict.PROBLEM, f"They cannot be used: {exc}.", REMEDY)]
    return [Check("near_misses", TITLE, Verdict.OK, found)]


def _looked_at(question: Question, known: Survey) -> str:
    params = question.params
    details = next((check.details for check in known.checks if check.id == "dataset"), {})
    said, num_documents = [], details.get("pairs")
    if params["p_cache_file"]:
        cache = PCache(_path(question, params["p_cache_file"]))
        dim = details.get("document_dim")
        if dim is None:
            raise DatasetError(f"{cache.path} holds vectors, and the dataset holds texts")
        if cache.dim != dim:
            raise DatasetError(
                f"{cache.path}: its vectors have length {cache.dim}, those of the documents {dim}"
            )
        num_documents = len(cache)
        said.append(f"{len(cache):,} further documents")
    if params["near_miss_file"]:
        said.append(_near_misses(question, known, details.get("pairs"), num_documents))
    return f"{', '.join(said)}."


def _near_misses(
    question: Question, known: Survey, num_queries: int | None, num_documents: int | None
) -> str:
    path = _path(question, question.params["near_miss_file"])
    is_estimated = known.outlook is None or known.outlook.is_estimated
    if is_estimated or num_queries is None or num_documents is None or path.stat().st_size > WHOLE_BYTES:
        return f"{path.name} is there, and read when the run starts"
    found = near_misses.read(path, num_queries=num_queries, num_documents=num_documents, tell=_silent)
    return f"near misses of {len(found.lines):,} queries"


def _path(question: Question, name: str) -> Path:
    return file_beside(question.dataset, name, datasets_dir=question.datasets_dir)


def _silent(detail: str, fraction: float) -> None:
    """Nobody waits long enough to be told how far the reading is."""
