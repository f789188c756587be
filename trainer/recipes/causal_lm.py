"""A language model that learns to continue: from scratch, by a full fine-tune, or by LoRA."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationInfo, field_validator

from trainer.recipes.causal_lm_presets import PRESETS
from trainer.recipes.causal_lm_question import QUESTION
from trainer.recipes.causal_lm_remedies import REMEDIES
from trainer.recipes.declaration import BuiltinDataset, Recipe, RecipeParams, parameter
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
    Patience,
    PinnedProbes,
    ProbeFile,
    Schedule,
    Seed,
    SnapshotBudget,
    WarmupSteps,
)

_LORA, _MEMORY = "LoRA", "Memory and speed"


class CausalLmParams(RecipeParams):
    """Settings of a run; sizes of a model from scratch are ignored when there is a model."""

    num_epochs: int = parameter(
        3, "Passes over the training examples.", group=LENGTH, ge=1, le=10_000, unit="epochs"
    )
    max_steps: MaxSteps = 0
    batch_size: int = parameter(
        16,
        "Examples in memory at once; when packing, rows of max_length tokens.",
        group=LENGTH,
        ge=1,
        le=4096,
        unit="examples",
    )
    accumulate: int = parameter(
        1,
        "Batches whose gradients make one step; every learned token counts the same.",
        group=LENGTH,
        ge=1,
        le=1024,
    )
    seed: Seed = 42
    device: Device = "auto"
    nproc: Nproc = 1

    max_examples: int = parameter(
        0,
        "Train on at most this many examples, taken evenly from all groups; 0 takes all.",
        group=DATASET,
        ge=0,
        le=100_000_000,
        unit="examples",
    )
    train_fraction: float = parameter(
        1.0,
        "Train on this share of the examples, taken evenly from all groups.",
        group=DATASET,
        ge=0.001,
        le=1.0,
        advanced=True,
    )
    held_out_fraction: float = parameter(
        0.1,
        "Share of the examples kept for evaluation, whole groups at a time.",
        group=DATASET,
        ge=0.01,
        le=0.5,
    )
    max_length: int = parameter(
        256,
        "Tokens of an example that are read; what is cut off is counted and shown. Plain text goes on in a "
        "further example instead.",
        group=DATASET,
        ge=8,
        le=131_072,
        unit="tokens",
    )
    learn_prompt: bool = parameter(
        False,
        "Also learn to write the prompts; otherwise only what answers them is learned.",
        group=DATASET,
        advanced=True,
    )

    model: str = parameter(
        "scratch",
        "scratch makes a small model and a tokenizer on the spot; otherwise a folder with safetensors, "
        "config and tokenizer, or an id of the Hugging Face hub.",
        group=MODEL,
    )
    num_layers: int = parameter(2, "From scratch: layers.", group=MODEL, ge=1, le=96)
    hidden_dim: int = parameter(
        128, "From scratch: width of the layers, a multiple of num_heads.", group=MODEL, ge=16, le=16_384
    )
    num_heads: int = parameter(
        4, "From scratch: attention heads per layer.", group=MODEL, ge=1, le=128, advanced=True
    )
    vocab_size: int = parameter(
        4096,
        "From scratch: tokens of the tokenizer that is learned from the training texts.",
        group=MODEL,
        ge=300,
        le=262_144,
        unit="tokens",
        advanced=True,
    )

    lora_rank: int = parameter(
        0,
        "Train small added matrices of this rank and leave the model as it is; 0 trains all of it.",
        group=_LORA,
        ge=0,
        le=1024,
    )
    lora_alpha: float = parameter(
        32.0,
        "The added matrices count lora_alpha / lora_rank.",
        group=_LORA,
        ge=0.001,
        le=4096.0,
        advanced=True,
    )
    lora_dropout: float = parameter(
        0.05,
        "Share of the added matrices' inputs dropped in training.",
        group=_LORA,
        ge=0.0,
        le=0.9,
        advanced=True,
    )
    lora_targets: str = parameter(
        "all-linear",
        "Which layers get them: all-linear, or names separated by commas, e.g. q_proj,v_proj.",
        group=_LORA,
        advanced=True,
    )

    learning_rate: float = parameter(
        1e-3,
        "Largest step size; 1e-3 suits a small model from scratch, 2e-5 a full fine-tune, 2e-4 LoRA.",
        group=OPTIMISER,
        ge=1e-9,
        le=1.0,
    )
    weight_decay: float = parameter(
        0.01,
        "AdamW weight decay (not on norms and biases).",
        group=OPTIMISER,
        ge=0.0,
        le=1.0,
        advanced=True,
    )
    max_grad_norm: MaxGradNorm = 1.0
    warmup_steps: WarmupSteps = 50
    schedule: Schedule = "cosine"
    min_lr_fraction: MinLrFraction = 0.05

    packing: bool = parameter(
        False,
        "Fill rows of max_length with several examples, which do not see each other; faster when examples "
        "are short. Otherwise batches are padded to their longest example.",
        group=_MEMORY,
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = parameter(
        "auto",
        "Numbers inside the model; auto takes bf16 on GPUs that are good at it, fp16 on older CUDA ones, and "
        "fp32 elsewhere.",
        group=_MEMORY,
    )
    gradient_checkpointing: bool = parameter(
        False,
        "Compute the inside of layers twice instead of keeping it: less memory, a third more time.",
        group=_MEMORY,
        advanced=True,
    )

    evaluate: bool = parameter(
        True,
        "Measure loss and perplexity on held-out examples; without it the last checkpoint is the best.",
        group=WATCHING,
    )
    eval_examples: int = parameter(
        500,
        "Held-out examples per evaluation, always the same; 0 takes all.",
        group=WATCHING,
        ge=0,
        le=10_000_000,
        unit="examples",
        advanced=True,
    )
    eval_every: EvalEvery = 0
    checkpoint_every: CheckpointEvery = 0
    keep_checkpoints: KeepCheckpoints = 2
    best_metric: Literal["loss", "accuracy"] = parameter(
        "loss",
        "The held-out measure that decides which checkpoint is best: loss (and so perplexity), or the share "
        "of tokens guessed right.",
        group=WATCHING,
        advanced=True,
    )
    patience: Patience = 0
    num_probes: int = parameter(
        32,
        "Fixed held-out examples completed again at every snapshot.",
        group=WATCHING,
        ge=1,
        le=5000,
        unit="examples",
    )
    pinned_probes: PinnedProbes = ""
    probe_file: ProbeFile = ""
    probe_tokens: int = parameter(
        48,
        "Longest completion of a probe.",
        group=WATCHING,
        ge=1,
        le=4096,
        unit="tokens",
        advanced=True,
    )
    snapshot_budget: SnapshotBudget = 0.05

    @field_validator("num_heads")
    @classmethod
    def _heads_divide_width(cls, value: int, info: ValidationInfo) -> int:
        width = info.data.get("hidden_dim", 0)
        if info.data.get("model") == "scratch" and width % (2 * value):
            raise ValueError(f"hidden_dim ({width}) must be a multiple of twice num_heads")
        return value

    @field_validator("patience")
    @classmethod
    def _patience_needs_evaluation(cls, value: int, info: ValidationInfo) -> int:
        if value and not info.data.get("evaluate", True):
            raise ValueError(
                "needs evaluate: without evaluations nothing can tell that there is no better one"
            )
        return value


RECIPE = Recipe(
    name="causal_lm",
    title="Language model",
    position=30,
    summary=(
        "Learns to answer prompts or to continue text: a small model from scratch in minutes on a CPU, or a "
        "fine-tune of a model you have, whole or by LoRA."
    ),
    task="language_model",
    Params=CausalLmParams,
    presets=PRESETS,
    builtin_datasets=(
        BuiltinDataset(
            "python_docs",
            "Python documentation",
            "The documentation of the installed Python packages: write the first sentence of a function's "
            "documentation from its name and signature. Built from your own installation at the first run.",
        ),
    ),
    dataset_help=(
        "JSONL or JSON with messages, or instruction and output (optional: input), or prompt and completion, "
        "or text (optional: group, id); or a .txt file."
    ),
    entry="trainer.tasks.causal_lm.train:train",
    advice={
        "loss-at-chance": (
            "check that the dataset holds text the tokenizer knows, and that"
            " max_length leaves something of the answers to learn"
        )
    },
    preflight="trainer.tasks.causal_lm.preflight:PREFLIGHT",
    remedies=REMEDIES,
    dataset_kinds=("conversations",),
    answerer="trainer.tasks.causal_lm.answerer:open_answerer",
    rebuild="trainer.tasks.causal_lm.train:rebuild",
    question=QUESTION,
)
