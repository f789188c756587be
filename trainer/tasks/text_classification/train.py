"""Entry of the text classification recipe: reads the dataset, builds the task, hands both to the loop."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import torch

from trainer.datasets import labelled_docs, labelled_texts
from trainer.datasets.labelled_texts import LabelledTexts, with_aliases
from trainer.datasets.records import DatasetError, Tell
from trainer.engine import devices, loop_settings, seeding
from trainer.engine.loop import train as run_loop
from trainer.engine.place import here
from trainer.engine.task import LoopConfig
from trainer.language.token_cache import cached_tokens
from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.label_aliases import parse_aliases
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.batches import Cutter
from trainer.tasks.text_classification.material import Material
from trainer.tasks.text_classification.model import Chosen, Classifier, build_model, choose
from trainer.tasks.text_classification.saved_model import keep_beside_checkpoints
from trainer.tasks.text_classification.split import split_texts
from trainer.tasks.text_classification.task import TextClassificationTask
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

log = logging.getLogger(__name__)
_MANY_CUT: Final = 0.2


def train(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Train a classifier on the dataset of ``spec``, and write it as a Hugging Face folder at the end.

    Raises:
        DatasetError: the dataset cannot be used; the message names file, row and column.
        ModelError: the model cannot be used; the message names the file.
        DeviceUnavailable: the device asked for is not there.
    """

    def tell(detail: str, fraction: float) -> None:
        controls.stop_if_asked()
        reporter.phase(Phase.LOADING, step=0, detail=detail, fraction=fraction)

    params = TextClassificationParams.model_validate(spec.params)
    datasets_dir = Path(spec.datasets_dir)
    tell("reading the dataset", 0.0)
    texts = read_dataset(spec.dataset, params, datasets_dir=datasets_dir, tell=tell, columns=spec.columns)
    prepared = Prepared(texts, params, datasets_dir=datasets_dir, tell=tell)
    device = devices.pick(params.device)
    reporter.device(devices.describe(device))
    tell("building the model", 0.0)
    task = prepared.task(device, tell)
    prepared.describe(reporter)
    if here().is_first:
        keep_beside_checkpoints(paths, task.modules()["classifier"], prepared.chosen.tokenizer)
    run_loop(task, loop_config(params, task), spec=spec, paths=paths, reporter=reporter, controls=controls)


def rebuild(spec: RunSpec, tell: Tell) -> TextClassificationTask:
    """The task of a run, to load its checkpoints into; trains nothing.

    Raises:
        DatasetError: the dataset cannot be used.
        ModelError: the model cannot be used.
        DeviceUnavailable: the device asked for is not there.
    """
    params = TextClassificationParams.model_validate(spec.params)
    folder = Path(spec.datasets_dir)
    tell("reading the dataset", 0.0)
    texts = read_dataset(spec.dataset, params, datasets_dir=folder, tell=tell, columns=spec.columns)
    prepared = Prepared(texts, params, datasets_dir=folder, tell=tell)
    return prepared.task(devices.pick(params.device), tell)


def read_dataset(
    dataset: str,
    params: TextClassificationParams,
    *,
    datasets_dir: Path,
    tell: Tell,
    columns: Mapping[str, str] | None = None,
) -> LabelledTexts:
    """Read a built-in dataset or a file, with the aliases of its labels applied.

    Raises:
        DatasetError: it does not exist, is of no known kind, or is malformed.
    """
    if dataset == labelled_docs.NAME:
        found = labelled_docs.load(datasets_dir, tell)
    elif Path(dataset).suffix.lower() in labelled_texts.ENDINGS:
        found = labelled_texts.read(Path(dataset), tell, columns)
    else:
        known = ", ".join(labelled_texts.ENDINGS)
        raise DatasetError(
            f"{dataset}: neither a built-in dataset ({labelled_docs.NAME}) nor a file ending in {known}"
        )
    return with_aliases(found, parse_aliases(params.label_aliases))


class Prepared:
    """A dataset that has been split and tokenised, before any device is touched."""

    def __init__(
        self, texts: LabelledTexts, params: TextClassificationParams, *, datasets_dir: Path, tell: Tell
    ) -> None:
        """Split, choose the model, tokenise.

        Raises:
            DatasetError: the texts cannot be split.
            ModelError: the model cannot be used.
        """
        self._params = params
        split = split_texts(texts, params)
        held_out = set(split.held_out.tolist())
        # Also those left out by a limit: with fewer texts a resumed run must find the same tokenizer.
        others = [text for row, text in enumerate(texts.texts) if row not in held_out]
        self.chosen: Chosen = choose(params, others, datasets_dir=datasets_dir, tell=tell)
        tokens = cached_tokens(texts.texts, self.chosen.tokenizer, datasets_dir=datasets_dir, tell=tell)
        self.material = Material(texts, texts.names(), texts.numbers_N(), tokens, split)
        self._cutter = Cutter(
            tokens,
            max_length=params.max_length,
            closing_ids=frozenset(self.chosen.tokenizer.all_special_ids),
            padding_id=int(self.chosen.tokenizer.pad_token_id),
        )

    def task(self, device: torch.device, tell: Tell) -> TextClassificationTask:
        """Build the model, seeded, on ``device``.

        Raises:
            ModelError: it cannot be loaded, or does not fit the parameters.
        """
        seeding.seed_everything(self._params.seed)
        model = build_model(self.chosen, self._params, names=self.material.names, tell=tell)
        classifier = Classifier(model, device=device, precision=self._params.precision)
        return TextClassificationTask(
            self.material, classifier, self.chosen.tokenizer, self._cutter, self._params
        )

    def describe(self, reporter: Reporter) -> None:
        """Report what is trained on, and how much of it is cut."""
        material = self.material
        total, cut = len(material.texts), self._cutter.num_cut
        reporter.dataset(
            material.texts.name,
            content_hash=material.texts.content_hash,
            counts={
                "texts": total,
                "train": len(material.split.train),
                "held_out": len(material.split.held_out),
                "labels": len(material.names),
                "cut": cut,
                "tokens": int(self._cutter.lengths_N[material.split.train].sum()),
            },
        )
        if cut > _MANY_CUT * total:
            reporter.alert(
                "warning",
                "Many texts are cut",
                f"{cut:,} of {total:,} texts are longer than max_length ({self._params.max_length} tokens), "
                "and what comes after is never read. Raise max_length if the label shows late in a text.",
            )


def loop_config(params: TextClassificationParams, task: TextClassificationTask) -> LoopConfig:
    """The loop's settings; evaluation and checkpoints every 0 steps mean once per epoch."""
    return loop_settings.loop_config(params.model_dump(), num_micro_batches=task.num_micro_batches(0))
