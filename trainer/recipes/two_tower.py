"""Two-tower retrieval: a query tower and a document tower that learn to meet."""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationInfo, field_validator

from trainer.recipes.declaration import BuiltinDataset, Preset, Recipe, RecipeParams, parameter
from trainer.recipes.search_process import Wish
from trainer.recipes.two_tower_remedies import REMEDIES

_LENGTH, _DATA, _MODEL = "Length", "Dataset", "Model"
_OPTIMISER, _NEGATIVES, _WATCHING = "Optimiser", "Negatives", "Evaluation and checkpoints"


class TwoTowerParams(RecipeParams):
    """Settings of a two-tower run; the ones of the other input kind are ignored."""

    num_epochs: int = parameter(
        12, "Passes over the training pairs.", group=_LENGTH, ge=1, le=10_000, unit="epochs"
    )
    max_steps: int = parameter(
        0,
        "Stop after this many steps; 0 trains all epochs.",
        group=_LENGTH,
        ge=0,
        le=100_000_000,
        unit="steps",
    )
    batch_size: int = parameter(
        512,
        "Pairs per step; every other document of the batch is a negative, so larger is harder.",
        group=_LENGTH,
        ge=2,
        le=16_384,
        unit="pairs",
    )
    micro_batch_size: int = parameter(
        0,
        "Pairs in memory at once: the same loss and gradients as with the whole batch, with less memory and "
        "about a third more time; 0 takes the whole batch.",
        group=_LENGTH,
        ge=0,
        le=16_384,
        unit="pairs",
        advanced=True,
    )
    seed: int = parameter(
        42, "The same seed on the same machine gives the same losses.", group=_LENGTH, ge=0, le=2**31 - 1
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = parameter(
        "auto", "Where to train; auto takes a GPU when there is a sound one.", group=_LENGTH
    )

    max_pairs: int = parameter(
        0,
        "Train on at most this many pairs, taken evenly from all groups; 0 takes all.",
        group=_DATA,
        ge=0,
        le=100_000_000,
        unit="pairs",
    )
    train_fraction: float = parameter(
        1.0,
        "Train on this share of the pairs, taken evenly from all groups.",
        group=_DATA,
        ge=0.001,
        le=1.0,
        advanced=True,
    )
    held_out_fraction: float = parameter(
        0.1,
        "Share of the pairs kept for evaluation, whole groups at a time.",
        group=_DATA,
        ge=0.01,
        le=0.5,
    )

    dim: int = parameter(
        128, "Length of the vectors in which queries and documents meet.", group=_MODEL, ge=8, le=4096
    )
    hidden_dim: int = parameter(
        512, "Units of the GRU, or of the hidden layer of a text tower.", group=_MODEL, ge=8, le=8192
    )
    num_buckets: int = parameter(
        32_768,
        "Text: rows of the table into which words and n-grams are hashed; fewer rows mean more collisions.",
        group=_MODEL,
        ge=256,
        le=8_388_608,
        unit="rows",
        advanced=True,
    )
    ngram: int = parameter(
        4,
        "Text: length of the character n-grams read beside whole words; 0 reads words only.",
        group=_MODEL,
        ge=0,
        le=8,
        unit="characters",
        advanced=True,
    )
    max_features: int = parameter(
        256,
        "Text: words and n-grams read per text; the rest is not read.",
        group=_MODEL,
        ge=8,
        le=4096,
        advanced=True,
    )
    dropout: float = parameter(
        0.1,
        "Share of words, n-grams or units dropped in training.",
        group=_MODEL,
        ge=0.0,
        le=0.9,
        advanced=True,
    )
    share_towers: bool = parameter(
        False,
        "Text: both towers read with one table, so equal words meet before any training.",
        group=_MODEL,
        advanced=True,
    )
    num_layers: int = parameter(1, "Vectors: GRU layers.", group=_MODEL, ge=1, le=8, advanced=True)
    bidirectional: bool = parameter(
        True, "Vectors: the GRU reads the sequence both ways.", group=_MODEL, advanced=True
    )
    document_tower: Literal["linear", "identity"] = parameter(
        "linear",
        "Vectors: what happens to document vectors; identity trains the query tower only.",
        group=_MODEL,
        advanced=True,
    )

    learning_rate: float = parameter(
        1e-3, "Step size of all weights but the embedding table.", group=_OPTIMISER, ge=1e-9, le=1.0
    )
    embedding_learning_rate: float = parameter(
        5e-3, "Text: step size of the embedding table.", group=_OPTIMISER, ge=1e-9, le=1.0, advanced=True
    )
    temperature: float = parameter(
        0.07, "Softmax temperature of the loss; lower is stricter.", group=_OPTIMISER, ge=0.001, le=10.0
    )
    weight_decay: float = parameter(
        0.01,
        "AdamW weight decay (not on the embedding table).",
        group=_OPTIMISER,
        ge=0.0,
        le=1.0,
        advanced=True,
    )
    accumulate: int = parameter(
        1, "Batches whose gradients make one step.", group=_OPTIMISER, ge=1, le=1024, advanced=True
    )
    max_grad_norm: float = parameter(
        1.0,
        "Gradients are scaled down to this norm; 0 never.",
        group=_OPTIMISER,
        ge=0.0,
        le=1e6,
        advanced=True,
    )
    warmup_steps: int = parameter(
        20,
        "Steps during which the learning rate rises to its value.",
        group=_OPTIMISER,
        ge=0,
        le=10_000_000,
        unit="steps",
        advanced=True,
    )
    schedule: Literal["constant", "linear", "cosine"] = parameter(
        "cosine", "How the learning rate falls after the warm-up.", group=_OPTIMISER, advanced=True
    )
    min_lr_fraction: float = parameter(
        0.05,
        "Where the learning rate ends, as a share of its value.",
        group=_OPTIMISER,
        ge=0.0,
        le=1.0,
        advanced=True,
    )

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
        group=_WATCHING,
        advanced=True,
    )
    search_process: Wish = parameter(
        "auto",
        "Where mining and evaluation search: in a process of its own, shared with the trainer, or auto, "
        "which keeps them apart on macOS, where torch and faiss crash each other.",
        group=_WATCHING,
        advanced=True,
    )
    num_probes: int = parameter(
        100,
        "Fixed held-out examples asked again at every snapshot.",
        group=_WATCHING,
        ge=1,
        le=5000,
        unit="examples",
    )
    eval_every: int = parameter(
        0,
        "Evaluate every so many steps; 0 after every epoch.",
        group=_WATCHING,
        ge=0,
        le=10_000_000,
        unit="steps",
    )
    checkpoint_every: int = parameter(
        0,
        "Save every so many steps; 0 after every epoch.",
        group=_WATCHING,
        ge=0,
        le=10_000_000,
        unit="steps",
    )
    keep_checkpoints: int = parameter(
        3, "Newest checkpoints to keep, beside the best one.", group=_WATCHING, ge=1, le=1000, advanced=True
    )
    best_metric: Literal["mrr@10", "recall@1", "recall@5", "recall@10", "recall@50", "recall@100"] = (
        parameter(
            "mrr@10",
            "The held-out measure that decides which checkpoint is best.",
            group=_WATCHING,
            advanced=True,
        )
    )
    patience: int = parameter(
        0,
        "Stop after this many evaluations without a better one; 0 never.",
        group=_WATCHING,
        ge=0,
        le=10_000,
        unit="evaluations",
        advanced=True,
    )
    snapshot_budget: float = parameter(
        0.05,
        "Largest share of the run time that snapshots may take; they are thinned to keep it.",
        group=_WATCHING,
        ge=0.0,
        le=1.0,
        advanced=True,
    )

    @field_validator("mine_depth")
    @classmethod
    def _depth_covers_negatives(cls, value: int, info: ValidationInfo) -> int:
        wanted = info.data.get("mined_negatives", 0)
        if value < wanted:
            raise ValueError(f"must be at least mined_negatives ({wanted})")
        return value


