"""Text classification: which of a few labels a text has."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator, model_validator

from trainer.recipes.declaration import BuiltinDataset, Recipe, RecipeParams, parameter
from trainer.recipes.label_aliases import parse_aliases
from trainer.recipes.loop_parameters import (
    DATASET,
    LENGTH,
    MODEL,
    OPTIMISER,
    WATCHING,
    CheckpointEvery,
    Device,
    EvalEvery,
    KeepCheckpoints,
    MaxGradNorm,
    MaxSteps,
    MinLrFraction,
    Nproc,
    NumProbes,
    Patience,
    PinnedProbes,
    ProbeFile,
    Schedule,
    Seed,
    SnapshotBudget,
    WarmupSteps,
)
from trainer.recipes.text_classification_presets import PRESETS
from trainer.recipes.text_classification_remedies import REMEDIES


class TextClassificationParams(RecipeParams):
    """Settings of a text classification run."""

    num_epochs: int = parameter(
        4, "Passes over the training texts.", group=LENGTH, ge=1, le=10_000, unit="epochs"
    )
    max_steps: MaxSteps = 0
    batch_size: int = parameter(32, "Texts per step.", group=LENGTH, ge=1, le=4096, unit="texts")
    micro_batch_size: int = parameter(
        0,
        "Texts in memory at once: the same batch, loss and mean gradient with less memory and more time; "
        "0 takes the whole batch.",
        group=LENGTH,
        ge=0,
        le=4096,
        unit="texts",
        advanced=True,
    )
    seed: Seed = 42
    device: Device = "auto"
    nproc: Nproc = 1

    max_examples: int = parameter(
        0,
        "Train on at most this many texts, as many of each label as its share; 0 takes all.",
        group=DATASET,
        ge=0,
        le=100_000_000,
        unit="texts",
    )
    train_fraction: float = parameter(
        1.0,
        "Train on this share of the texts, of every label alike.",
        group=DATASET,
        ge=0.001,
        le=1.0,
        advanced=True,
    )
    held_out_fraction: float = parameter(
        0.1,
        "Share of every label kept for evaluation, whole groups at a time; equal texts stay together.",
        group=DATASET,
        ge=0.01,
        le=0.5,
    )
    label_aliases: str = parameter(
        "",
        "Labels written in several ways: ai|ai-generated=machine; person=human.",
        group=DATASET,
        advanced=True,
    )
    unseen_labels: Literal["refuse", "allow"] = parameter(
        "refuse",
        "What to do with a label whose examples are all in one group, so that none can be held out: refuse "
        "the dataset, or train on it without ever measuring it.",
        group=DATASET,
        advanced=True,
    )

    model: str = parameter(
        "scratch",
        "scratch, a folder with a Hugging Face model, or the name of one on the hub (safetensors only).",
        group=MODEL,
    )
    max_length: int = parameter(
        128,
        "Tokens read of each text; the rest is cut, and counted.",
        group=MODEL,
        ge=8,
        le=8192,
        unit="tokens",
    )
    num_layers: int = parameter(2, "From scratch: layers.", group=MODEL, ge=1, le=48)
    hidden_dim: int = parameter(
        128, "From scratch: width of the layers; a multiple of twice num_heads.", group=MODEL, ge=8, le=4096
    )
    num_heads: int = parameter(
        4, "From scratch: attention heads of a layer.", group=MODEL, ge=1, le=64, advanced=True
    )
    vocab_size: int = parameter(
        8192,
        "From scratch: tokens of the tokenizer that is trained on the texts.",
        group=MODEL,
        ge=300,
        le=100_000,
        unit="tokens",
        advanced=True,
    )
    dropout: float = parameter(
        0.1,
        "From scratch: share of units dropped in training.",
        group=MODEL,
        ge=0.0,
        le=0.9,
        advanced=True,
    )
    lora_rank: int = parameter(
        0,
        "LoRA: rank of small matrices trained beside the frozen weights, and the classifier; 0 trains all.",
        group=MODEL,
        ge=0,
        le=1024,
        advanced=True,
    )
    lora_alpha: float = parameter(
        16.0, "LoRA: how much the small matrices count.", group=MODEL, ge=0.1, le=4096.0, advanced=True
    )
    lora_dropout: float = parameter(
        0.05, "LoRA: share of its inputs dropped.", group=MODEL, ge=0.0, le=0.9, advanced=True
    )
    lora_targets: str = parameter(
        "",
        "LoRA: names of the layers it goes beside, with commas; empty takes the attention's projections.",
        group=MODEL,
        advanced=True,
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = parameter(
        "auto",
        "Numbers to calculate with; auto takes bf16 or fp16 where the GPU is good at it, else fp32.",
        group=MODEL,
        advanced=True,
    )
    gradient_checkpointing: bool = parameter(
        False,
        "Keep fewer activations and calculate them again: less memory, about a third more time.",
        group=MODEL,
        advanced=True,
    )

    learning_rate: float = parameter(
        2e-3,
        "Step size; about 2e-3 from scratch, 2e-5 to 5e-5 for a trained model.",
        group=OPTIMISER,
        ge=1e-9,
        le=1.0,
    )
    weight_decay: float = parameter(
        0.01,
        "AdamW weight decay (not on biases and norms).",
        group=OPTIMISER,
        ge=0.0,
        le=1.0,
        advanced=True,
    )
    class_weights: Literal["none", "sqrt", "balanced"] = parameter(
        "none",
        "What a text of a rare label counts in the loss: as much as any, as if all labels were equally "
        "frequent (balanced), or half-way (sqrt).",
        group=OPTIMISER,
    )
    label_smoothing: float = parameter(
        0.0,
        "Share of every answer spread over all labels in training; makes the model less sure of itself.",
        group=OPTIMISER,
        ge=0.0,
        le=0.5,
        advanced=True,
    )
    accumulate: int = parameter(
        1, "Batches whose gradients make one step.", group=OPTIMISER, ge=1, le=1024, advanced=True
    )
    max_grad_norm: MaxGradNorm = 1.0
    warmup_steps: WarmupSteps = 50
    schedule: Schedule = "linear"
    min_lr_fraction: MinLrFraction = 0.05

    num_probes: NumProbes = 100
    pinned_probes: PinnedProbes = ""
    probe_file: ProbeFile = ""
    eval_every: EvalEvery = 0
    checkpoint_every: CheckpointEvery = 0
    keep_checkpoints: KeepCheckpoints = 3
    best_metric: Literal["macro_f1", "accuracy", "loss"] = parameter(
        "macro_f1",
        "The held-out measure that decides which checkpoint is best.",
        group=WATCHING,
        advanced=True,
    )
    patience: Patience = 0
    snapshot_budget: SnapshotBudget = 0.05

    @field_validator("label_aliases")
    @classmethod
    def _aliases_can_be_read(cls, value: str) -> str:
        parse_aliases(value)
        return value

    @model_validator(mode="after")
    def _heads_divide_width(self) -> TextClassificationParams:
        if self.model == "scratch" and self.hidden_dim % (2 * self.num_heads):
            raise ValueError(
                f"hidden_dim ({self.hidden_dim}) must be a multiple of twice num_heads ({self.num_heads})"
            )
        return self


RECIPE = Recipe(
    name="text_classification",
    title="Text classification",
    position=20,
    summary=(
        "Learns which of a few labels a text has. From a Hugging Face model, or from scratch with a small "
        "one and a tokenizer trained on your texts (fast on a CPU)."
    ),
    task="classification",
    Params=TextClassificationParams,
    presets=PRESETS,
    builtin_datasets=(
        BuiltinDataset(
            "python_docs",
            "Python documentation",
            "Which installed package is a function from? The text is what its documentation says in prose, "
            "without signature and code examples; the names of all packages are blanked out wherever they "
            "stand, so the answer is never in the question.",
        ),
    ),
    dataset_help=(
        "JSONL, CSV or TSV with the columns text and label (optional: group, id); texts of one group are "
        "never on both sides of the split."
    ),
    entry="trainer.tasks.text_classification.train:train",
    advice={
        "loss-at-chance": (
            "check that the labels of the dataset belong to their texts, and that"
            " max_length leaves of a text what tells them apart"
        )
    },
    preflight="trainer.tasks.text_classification.preflight:PREFLIGHT",
    remedies=REMEDIES,
    dataset_kinds=("labelled",),
    answerer="trainer.tasks.text_classification.answerer:open_answerer",
    rebuild="trainer.tasks.text_classification.train:rebuild",
)
