"""A trained model as a Hugging Face folder that anything else can load.

``config.json``, ``model.safetensors``, the tokenizer, and ``signalbox.json``
with the run and step it comes from.  The folder is written aside and renamed:
it holds the old export or the new one, whole.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from transformers import PreTrainedModel, PreTrainedTokenizerFast

from trainer.engine.export_folder import replaced
from trainer.language.loading import keep_quiet
from trainer.protocol.files import write_atomic

ABOUT: Final = "signalbox.json"
FORMAT: Final = 1


def export_model(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    *,
    run_id: str,
    recipe: str,
    dataset: str,
    step: int,
    metrics: Mapping[str, float],
    extra: Mapping[str, Any] | None = None,
) -> Path:
    """Write ``model`` and ``tokenizer`` into ``folder``, replacing what was there; returns the folder.

    Raises:
        OSError: there is no room; what was there before is left as it was.
    """
    keep_quiet()
    with replaced(folder) as unfinished:
        model.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        about = {
            "format": FORMAT,
            "run": run_id,
            "recipe": recipe,
            "dataset": dataset,
            "step": step,
            "metrics": dict(metrics),
            "created_at": time.time(),
            "files": {path.name: _sha256(path) for path in sorted(unfinished.iterdir()) if path.is_file()},
            **(extra or {}),
        }
        write_atomic(unfinished / ABOUT, json.dumps(about, indent=2).encode())
    return folder


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
