"""Which checkpoint of another run a run begins with, and whether its weights mean anything here.

Weights alone are taken over: optimizer, near misses and the place in the data are those of a new run.
Loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from trainer.asking.chosen import choose
from trainer.asking.faults import AskingError
from trainer.datasets.records import DatasetError
from trainer.engine.manifests import Manifest
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.two_tower_towers import HASHED_WORDS, SCRATCH

Kind = Literal["words", "encoder", "vectors"]

# What gives the weights their shapes, and what makes the same input mean the same.
_EQUAL: Final[dict[Kind, tuple[str, ...]]] = {
    "words": ("model", "num_buckets", "ngram", "dim", "hidden_dim", "share_towers"),
    "encoder": ("model", "encoder", "dim", "share_towers"),
    "vectors": (
        *("query_tower", "document_tower", "dim", "hidden_dim", "num_layers", "bidirectional"),
        "share_towers",
    ),
}
_SPLIT: Final = ("seed", "held_out_fraction", "max_pairs")  # what decides, with the dataset, what is held out


@dataclass(frozen=True)
class Source:
    """Where the weights come from."""

    spec: RunSpec
    paths: RunPaths
    chosen: Manifest

    @property
    def title(self) -> str:
        """For people."""
        return f"run {self.spec.run_id}, step {self.chosen.step}"


def kind_of(*, is_vectors: bool, model: str) -> Kind:
    """Which towers read the input."""
    if is_vectors:
        return "vectors"
    return "words" if model == HASHED_WORDS else "encoder"


def source_of(wish: str, *, runs_dir: Path) -> Source:
    """The checkpoint that ``init_from`` names: ``RUN``, ``RUN@best``, ``RUN@last`` or ``RUN@STEP``.

    Raises:
        DatasetError: there is no such run or checkpoint.
    """
    run_id, _, which = wish.partition("@")
    paths = RunPaths(runs_dir / run_id)
    try:
        spec = RunSpec.load(paths)
    except (ProtocolError, OSError) as exc:
        raise DatasetError(
            f"init_from names run {run_id}, and {runs_dir} has none of that name; copy the id from its page"
        ) from exc
    try:
        return Source(spec, paths, choose(paths, which or None))
    except AskingError as exc:
        raise DatasetError(f"init_from {wish}: {exc.message} {exc.hint}".rstrip()) from exc


def misfit(source: Source, params: Mapping[str, Any], kind: Kind) -> str | None:
    """Why weights of that run mean nothing with these parameters, and what helps; None where they fit."""
    spec = source.spec
    if spec.recipe != "two_tower":
        return f"run {spec.run_id} trained {spec.recipe}, not two towers: name another one"
    if kind == "encoder" and params["model"] == SCRATCH:
        return (
            "an encoder from scratch learns its tokenizer from its own texts, so weights of another run mean "
            "nothing to it: set model to a folder or a hub id, or clear init_from"
        )
    known = {name: (spec.params.get(name), params[name]) for name in _EQUAL[kind]}
    other = [name for name, (theirs, ours) in known.items() if theirs != ours]
    if not other:
        return None
    told = ", ".join(f"{name} was {known[name][0]} and is {known[name][1]}" for name in other)
    return (
        f"the weights of run {spec.run_id} belong to other towers: {told}; set the same, or clear init_from"
    )


def may_know_held_out(
    source: Source, task_state: Mapping[str, Any], params: Mapping[str, Any], *, content_hash: str
) -> bool:
    """Whether that run may have trained on what is held out here: another dataset, or another split of it."""
    if task_state.get("content_hash") != content_hash:
        return True
    return any(source.spec.params.get(name) != params[name] for name in _SPLIT)
