"""What can be told of a hub model before anything is fetched: whether it is here already, or can be had.

Loads no training library: the layout of the Hugging Face cache is read as it lies on disk, and the hub is
asked one question of a few kilobytes.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.language.sources import ModelError, ModelSource, folder_source, is_offline

ENDPOINT: Final = "https://huggingface.co"
ASK_S: Final = 4.0
REMEDY: Final = (
    "Set model to a folder with config.json, tokenizer and model.safetensors, or to scratch; or fetch it "
    "once where there is a network."
)
_MOST_BYTES: Final = 4 * 1024 * 1024
_LOCKED: Final = (401, 403)


@dataclass(frozen=True)
class Prospect:
    """What is known of a hub model.

    Attributes:
        source: its files where they are in the cache, else the hub id as it was.
        trouble: why it cannot be had; empty where nothing is known to be in the way.
        doubt: why that is not certain; empty where it is.
    """

    source: ModelSource
    trouble: str = ""
    doubt: str = ""


def prospect(source: ModelSource) -> Prospect:
    """Look for a hub model in the cache, then ask the hub; other sources are here by themselves."""
    if source.kind != "hub":
        return Prospect(source)
    try:
        kept = _kept(source.name)
    except ModelError as exc:
        return Prospect(source, doubt=f"what the cache holds is not whole ({exc})")
    if kept is not None:
        return Prospect(ModelSource("folder", source.name, kept.folder, kept.content_hash))
    if is_offline():
        return Prospect(source, trouble=f"{source.name} is not in the local cache and HF_HUB_OFFLINE is set")
    return _asked(source)


def _cache() -> Path:
    home = os.environ.get("HF_HOME")
    if home:
        return Path(home).expanduser() / "hub"
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "huggingface" / "hub"


def _kept(name: str) -> ModelSource | None:
    """The newest snapshot of ``name`` in the cache; None when it was never fetched.

    Raises:
        ModelError: a file of it is missing or cut off.
    """
    folder = _cache() / f"models--{name.replace('/', '--')}"
    try:
        commit = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    snapshot = folder / "snapshots" / Path(commit).name
    return folder_source(snapshot, name=name) if (snapshot / "config.json").exists() else None


def _asked(source: ModelSource) -> Prospect:
    endpoint = os.environ.get("HF_ENDPOINT", ENDPOINT).rstrip("/")
    if not endpoint.startswith(("https://", "http://")):
        return Prospect(source, doubt=f"HF_ENDPOINT {endpoint!r} is no address")
    request = urllib.request.Request(  # noqa: S310 - http and https only
        f"{endpoint}/api/models/{source.name}", headers={"User-Agent": "signalbox"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ASK_S) as answer:  # noqa: S310 - as above
            told = json.loads(answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as exc:
        exc.close()
        return _refused(source, exc.code)
    except (OSError, ValueError):
        return Prospect(
            source, trouble=f"{source.name} is not in the local cache and the hub cannot be reached"
        )
    return _listed(source, told)


def _refused(source: ModelSource, status: int) -> Prospect:
    if status == 404:
        return Prospect(source, trouble=f"the hub has no model {source.name}")
    if status in _LOCKED:
        return Prospect(source, doubt="the hub has no such model, or shows it only to those with a token")
    return Prospect(source, doubt=f"the hub answered with status {status}")


def _listed(source: ModelSource, told: Any) -> Prospect:
    files = told.get("siblings") if isinstance(told, dict) else None
    if not isinstance(files, list):
        return Prospect(source, doubt="the hub did not say which files it has")
    names = [str(one.get("rfilename", "")) for one in files if isinstance(one, dict)]
    if not any(name.endswith(".safetensors") for name in names):
        return Prospect(
            source, trouble=f"{source.name} has no safetensors on the hub, and pickled weights are never read"
        )
    return Prospect(source)
