"""Entry of the two-tower recipe: reads the dataset, builds the task, hands both to the loop."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import torch

from trainer.datasets import pairs, python_docs, vector_bank, vectors
from trainer.datasets.records import DatasetError, Tell, TextPairs, VectorPairs
from trainer.engine import devices, loop_settings, seeding
from trainer.engine.loop import train as run_loop
from trainer.engine.manifests import manifests, problem_with
from trainer.engine.task import LoopConfig
from trainer.environment.loader import read_loader
from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.search_process import home_of_search
from trainer.recipes.two_tower import TwoTowerParams
from trainer.recipes.two_tower_towers import HASHED_WORDS
from trainer.retrieval.search import Search, open_search
from trainer.tasks.two_tower.first_weights import begin_with
from trainer.tasks.two_tower.material import Material, from_texts, from_vectors
from trainer.tasks.two_tower.model import TwoTowers, text_towers, vector_towers
from trainer.tasks.two_tower.supplied import supplied_by_files
from trainer.tasks.two_tower.task import TwoTowerTask
from trainer.tasks.two_tower.weight_source import kind_of, may_know_held_out, source_of
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

_FEATURES_FOLDER: Final = "features"


def train(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Train two towers on the dataset of ``spec``.

    Raises:
        DatasetError: the dataset cannot be used; the message names file, row and column.
        CheckpointError: the checkpoint whose weights it is to begin with is damaged.
        DeviceUnavailable: the device asked for is not there.
    """

    def tell(detail: str, fraction: float) -> None:
        controls.stop_if_asked()
        reporter.phase(Phase.LOADING, step=0, detail=detail, fraction=fraction)

    params = TwoTowerParams.model_validate(spec.params)
    device = devices.pick(params.device)
    reporter.device(devices.describe(device))
    home = home_of_search(params.search_process, platform=sys.platform)
    with closing(open_search(home, folder=paths.root, stop_if_asked=controls.stop_if_asked)) as search:
        task, material = load_task(
            spec.dataset,
            params,
            datasets_dir=Path(spec.datasets_dir),
            device=device,
            tell=tell,
            search=search,
            columns=spec.columns,
        )
        _describe(task, material, reporter)
        if params.init_from and not _has_own_checkpoint(paths):
            _begin_with_another(task, material, params, runs_dir=paths.root.parent, reporter=reporter)
        run_loop(
            task, loop_config(params, task), spec=spec, paths=paths, reporter=reporter, controls=controls
        )


def _describe(task: TwoTowerTask, material: Material, reporter: Reporter) -> None:
    reporter.dataset(
        material.name,
        content_hash=material.content_hash,
        counts={
            "pairs": len(material.ids),
            "train": task.num_train_pairs,
            "held_out": len(material.split.held_out),
            "documents": len(material.document_ids),
            "candidates": task.num_candidates,
        },
    )


def _has_own_checkpoint(paths: RunPaths) -> bool:
    """Whether there is one to go on from; where all are damaged the run begins again, as it began."""
    return any(problem_with(paths, one) is None for one in reversed(manifests(paths)))


def _begin_with_another(
    task: TwoTowerTask, material: Material, params: TwoTowerParams, *, runs_dir: Path, reporter: Reporter
) -> None:
    source = source_of(params.init_from, runs_dir=runs_dir)
    chosen = params.model_dump()
    kind = kind_of(is_vectors=material.reader is None, model=params.model)
    state = begin_with(task.modules(), source, chosen, kind)
    reporter.alert("info", "Begins with the weights of another run", f"Those of {source.title}.", step=0)
    if may_know_held_out(source, state, chosen, content_hash=material.content_hash):
        reporter.alert(
            "warning",
            "Some held-out pairs may be known",
            f"{source.title} was trained on another dataset or another split of it, so what is held out here "
            "may have been trained on there: measures may be too good. The same dataset with the same seed, "
            "held_out_fraction and max_pairs is safe.",
            step=0,
        )


