"""Which datasets a run may use: a recipe's built-in ones, and files under the allowed folders.

A path from a request is resolved once, symbolic links included, and must then
lie under one of ``Settings.dataset_roots``.  Nothing of a file is parsed here:
the trainer reads it, in its own process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from app.errors import InvalidRequest
from trainer.recipes.registry import Recipe

SUFFIXES: Final = {".jsonl": "jsonl", ".csv": "csv", ".tsv": "tsv", ".npz": "npz"}
MAX_LISTED: Final = 500
QUARANTINE: Final = "quarantine"  # of the inbox: what lies there cannot be trained on
MAX_PATH_CHARACTERS: Final = 1024


@dataclass(frozen=True)
class DatasetFile:
    """A file somebody may train on; ``modified_at`` in Unix seconds."""

    name: str
    path: str
    format: str
    num_bytes: int
    modified_at: float


def resolve_dataset(recipe: Recipe, dataset: str, *, roots: Sequence[Path]) -> str:
    """Return a built-in name as it is, or the absolute real path of an allowed file.

    Raises:
        InvalidRequest: ``field`` is ``dataset``; the message says what is wrong, the hint what is allowed.
    """
    builtin = [one.name for one in recipe.builtin_datasets]
    if dataset in builtin:
        return dataset
    allowed = f"built in: {', '.join(builtin) or 'none'}; files may lie under {_listing(roots)}"
    if not dataset or len(dataset) > MAX_PATH_CHARACTERS or not dataset.isprintable():
        raise InvalidRequest("the dataset must be a name or a path", field="dataset", hint=allowed)
    if os.sep not in dataset and Path(dataset).suffix not in SUFFIXES:
        raise InvalidRequest(f"{recipe.name} has no dataset {dataset!r}", field="dataset", hint=allowed)
    for candidate in _candidates(dataset, roots):
        real = Path(os.path.realpath(candidate))
        if not _is_inside(real, roots):
            continue
        _check_regular(real, shown=dataset)
        return str(real)
    raise InvalidRequest(f"no file {dataset!r} in the dataset folders", field="dataset", hint=allowed)


def list_files(roots: Iterable[Path], *, skip: frozenset[str] = frozenset()) -> list[DatasetFile]:
    """The dataset files under ``roots`` outside folders named in ``skip``, newest first, at most 500."""
    found: dict[str, DatasetFile] = {}
    for root in roots:
        for path in _walk(root, skip):
            status = path.stat()
            found[str(path)] = DatasetFile(
                path.relative_to(root).as_posix(),
                str(path.resolve()),
                SUFFIXES[path.suffix],
                status.st_size,
                status.st_mtime,
            )
            if len(found) >= MAX_LISTED:
                break
    return sorted(found.values(), key=lambda file: -file.modified_at)


def describe_datasets(recipes: Iterable[Recipe], *, roots: Sequence[Path]) -> list[dict[str, Any]]:
    """Built-in datasets with the recipes that know them, then the files, as JSON objects."""
    builtin: dict[str, dict[str, Any]] = {}
    for recipe in recipes:
        for one in recipe.builtin_datasets:
            entry = builtin.setdefault(
                one.name,
                {"name": one.name, "kind": "builtin", "title": one.title, "help": one.help, "recipes": []},
            )
            entry["recipes"].append(recipe.name)
    files = [
        {"kind": "file", "title": file.name, **asdict(file)}
        for file in list_files(roots, skip=frozenset(builtin) | {QUARANTINE})
    ]
    return [*builtin.values(), *files]


def _candidates(dataset: str, roots: Sequence[Path]) -> Iterator[Path]:
    path = Path(dataset)
    if path.is_absolute():
        yield path
        return
    for root in roots:
        if os.path.lexists(root / path):
            yield root / path


def _is_inside(real: Path, roots: Sequence[Path]) -> bool:
    return any(real.is_relative_to(os.path.realpath(root)) for root in roots)


def _check_regular(real: Path, *, shown: str) -> None:
    try:
        status = real.stat()
    except OSError as exc:
        raise InvalidRequest(f"{shown}: {exc.strerror}", field="dataset") from exc
    if stat.S_ISDIR(status.st_mode):
        raise InvalidRequest(f"{shown} is a folder", field="dataset", hint="name a file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidRequest(f"{shown} is not a regular file", field="dataset")
    if real.suffix not in SUFFIXES:
        hint = f"known endings: {', '.join(SUFFIXES)}"
        raise InvalidRequest(f"{shown} has an unknown ending", field="dataset", hint=hint)
    if status.st_size == 0:
        raise InvalidRequest(f"{shown} is empty", field="dataset")
    if not os.access(real, os.R_OK):
        raise InvalidRequest(f"{shown} cannot be read", field="dataset", hint="check its permissions")


def _walk(root: Path, skip: frozenset[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in skip and not name.startswith((".", "_")))
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink():
                yield path


def _listing(roots: Sequence[Path]) -> str:
    return " or ".join(str(root) for root in roots) or "no folder (none is configured)"
