"""A corpus cache that is small, where the rehearsal looks for the large one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from trainer.datasets import python_docs

NUM_PAIRS = 2600


def small_corpus(datasets_dir: Path) -> Path:
    """Write it under the name that this installation's corpus would have; returns ``datasets_dir``."""
    numbers = range(NUM_PAIRS)
    columns = {
        "ids": [f"module{n // 12}.function{n}" for n in numbers],
        "queries": [f"Return thing {n % 97} of kind {n % 89} by method {n}." for n in numbers],
        "documents": [f"module{n // 12}.function{n}(x)\nGives kind {n % 89}, method {n}." for n in numbers],
        "groups": [f"module{n // 12}" for n in numbers],
    }
    content = json.dumps(columns).encode()
    folder = datasets_dir / python_docs.NAME / python_docs._key(list(python_docs._sources()))
    folder.mkdir(parents=True)
    (folder / "pairs.json").write_bytes(content)
    manifest = {"content_hash": hashlib.sha256(content).hexdigest(), "num_pairs": NUM_PAIRS}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return datasets_dir