def load_task(
    dataset: str,
    params: TwoTowerParams,
    *,
    datasets_dir: Path,
    device: torch.device,
    tell: Tell,
    search: Search | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[TwoTowerTask, Material]:
    """Read ``dataset`` (a built-in name or a path) and build towers for it, seeded.

    ``search`` is who searches; None for what ``params.search_process`` asks for.

    Raises:
        DatasetError: the dataset cannot be used.
    """
    rows = read_dataset(dataset, datasets_dir=datasets_dir, tell=tell, columns=columns)
    if params.bank_file:
        rows = _with_bank(rows, Path(dataset).with_name(params.bank_file), tell)
    seeding.seed_everything(params.seed)
    towers: TwoTowers
    if isinstance(rows, TextPairs) and params.model != HASHED_WORDS:
        tell("loading transformers", 0.0)
        encoders: Any = importlib.import_module("trainer.tasks.two_tower.encoders")  # takes seconds
        material, towers = encoders.encoder_material(
            rows, params, datasets_dir=datasets_dir, device=device, tell=tell
        )
    elif isinstance(rows, TextPairs):
        material = from_texts(rows, params, cache=datasets_dir / _FEATURES_FOLDER, tell=tell)
        towers = text_towers(params, device)
    else:
        pin_memory = device.type == "cuda" and read_loader(os.environ).pin_memory
        material = from_vectors(rows, params, pin_memory=pin_memory)
        towers = vector_towers(
            params,
            query_dim=rows.query_vectors.shape[2],
            document_dim=rows.document_vectors.shape[1],
            device=device,
        )
    material, supplied = supplied_by_files(
        material, params, dataset=dataset, datasets_dir=datasets_dir, tell=tell
    )
    return TwoTowerTask(material, towers, params, search=search, supplied=supplied), material


def rebuild(spec: RunSpec, tell: Tell) -> TwoTowerTask:
    """The task of a run, to load its checkpoints into; trains nothing.

    Raises:
        DatasetError: the dataset cannot be used.
        DeviceUnavailable: the device asked for is not there.
    """
    params = TwoTowerParams.model_validate(spec.params)
    device = devices.pick(params.device)
    folder = Path(spec.datasets_dir)
    task, _ = load_task(
        spec.dataset, params, datasets_dir=folder, device=device, tell=tell, columns=spec.columns
    )
    return task


def _with_bank(rows: TextPairs | VectorPairs, path: Path, tell: Tell) -> VectorPairs:
    if isinstance(rows, TextPairs):
        raise DatasetError(f"{rows.name} holds texts, and {path.name} a bank of vectors; clear bank_file")
    return vector_bank.with_bank(rows, path, tell)


def read_dataset(
    dataset: str, *, datasets_dir: Path, tell: Tell, columns: Mapping[str, str] | None = None
) -> TextPairs | VectorPairs:
    """Read a built-in dataset, or a file by the ending of its name; ``columns`` as in ``RunSpec``.

    Raises:
        DatasetError: it does not exist, is of no known kind, or is malformed.
    """
    if dataset == python_docs.NAME:
        return python_docs.load(datasets_dir, tell)
    path = Path(dataset)
    ending = path.suffix.lower()
    if ending in vectors.ENDINGS:
        return vectors.read(path, tell, columns)
    if ending in pairs.ENDINGS:
        return pairs.read(path, tell, columns)
    known = ", ".join([*pairs.ENDINGS, *vectors.ENDINGS])
    raise DatasetError(
        f"{dataset}: neither a built-in dataset ({python_docs.NAME}) nor a file ending in {known}"
    )


def loop_config(params: TwoTowerParams, task: TwoTowerTask) -> LoopConfig:
    """The loop's settings; evaluation and checkpoints every 0 steps mean once per epoch."""
    return loop_settings.loop_config(params.model_dump(), num_micro_batches=task.num_micro_batches(0))
