"""Entry of the language model recipe: reads, tokenises, builds the task, hands it to the loop.

Everything is read and tokenised in this process before any device is touched.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from transformers import PreTrainedTokenizerFast

from trainer.datasets import conversations as conversation_files
from trainer.datasets import python_docs
from trainer.datasets.conversations import Conversations
from trainer.datasets.records import DatasetError, Tell
from trainer.engine import devices, loop_settings, seeding
from trainer.engine.loop import train as run_loop
from trainer.engine.place import here
from trainer.engine.task import LoopConfig
from trainer.language import precision
from trainer.language.loading import fetched, load_tokenizer
from trainer.language.scratch import scratch_tokenizer
from trainer.language.sources import ModelSource, find_source, model_roots
from trainer.language.token_cache import cached_tokens
from trainer.protocol.events import Phase
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.causal_lm import CausalLmParams
from trainer.tasks.causal_lm.examples import docstrings, split_rows, subset
from trainer.tasks.causal_lm.material import Material, build
from trainer.tasks.causal_lm.model import build_model
from trainer.tasks.causal_lm.packing_check import check_order, check_packing
from trainer.tasks.causal_lm.rendering import give_template, render
from trainer.tasks.causal_lm.task import CausalLmTask
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

log = logging.getLogger(__name__)
TOKENIZERS: Final = "tokenizers"


@dataclass(frozen=True)
class Prepared:
    """All that is known before a device is touched."""

    source: ModelSource
    tokenizer: PreTrainedTokenizerFast
    material: Material
    fingerprint: str


def train(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Train a language model on the dataset of ``spec``.

    Raises:
        DatasetError: the dataset cannot be used; the message names file and row.
        ModelError: the model cannot be used; the message names the file.
        DeviceUnavailable: the device asked for is not there.
    """

    def tell(detail: str, fraction: float) -> None:
        controls.stop_if_asked()
        reporter.phase(Phase.LOADING, step=0, detail=detail, fraction=fraction)

    params = CausalLmParams.model_validate(spec.params)
    tell("reading the dataset", 0.0)
    prepared = prepare(
        spec.dataset, params, datasets_dir=Path(spec.datasets_dir), tell=tell, columns=spec.columns
    )
    device = devices.pick(params.device)
    numbers = precision.choose(params.precision, device)
    reporter.device(f"{devices.describe(device)}, {numbers}")
    tell("building the model", 0.0)
    seeding.seed_everything(params.seed)
    model = build_model(
        prepared.source, prepared.tokenizer, params, device=device, precision=numbers, tell=tell
    )
    check_order(model, prepared.material)
    if params.packing:
        check_packing(model, prepared.material)
    if here().is_first:
        prepared.tokenizer.save_pretrained(tokenizer_folder(paths))  # whoever asks a checkpoint needs it
    task = CausalLmTask(prepared.material, model, params, fingerprint=prepared.fingerprint)
    _describe(task, prepared, reporter)
    run_loop(task, loop_config(params, task), spec=spec, paths=paths, reporter=reporter, controls=controls)


def rebuild(spec: RunSpec, tell: Tell) -> CausalLmTask:
    """The task of a run, to load its checkpoints into; trains nothing.

    Raises:
        DatasetError: the dataset cannot be used.
        ModelError: the model cannot be used.
        DeviceUnavailable: the device asked for is not there.
    """
    params = CausalLmParams.model_validate(spec.params)
    folder = Path(spec.datasets_dir)
    tell("reading the dataset", 0.0)
    prepared = prepare(spec.dataset, params, datasets_dir=folder, tell=tell, columns=spec.columns)
    device = devices.pick(params.device)
    numbers = precision.choose(params.precision, device)
    tell("building the model", 0.5)
    seeding.seed_everything(params.seed)
    model = build_model(
        prepared.source, prepared.tokenizer, params, device=device, precision=numbers, tell=tell
    )
    return CausalLmTask(prepared.material, model, params, fingerprint=prepared.fingerprint)


def tokenizer_folder(paths: RunPaths) -> Path:
    """Where a run keeps its tokenizer."""
    return paths.root / "tokenizer"


