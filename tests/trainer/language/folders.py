"""Folders that look like models from outside, whole or not."""

from __future__ import annotations

import json
import struct
from pathlib import Path


def safetensors(path: Path, *, cut: int = 0) -> Path:
    """A file with one small matrix, without its last ``cut`` bytes."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    content = struct.pack("<Q", len(header)) + header + bytes(24)
    path.write_bytes(content[: len(content) - cut])
    return path


def whole_folder(folder: Path) -> Path:
    """A folder with every file that a model needs."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "tokenizer.json").write_text("{}")
    safetensors(folder / "model.safetensors")
    return folder
