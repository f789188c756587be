"""Where a language model comes from: made from scratch, a folder on disk, or the Hugging Face hub.

A folder is looked at before anything of it is loaded: it must hold a
configuration, a tokenizer and whole safetensors files.  Pickled weights can
run code when they are read, so they are refused, and code that comes with a
model is never run.  Loads no training library.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from trainer.datasets.files import check_regular, unreadable
from trainer.datasets.records import DatasetError

SCRATCH: Final = "scratch"
MODELS: Final = "models"  # beside the datasets: where a folder's bare name is looked for
WEIGHTS: Final = "model.safetensors"
WEIGHTS_INDEX: Final = "model.safetensors.index.json"
CONFIG: Final = "config.json"
PATTERNS: Final = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")  # what a hub model is fetched of

# Any one set of these is a tokenizer.
TOKENIZERS: Final[tuple[tuple[str, ...], ...]] = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
)
_PICKLES: Final = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_MAX_JSON_BYTES: Final = 64 * 1024 * 1024
_MAX_HEADER_BYTES: Final = 100_000_000  # the format's own limit
_SAMPLE_BYTES: Final = 64 * 1024
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w][\w.-]*)?")


class ModelError(ValueError):
    """A model cannot be used; the message names the file and the remedy."""


@dataclass(frozen=True)
class ModelSource:
    """A model that has been found and looked at.

    Attributes:
        kind: ``scratch`` has no files yet, ``folder`` is on disk, ``hub`` must be fetched first.
        name: as it was asked for.
        folder: its files; None for the other kinds.
        content_hash: of the folder's files (names, sizes, beginnings and ends), empty for other kinds.
    """

    kind: Literal["scratch", "folder", "hub"]
    name: str
    folder: Path | None = None
    content_hash: str = ""


def model_roots(datasets_dir: Path) -> list[Path]:
    """The folders below which a model can be named without its path."""
    return [datasets_dir.parent / MODELS]


def find_source(model: str, *, roots: Sequence[Path] = ()) -> ModelSource:
    """What ``model`` means: the word scratch, a folder, a folder's name below ``roots``, or a hub id.

    Raises:
        ModelError: it is none of them, or the folder's files cannot be used.
    """
    name = model.strip()
    if name == SCRATCH:
        return ModelSource(SCRATCH, name)
    path = Path(name).expanduser()
    candidates = [path] if path.is_absolute() else [root / path for root in roots]
    for candidate in candidates:
        if candidate.is_dir():
            return folder_source(candidate, name=name)
    if path.is_absolute() or name.startswith((".", "~")):
        what = "is a file; name the folder it is in" if path.is_file() else "there is no such folder"
        raise ModelError(f"{path}: {what}")
    if not _HUB_ID.fullmatch(name):
        raise ModelError(
            f"model {name!r} is neither {SCRATCH!r}, nor a folder, nor a hub id like 'organisation/name'"
        )
    return ModelSource("hub", name)


def folder_source(folder: Path, *, name: str = "") -> ModelSource:
    """Look at a folder's files.

    Raises:
        ModelError: something is missing, is pickled, or is cut off; names the file.
    """
    try:
        _check_folder(folder)
        digest = hashlib.sha256()
        for path in sorted(_files_that_count(folder)):
            digest.update(f"{path.name}:{path.stat().st_size}\n".encode())
            for block in _ends(path):
                digest.update(block)
    except OSError as exc:
        raise ModelError(str(unreadable(folder, exc))) from exc
    return ModelSource("folder", name or str(folder), folder, digest.hexdigest())


def is_offline() -> bool:
    """Whether the user wants nothing fetched from the network."""
    return any(
        os.environ.get(name, "").strip().upper() in {"1", "ON", "YES", "TRUE"}
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's ``config.json``.

    Raises:
        ModelError: it is missing or no JSON object.
    """
    path = folder / CONFIG
    if not path.exists():
        adapter = folder / "adapter_config.json"
        if adapter.exists():
            raise ModelError(
                f"{adapter}: this is a LoRA adapter, not a model; merge it into its base model and save that"
            )
        raise ModelError(f"{folder}: holds no {CONFIG}; save the model with model.save_pretrained(folder)")
    return _read_object(path)


def num_weights(folder: Path) -> int:
    """How many numbers the folder's weights are, read from the headers alone.

    Raises:
        ModelError: a file is not whole.
    """
    total = 0
    for path in _weight_files(folder):
        for name, entry in _checked_header(path).items():
            if name != "__metadata__":
                count = 1
                for length in entry["shape"]:
                    count *= int(length)
                total += count
    return total


def layer_widths(folder: Path) -> dict[str, int]:
    """The layers with a matrix of weights, by name, and the smaller side of each; from the headers alone.

    Raises:
        ModelError: a file is not whole.
    """
    widths = {}
    for path in _weight_files(folder):
        for name, entry in _checked_header(path).items():
            layer, _, part = name.rpartition(".")
            if part == "weight" and len(entry["shape"]) == 2:
                widths[layer] = min(int(length) for length in entry["shape"])
    return widths


