"""Two-tower retrieval: a query tower and a document tower that learn to meet."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationInfo, field_validator

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
    NumProbes,
    Patience,
    PinnedProbes,
    ProbeFile,
    Schedule,
    Seed,
    SnapshotBudget,
    WarmupSteps,
)
from trainer.recipes.search_process import Wish
from trainer.recipes.two_tower_gates import GATES, GateParams
from trainer.recipes.two_tower_negatives import NegativesParams
from trainer.recipes.two_tower_presets import PRESETS
from trainer.recipes.two_tower_question import QUESTION
from trainer.recipes.two_tower_remedies import REMEDIES
from trainer.recipes.two_tower_serving import BestMetric, ServingParams
from trainer.recipes.two_tower_towers import TowerParams

_NEGATIVES = "Negatives"


class BasicParams(RecipeParams):
    """The settings that most runs need."""

    num_epochs: int = parameter(
        12, "Passes over the training pairs.", group=LENGTH, ge=1, le=10_000, unit="epochs"
    )
    max_steps: MaxSteps = 0
    batch_size: int = parameter(
        512,
        "Pairs per step; every other document of the batch is a negative, so larger is harder.",
        group=LENGTH,
        ge=2,
        le=16_384,
        unit="pairs",
    )
    micro_batch_size: int = parameter(
        0,
        "Pairs in memory at once: the same loss and gradients as with the whole batch, with less memory and "
        "about a third more time; 0 takes the whole batch.",
        group=LENGTH,
        ge=0,
        le=16_384,
        unit="pairs",
        advanced=True,
    )
    seed: Seed = 42
    device: Device = "auto"
    nproc: Nproc = 1

    max_pairs: int = parameter(
        0,
        "Train on at most this many pairs, taken evenly from all groups; 0 takes all.",
        group=DATASET,
        ge=0,
        le=100_000_000,
        unit="pairs",
    )
    train_fraction: float = parameter(
        1.0,
        "Train on this share of the pairs, taken evenly from all groups.",
        group=DATASET,
        ge=0.001,
        le=1.0,
        advanced=True,
    )
    held_out_fraction: float = parameter(
        0.1,
        "Share of the pairs kept for evaluation, whole groups at a time.",
        group=DATASET,
        ge=0.01,
        le=0.5,
    )

    dim: int = parameter(
        128, "Length of the vectors in which queries and documents meet.", group=MODEL, ge=8, le=4096
    )
    hidden_dim: int = parameter(
        512, "Units of the GRU, or of the hidden layer of a text tower.", group=MODEL, ge=8, le=8192
    )
    num_buckets: int = parameter(
        32_768,
        "Text: rows of the table into which words and n-grams are hashed; fewer rows mean more collisions.",
        group=MODEL,
        ge=256,
        le=8_388_608,
        unit="rows",
        advanced=True,
    )
    ngram: int = parameter(
        4,
        "Text: length of the character n-grams read beside whole words; 0 reads words only.",
        group=MODEL,
        ge=0,
        le=8,
        unit="characters",
        advanced=True,
    )
    max_features: int = parameter(
        256,
        "Text: words and n-grams read per text; the rest is not read.",
        group=MODEL,
        ge=8,
        le=4096,
        advanced=True,
    )
    dropout: float = parameter(
        0.1,
        "Share of words, n-grams or units dropped in training.",
        group=MODEL,
        ge=0.0,
        le=0.9,
        advanced=True,
    )
    share_towers: bool = parameter(
        False,
        "Text: both towers read with one table or encoder, so equal words meet before any training. Vectors: "
        "one mlp reads both sides.",
        group=MODEL,
        advanced=True,
    )
    num_layers: int = parameter(1, "Vectors: GRU layers.", group=MODEL, ge=1, le=8, advanced=True)
    bidirectional: bool = parameter(
        True, "Vectors: the GRU reads the sequence both ways.", group=MODEL, advanced=True
    )
    document_tower: Literal["linear", "mlp", "identity"] = parameter(
        "linear",
        "Vectors: what happens to document vectors; identity trains the query tower only.",
        group=MODEL,
        advanced=True,
    )

    learning_rate: float = parameter(
        1e-3, "Step size of all weights but the embedding table.", group=OPTIMISER, ge=1e-9, le=1.0
    )
    embedding_learning_rate: float = parameter(
        5e-3, "Text: step size of the embedding table.", group=OPTIMISER, ge=1e-9, le=1.0, advanced=True
    )
    temperature: float = parameter(
        0.07, "Softmax temperature of the loss; lower is stricter.", group=OPTIMISER, ge=0.001, le=10.0
    )
    weight_decay: float = parameter(
        0.01,
        "AdamW weight decay (not on the embedding table).",
        group=OPTIMISER,
        ge=0.0,
        le=1.0,
        advanced=True,
    )
    accumulate: int = parameter(
        1, "Batches whose gradients make one step.", group=OPTIMISER, ge=1, le=1024, advanced=True
    )
    max_grad_norm: MaxGradNorm = 1.0
    warmup_steps: WarmupSteps = 20
    schedule: Schedule = "cosine"
    min_lr_fraction: MinLrFraction = 0.05

    group_negatives: int = parameter(
        0,
        "Further documents of the same group per pair and step as negatives.",
        group=_NEGATIVES,
        ge=0,
        le=64,
        unit="documents",
        advanced=True,
    )
    mined_negatives: int = parameter(
        0,
        "Near misses per pair and step: documents that the model itself ranks high, but wrongly.",
        group=_NEGATIVES,
        ge=0,
        le=64,
        unit="documents",
    )
    mine_every: int = parameter(
        1,
        "Look for new near misses every so many epochs.",
        group=_NEGATIVES,
        ge=1,
        le=1000,
        unit="epochs",
        advanced=True,
    )
    mine_from_epoch: int = parameter(
        1,
        "First epoch with near misses, counted from 0; an untrained model finds only noise.",
        group=_NEGATIVES,
        ge=0,
        le=10_000,
        unit="epochs",
        advanced=True,
    )
    mine_depth: int = parameter(
        50,
        "Near misses are drawn from this many best-ranked wrong documents.",
        group=_NEGATIVES,
        ge=1,
        le=2000,
        unit="ranks",
        advanced=True,
    )
    symmetric: bool = parameter(
        True, "Also ask each document for its query.", group=_NEGATIVES, advanced=True
    )

    candidates: Literal["held_out", "all"] = parameter(
        "held_out",
        "Documents to search in evaluation: those of the held-out groups, or all (harder and slower).",
        group=WATCHING,
        advanced=True,
    )
    search_process: Wish = parameter(
        "auto",
        "Where mining and evaluation search: in a process of its own, shared with the trainer, or auto, "
        "which keeps them apart on macOS, where torch and faiss crash each other.",
        group=WATCHING,
        advanced=True,
    )
    num_probes: NumProbes = 100
    pinned_probes: PinnedProbes = ""
    probe_file: ProbeFile = ""
    eval_every: EvalEvery = 0
    checkpoint_every: CheckpointEvery = 0
    keep_checkpoints: KeepCheckpoints = 3
    best_metric: BestMetric = parameter(
        "mrr@10",
        "The held-out measure that decides which checkpoint is best.",
        group=WATCHING,
        advanced=True,
    )
    patience: Patience = 0
    snapshot_budget: SnapshotBudget = 0.05

    @field_validator("mine_depth")
    @classmethod
    def _depth_covers_negatives(cls, value: int, info: ValidationInfo) -> int:
        wanted = info.data.get("mined_negatives", 0)
        if value < wanted:
            raise ValueError(f"must be at least mined_negatives ({wanted})")
        return value


class TwoTowerParams(GateParams, ServingParams, NegativesParams, TowerParams, BasicParams):
    """Settings of a two-tower run; the ones of the other input kind are ignored.

    Fields stand in the order of the classes, the last one's first.
    """

    @field_validator("memory_bank")
    @classmethod
    def _bank_of_one_process(cls, value: int, info: ValidationInfo) -> int:
        if value and info.data.get("nproc", 1) > 1:
            raise ValueError(
                "must be 0 with nproc above 1: each process would keep other documents than one alone would"
            )
        return value


RECIPE = Recipe(
    name="two_tower",
    title="Two-tower retrieval",
    position=10,
    summary=(
        "Learns to find the document that answers a query: both are turned into vectors that meet. "
        "From texts (trained from scratch, fast on a CPU) or from your own embeddings."
    ),
    task="retrieval",
    Params=TwoTowerParams,
    presets=PRESETS,
    builtin_datasets=(
        BuiltinDataset(
            "python_docs",
            "Python documentation",
            "The documentation of the installed Python packages: find the function from its description. "
            "Built from your own installation at the first run and kept.",
        ),
    ),
    dataset_help=(
        "JSONL, CSV or TSV with the columns query and document (optional: group, id), or NPZ with "
        "query_vectors [N,T,D] or [N,D] and document_vectors [N,D] (optional: groups, ids), or with X_train, "
        "Y_train, X_val, Y_val, or with context_sequences, target_vectors, truth_keys."
    ),
    entry="trainer.tasks.two_tower.train:train",
    advice={"loss-at-chance": "check that queries and documents of the dataset belong together"},
    preflight="trainer.tasks.two_tower.preflight:PREFLIGHT",
    remedies=REMEDIES,
    dataset_kinds=("pairs", "vectors"),
    answerer="trainer.tasks.two_tower.answerer:open_answerer",
    rebuild="trainer.tasks.two_tower.train:rebuild",
    question=QUESTION,
    gates=GATES,
)
