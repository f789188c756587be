"""Parameters that every recipe of the engine has: one meaning, one range; each recipe chooses the default.

They are types: ``warmup_steps: WarmupSteps = 50`` declares one.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final, Literal

from pydantic import AfterValidator
from pydantic_core import PydanticUndefined

from trainer.protocol.rank_files import MOST_RANKS
from trainer.recipes.declaration import parameter
from trainer.recipes.file_names import check_beside
from trainer.recipes.pinned_probes import check_pinned

LENGTH: Final = "Length"
DATASET: Final = "Dataset"
MODEL: Final = "Model"
OPTIMISER: Final = "Optimiser"
WATCHING: Final = "Evaluation and checkpoints"
PROBE_ENDINGS: Final = (".jsonl", ".ndjson")
_shared = partial(parameter, PydanticUndefined)  # each recipe gives it a default of its own


def _check_probe_file(name: str) -> str:
    if name:
        check_beside(name, PROBE_ENDINGS)
    return name


MaxSteps = Annotated[
    int,
    _shared(
        "Stop after this many steps; 0 trains all epochs.", group=LENGTH, ge=0, le=100_000_000, unit="steps"
    ),
]
Seed = Annotated[
    int,
    _shared("The same seed on the same machine gives the same losses.", group=LENGTH, ge=0, le=2**31 - 1),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    _shared("Where to train; auto takes a GPU when there is a sound one.", group=LENGTH),
]
Nproc = Annotated[
    int,
    _shared(
        "Processes that train together, one GPU each or a share of the cores; a step takes as many times "
        "more batches.",
        group=LENGTH,
        ge=1,
        le=MOST_RANKS,
        unit="processes",
        advanced=True,
    ),
]

MaxGradNorm = Annotated[
    float,
    _shared(
        "Gradients are scaled down to this norm; 0 never.", group=OPTIMISER, ge=0.0, le=1e6, advanced=True
    ),
]
WarmupSteps = Annotated[
    int,
    _shared(
        "Steps during which the learning rate rises to its value.",
        group=OPTIMISER,
        ge=0,
        le=10_000_000,
        unit="steps",
        advanced=True,
    ),
]
Schedule = Annotated[
    Literal["constant", "linear", "cosine"],
    _shared("How the learning rate falls after the warm-up.", group=OPTIMISER, advanced=True),
]
MinLrFraction = Annotated[
    float,
    _shared(
        "Where the learning rate ends, as a share of its value.",
        group=OPTIMISER,
        ge=0.0,
        le=1.0,
        advanced=True,
    ),
]

EvalEvery = Annotated[
    int,
    _shared(
        "Evaluate every so many steps; 0 after every epoch.",
        group=WATCHING,
        ge=0,
        le=10_000_000,
        unit="steps",
    ),
]
CheckpointEvery = Annotated[
    int,
    _shared(
        "Save every so many steps; 0 after every epoch.", group=WATCHING, ge=0, le=10_000_000, unit="steps"
    ),
]
KeepCheckpoints = Annotated[
    int,
    _shared("Newest checkpoints to keep, beside the best one.", group=WATCHING, ge=1, le=1000, advanced=True),
]
Patience = Annotated[
    int,
    _shared(
        "Stop after this many evaluations without a better one; 0 never.",
        group=WATCHING,
        ge=0,
        le=10_000,
        unit="evaluations",
        advanced=True,
    ),
]
NumProbes = Annotated[
    int,
    _shared(
        "Fixed held-out examples asked again at every snapshot.",
        group=WATCHING,
        ge=1,
        le=5000,
        unit="examples",
    ),
]
PinnedProbes = Annotated[
    str,
    _shared(
        "Ids of held-out examples that are always among the probes, separated by commas; the rest of "
        "num_probes is chosen.",
        group=WATCHING,
        advanced=True,
    ),
    AfterValidator(check_pinned),
]
ProbeFile = Annotated[
    str,
    _shared(
        "JSONL file in the dataset's folder with further probes, asked at every snapshot as a set of their "
        "own: input, expected_output, optionally example_id and group.",
        group=WATCHING,
        advanced=True,
    ),
    AfterValidator(_check_probe_file),
]
SnapshotBudget = Annotated[
    float,
    _shared(
        "Largest share of the run time that snapshots may take; they are thinned to keep it.",
        group=WATCHING,
        ge=0.0,
        le=1.0,
        advanced=True,
    ),
]