def prepare(
    dataset: str,
    params: CausalLmParams,
    *,
    datasets_dir: Path,
    tell: Tell,
    columns: Mapping[str, str] | None = None,
) -> Prepared:
    """Find the model, read the dataset, learn or load the tokenizer, and tokenise.

    Raises:
        DatasetError: the dataset cannot be used.
        ModelError: the model cannot be used.
    """
    source = fetched(find_source(params.model, roots=model_roots(datasets_dir)), tell)
    conversations = read_dataset(dataset, datasets_dir=datasets_dir, tell=tell, columns=columns)
    split = split_rows(conversations, held_out_fraction=params.held_out_fraction, seed=params.seed)
    if source.kind == "scratch":
        learned_from = [
            "\n".join(turn.text for turn in conversations.turns[row])
            for row in subset(split.train, conversations, params).tolist()
        ]
        tokenizer = scratch_tokenizer(
            learned_from,
            kind="decoder",
            vocab_size=params.vocab_size,
            folder=datasets_dir / TOKENIZERS,
            tell=tell,
        )
    else:
        tokenizer = load_tokenizer(source)
    if conversations.kind == "messages" and give_template(tokenizer):
        log.info("the tokenizer has no chat template: a plain one is used, and goes into the export")
    rendered = render(conversations, tokenizer, learn_prompt=params.learn_prompt, tell=tell)
    tokens = cached_tokens(
        rendered.texts,
        tokenizer,
        datasets_dir=datasets_dir,
        tell=tell,
        spans=rendered.spans,
        add_special_tokens=rendered.adds_special_tokens,
    )
    material = build(conversations, tokens, split, params=params, end_id=tokenizer.eos_token_id)
    return Prepared(source, tokenizer, material, _fingerprint(source, tokenizer))


def read_dataset(
    dataset: str, *, datasets_dir: Path, tell: Tell, columns: Mapping[str, str] | None = None
) -> Conversations:
    """Read the built-in dataset, or a file by the ending of its name; ``columns`` as in ``RunSpec``.

    Raises:
        DatasetError: it does not exist, is of no known kind, or is malformed.
    """
    if dataset == python_docs.NAME:
        return docstrings(python_docs.load(datasets_dir, tell))
    path = Path(dataset)
    if path.suffix.lower() in conversation_files.ENDINGS:
        return conversation_files.read(path, tell, columns)
    known = ", ".join(conversation_files.ENDINGS)
    raise DatasetError(
        f"{dataset}: neither a built-in dataset ({python_docs.NAME}) nor a file ending in {known}"
    )


def loop_config(params: CausalLmParams, task: CausalLmTask) -> LoopConfig:
    """The loop's settings; evaluation and checkpoints every 0 steps mean once per epoch."""
    return loop_settings.loop_config(
        params.model_dump(),
        num_micro_batches=task.num_micro_batches(0),
        evaluates=params.evaluate,
        evaluates_first=params.evaluate and task.is_cheap_to_evaluate,
    )


def _describe(task: CausalLmTask, prepared: Prepared, reporter: Reporter) -> None:
    material = prepared.material
    counts = material.counts
    reporter.dataset(
        material.conversations.name,
        content_hash=material.conversations.content_hash,
        counts={
            "examples": len(material.conversations),
            "train": len(material.train),
            "held_out": len(material.held_out),
            "rows_per_epoch": task.num_rows,
            "tokens": counts.tokens,
            "learned_tokens": counts.learned,
            "cut_tokens": counts.cut,
            "cut_examples": counts.cut_examples,
            "left_out_examples": counts.empty_examples,
        },
    )
    log.info("%.1f %% of the tokens are masked: read, but not learned", 100.0 * material.counts.masked_share)
    if not task.evaluates:
        log.warning("evaluation is off: held-out examples are not read, and the last checkpoint is exported")
    if counts.cut:
        log.info(
            "max_length cut %s tokens off %s examples; %s were left out, because nothing was left to learn",
            f"{counts.cut:,}", f"{counts.cut_examples:,}", f"{counts.empty_examples:,}",
        )  # fmt: skip


def _fingerprint(source: ModelSource, tokenizer: PreTrainedTokenizerFast) -> str:
    content = (
        f"{source.content_hash}\n{tokenizer.backend_tokenizer.to_str()}\n{tokenizer.chat_template or ''}"
    )
    return hashlib.sha256(content.encode()).hexdigest()