RECIPE = Recipe(
    name="two_tower",
    title="Two-tower retrieval",
    summary=(
        "Learns to find the document that answers a query: both are turned into vectors that meet. "
        "From texts (trained from scratch, fast on a CPU) or from your own embeddings."
    ),
    task="retrieval",
    Params=TwoTowerParams,
    presets=(
        Preset("demo", "Demo: find the function", {}),
        Preset(
            "quick",
            "Quick look (30 s)",
            {"max_pairs": 8000, "num_epochs": 12, "batch_size": 256, "num_probes": 50},
        ),
        Preset(
            "near_misses",
            "Near misses: train on its own mistakes",
            {"mined_negatives": 2, "mine_from_epoch": 2, "mine_every": 2},
        ),
        Preset(
            "vectors_gru",
            "Vectors: GRU query tower",
            {
                "dim": 768,
                "batch_size": 256,
                "learning_rate": 5e-4,
                "document_tower": "identity",
                "num_epochs": 10,
            },
        ),
    ),
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
        "query_vectors [N,T,D] or [N,D] and document_vectors [N,D] (optional: groups, ids)."
    ),
    entry="trainer.tasks.two_tower.train:train",
    preflight="trainer.tasks.two_tower.preflight:PREFLIGHT",
    remedies=REMEDIES,
)