def read_tokenizer(folder: Path) -> None:
    """Look whether the folder's ``tokenizer.json`` is one; other kinds of tokenizers are not looked at.

    Raises:
        ModelError: it is not.
    """
    path = folder / "tokenizer.json"
    if path.exists() and not isinstance(_read_object(path).get("model"), dict):
        raise ModelError(f"{path}: holds no tokenizer; save it again with tokenizer.save_pretrained(folder)")


def _check_folder(folder: Path) -> None:
    config = read_config(folder)
    if not config.get("model_type"):
        remedy = "; it needs code of its own, which is never run" if config.get("auto_map") else ""
        raise ModelError(f"{folder / CONFIG}: names no model_type{remedy}")
    if not any(all((folder / file).exists() for file in files) for files in TOKENIZERS):
        raise ModelError(
            f"{folder}: holds no tokenizer (tokenizer.json, or vocab.json with merges.txt, or "
            "tokenizer.model); save it there with tokenizer.save_pretrained(folder)"
        )
    for path in _weight_files(folder):
        _checked_header(path)


def _weight_files(folder: Path) -> list[Path]:
    """All safetensors files of the model.

    Raises:
        ModelError: there are none, or one that the index names is missing.
    """
    index = folder / WEIGHTS_INDEX
    if index.exists():
        weight_map = _read_object(index).get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            raise ModelError(f"{index}: has no weight_map")
        names = sorted({str(file) for file in weight_map.values()})
        for name in names:
            if Path(name).name != name:
                raise ModelError(f"{index}: names {name!r}, which is outside of the folder")
            if not (folder / name).exists():
                raise ModelError(f"{folder / name}: is missing, and {WEIGHTS_INDEX} names it; copy it there")
        return [folder / name for name in names]
    if (folder / WEIGHTS).exists():
        return [folder / WEIGHTS]
    pickled = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES)
    if pickled:
        raise ModelError(
            f"{folder / pickled[0]}: pickled weights can run code when they are read, so only safetensors "
            "are taken; convert it where you trust it: "
            "model.save_pretrained(folder), which writes model.safetensors"
        )
    raise ModelError(f"{folder}: holds no {WEIGHTS}; save the model with model.save_pretrained(folder)")


def _checked_header(path: Path) -> dict[str, Any]:
    """The names, types and shapes in a safetensors file, which must be whole.

    Raises:
        ModelError: it is cut off or no safetensors file.
    """
    try:
        size = check_regular(path)
        with path.open("rb") as file:
            head = file.read(8)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
            if not 2 <= length <= _MAX_HEADER_BYTES:
                raise ModelError(f"{path}: is no safetensors file; fetch or save it again")
            raw = file.read(length)
    except OSError as exc:
        raise ModelError(str(unreadable(path, exc))) from exc
    except DatasetError as exc:
        raise ModelError(str(exc)) from exc
    if len(raw) < length:
        raise _cut_off(path, size, 8 + length)
    header = _parsed_header(path, raw)
    end = 8 + length + max((int(entry["data_offsets"][1]) for entry in header.values()), default=0)
    if size < end:
        raise _cut_off(path, size, end)
    return header


def _parsed_header(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        header = json.loads(raw)
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        for entry in entries.values():
            int(entry["data_offsets"][1]), [int(length) for length in entry["shape"]]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as exc:
        raise ModelError(f"{path}: is no safetensors file ({exc}); fetch or save it again") from exc
    return entries


def _cut_off(path: Path, size: int, needed: int) -> ModelError:
    return ModelError(f"{path}: is cut off: it has {size:,} of {needed:,} bytes; copy or fetch it again")


def _read_object(path: Path) -> dict[str, Any]:
    try:
        if check_regular(path) > _MAX_JSON_BYTES:
            raise ModelError(f"{path}: is larger than {_MAX_JSON_BYTES:,} bytes")
        value = json.loads(path.read_bytes())
    except (DatasetError, OSError) as exc:
        raise ModelError(str(exc)) from exc
    except (ValueError, RecursionError) as exc:
        raise ModelError(f"{path}: is not JSON ({exc}); save or fetch it again") from exc
    if not isinstance(value, dict):
        raise ModelError(f"{path}: must hold a JSON object")
    return value


def _files_that_count(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_file() and path.suffix in (".json", ".safetensors", ".txt", ".model", ".jinja"):
            yield path


def _ends(path: Path) -> Iterator[bytes]:
    """Beginning and end of a file: enough to tell models apart without reading gigabytes."""
    with path.open("rb") as file:
        yield file.read(_SAMPLE_BYTES)
        if path.stat().st_size > 2 * _SAMPLE_BYTES:
            file.seek(-_SAMPLE_BYTES, os.SEEK_END)
        yield file.read(_SAMPLE_BYTES)
