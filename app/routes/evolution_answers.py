"""Shapes of what ``/api/evolution`` answers; like ``answers``, they describe and do not convert."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from app.routes.answers import Answer


class EvolutionDatasetAnswer(Answer):
    """A dataset that has snapshots."""

    name: str
    snapshot_count: int
    first_step: int
    last_step: int
    path: str


class EvolutionDatasetsAnswer(Answer):
    """All datasets with snapshots, newest step first."""

    datasets: list[EvolutionDatasetAnswer]


class SnapshotEntryAnswer(Answer):
    """A snapshot without its examples."""

    step: int
    timestamp: str
    summary: dict[str, Any]
    filename: str


class SnapshotListAnswer(Answer):
    """The snapshots of one run on one dataset, by step."""

    snapshots: list[SnapshotEntryAnswer]


class ExampleAnswer(Answer):
    """What the model answered to one example at one step."""

    example_id: str
    step: int
    input: str
    expected_output: str
    model_output: str
    loss: float | None
    exact_match: bool
    output_length: int
    similarity: float | None


class SnapshotAnswer(Answer):
    """What the model answered to all examples at one step."""

    snapshot_id: str
    training_step: int
    timestamp: str
    model_version: str
    examples: list[ExampleAnswer]
    summary: dict[str, Any]


class StandingAnswer(Answer):
    """What became of one example over all snapshots."""

    example_id: str
    index: int
    input: str
    expected_output: str
    group: str | None
    category: Literal["learned", "struggling", "not_learned", "forgotten", "flip_flopping"]
    correct: bool = Field(description="In the newest snapshot.")
    learned_at: int | None = Field(description="Step from which on it was always right.")
    flips: int = Field(description="How often it changed between right and wrong.")
    num_forgotten: int = Field(description="How often right turned wrong.")
    last_forgotten_at: int | None
    first_loss: float | None
    last_loss: float | None
    loss_change: float | None
    confidence: float | None = Field(description="Mean of exp(-loss) over the snapshots.")
    variability: float | None = Field(description="Standard deviation of exp(-loss).")


class ListedExampleAnswer(StandingAnswer):
    """The same in a list, with its way through the snapshots."""

    rank: int | None
    similarity: float | None
    right: str = Field(description="One character per step: 1 where it was right, else 0.")
    trail: list[float | None] = Field(description="Loss per step, to four significant digits.")


class GroupAnswer(Answer):
    """A group of examples."""

    name: str
    count: int


class ExamplesAnswer(Answer):
    """A page of a dataset's examples; ``counts`` are per category of all that match ``group`` and ``q``."""

    dataset: str
    run: str
    task: str
    steps: list[int]
    counts: dict[str, int]
    groups: list[GroupAnswer]
    total: int
    offset: int
    limit: int | None
    examples: list[ListedExampleAnswer]


class TrajectoryAnswer(StandingAnswer):
    """One example's way; an entry has ``step``, when it was, and all that the model answered."""

    dataset: str
    run: str
    task: str
    trajectory: list[dict[str, Any]]
    previous: str | None = Field(description="The example before it in the list asked for.")
    next: str | None
    place: int = Field(description="Its place in that list, from 0.")
    total: int = Field(description="How many the list has.")


class StepDynamicsAnswer(Answer):
    """What one snapshot changed against the one before."""

    step: int
    right: int
    learned: int
    forgotten: int
    loss_p10: float | None
    loss_p50: float | None
    loss_p90: float | None


class DynamicsAnswer(Answer):
    """Where all examples stand; the lists are ids, at most 20, the one that stands out most first."""

    dataset: str
    run: str
    task: str
    steps: list[int]
    by_step: list[StepDynamicsAnswer]
    examples: list[dict[str, Any]]
    last_learned: list[str]
    fastest: list[str]
    hardest: list[str]
    most_forgotten: list[str]


class ComparedAnswer(Answer):
    """One example in two snapshots; ``change`` is the loss of the second minus that of the first."""

    example_id: str
    index: int
    input: str
    expected_output: str
    group: str | None
    change: float | None


class ComparisonAnswer(Answer):
    """What changed between two snapshots; each entry has what was answered ``from`` and ``to``."""

    dataset: str
    run: str
    run_to: str
    task: str
    sentence: str
    counts: dict[str, int]
    losses: dict[str, int] = Field(description="How many examples' loss `fell` and `rose`.")
    fixed: list[ComparedAnswer]
    broken: list[ComparedAnswer]
    still_right: list[ComparedAnswer]
    still_wrong: list[ComparedAnswer]
