"""Shapes of what the API answers; the OpenAPI document is made from these.

They describe, they do not convert: routes answer with what the services
return.  Numbers that JSON cannot say (NaN, infinities) are null.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.run_states import RunState


class Answer(BaseModel):
    """Base of all answers: fields may be added later, so clients must ignore unknown ones."""

    model_config = ConfigDict(extra="allow")


class ErrorFacts(Answer):
    """What went wrong, where, and what to do."""

    code: str
    message: str
    field: str | None = None
    hint: str | None = None


class ErrorAnswer(Answer):
    """The one shape of errors."""

    error: ErrorFacts


class EvolutionErrorAnswer(Answer):
    """The shape of errors under ``/api/evolution/``, as older clients print it."""

    error: str
    code: str
    hint: str | None = None


class RunAnswer(Answer):
    """A run. Times are Unix seconds."""

    id: str
    name: str
    recipe: str
    dataset: str
    columns: dict[str, str] = Field(description="Which column of the file plays which role.")
    dataset_hash: str | None = Field(description="Of what it trains on, as the trainer has read it.")
    dataset_counts: dict[str, Any] | None = Field(description="Examples of each kind, as the trainer says.")
    params: dict[str, Any]
    script: str = Field(description="The registered script of a run of the recipe `script`, else empty.")
    tags: list[str]
    policy: dict[str, Any]
    profile: str
    environment: dict[str, str] = Field(description="The user's own variables; secrets are hidden.")
    rungs: list[dict[str, Any]] = Field(
        description="What of the fallback ladder is in force: rung, title, changes_numbers, is_unsafe."
    )
    priority: int
    priority_name: Literal["high", "normal", "low"]
    state: RunState
    reason: str | None
    is_ended: bool
    is_resumable: bool
    stop_requested: bool
    step: int
    total_steps: int | None
    epoch: float | None
    num_epochs: int | None
    phase: str | None
    device: str | None
    heartbeat_at: float | None
    progress_at: float | None
    attempt: int = Field(description="The latest launch; 0 before the first.")
    exit_code: int | None
    exit_signal: int | None
    queued_at: float
    created_at: float
    started_at: float | None
    ended_at: float | None
    active_alerts: int = Field(description="Alerts that are neither over nor dismissed.")
    latest: dict[str, float | None] = Field(description="The newest value of each metric.")


class RunListAnswer(Answer):
    """One page of runs, newest first; ``total`` counts all that match."""

    runs: list[RunAnswer]
    total: int


class AttemptAnswer(Answer):
    """One launch of a run's trainer."""

    attempt: int
    from_step: int
    reached_step: int | None = Field(description="How far it came; null while it runs.")
    pid: int | None
    started_at: float
    ended_at: float | None
    exit_code: int | None
    exit_signal: int | None
    ended_reason: str | None = Field(description="How it ended, in words; null while it has not.")
    plan: dict[str, Any] | None = Field(
        description="What the fallback ladder changed: rungs, params, environment, because."
    )
    command: list[str]


class AttemptListAnswer(Answer):
    """All launches of a run, first to last."""

    attempts: list[AttemptAnswer]


class VariableAnswer(Answer):
    """One variable of the trainer's environment; the value of a secret is hidden."""

    name: str
    value: str
    reason: str
    source: str = Field(
        description="always, inherited, threads, platform, device, loader, profile, yours, rung"
    )
    reference: str = Field(default="", description="Where the reason is known from.")
    replaced: dict[str, str] | None = Field(default=None, description="Value and source it has taken over.")


class WarningAnswer(Answer):
    """What a user should know about a variable of their own."""

    name: str
    message: str


class EnvironmentAnswer(Answer):
    """What an attempt was started with."""

    attempt: int
    command: list[str]
    environment: list[VariableAnswer]


class PreviewAnswer(Answer):
    """What a run would be started with."""

    command: list[str]
    environment: list[VariableAnswer]
    warnings: list[WarningAnswer]
    params: dict[str, Any]
    dataset: str


class CheckpointAnswer(Answer):
    """A checkpoint in the run folder."""

    attempt: int
    step: int
    file: str
    bytes: int
    sha256: str
    metrics: dict[str, float | None]
    best: bool
    reason: str
    created_at: float


class CheckpointListAnswer(Answer):
    """All announced checkpoints, by step."""

    checkpoints: list[CheckpointAnswer]


class EventListAnswer(Answer):
    """Sparse events, oldest first: ``seq``, ``t``, ``type``, ``stream`` and what the type says."""

    events: list[dict[str, Any]]


class FindingListAnswer(Answer):
    """Why attempts failed, newest attempt first, then best first.

    Each has ``id``, ``cause``, ``remedy``, ``confidence`` (0..1), ``lines``, ``source``, ``rungs`` and, for
    people, ``rungs_in_words`` (``rung``, ``title``, ``changes_numbers``, ``is_unsafe``); those of a run also
    ``attempt`` and ``step``.
    """

    findings: list[dict[str, Any]]


class LogsAnswer(Answer):
    """A piece of an attempt's output. ``offset`` and ``next_offset`` count bytes."""

    run: str
    attempt: int
    offset: int
    next_offset: int = Field(description="Where the following piece starts.")
    total_bytes: int
    text: str


class MetricNameAnswer(Answer):
    """One series of a run."""

    name: str
    total_points: int


class MetricNamesAnswer(Answer):
    """All series of a run."""

    metrics: list[MetricNameAnswer]


class SeriesAnswer(Answer):
    """Points of one series, never more than the budget, never without its spikes."""

    name: str
    steps: list[int]
    times: list[float]
    values: list[float | None]
    total_points: int
    downsampled: bool


class RunSeriesAnswer(SeriesAnswer):
    """Points of the series of one of several runs."""

    run: str


class ManySeriesAnswer(Answer):
    """One metric of several runs; runs that lack it are left out."""

    name: str
    series: list[RunSeriesAnswer]


class RecipeListAnswer(Answer):
    """What can be trained: parameters with types, bounds and help, presets, datasets; and policy fields."""

    recipes: list[dict[str, Any]]
    policy: list[dict[str, Any]] = Field(description="What a run's policy may say, with defaults and bounds.")


class DatasetAnswer(Answer):
    """A built-in dataset, or a file under a dataset folder."""

    name: str
    kind: str = Field(description="builtin, registered or file")
    title: str


class DatasetListAnswer(Answer):
    """What can be trained on, where files are looked for, and what files can hold."""

    datasets: list[DatasetAnswer]
    folders: list[str]
    kinds: list[dict[str, Any]]
    max_upload_mib: int


class CheckAnswer(Answer):
    """One suspicion the doctor has looked at; ``remedy`` is empty where nothing needs to be done."""

    id: str
    title: str
    verdict: Literal["ok", "note", "warning", "problem"]
    found: str
    remedy: str
    details: dict[str, Any]


class DoctorReportAnswer(Answer):
    """All checks of one examination; ``verdict`` is the worst of them."""

    checks: list[CheckAnswer]
    verdict: Literal["ok", "note", "warning", "problem"]
    took_s: float


class DoctorAnswer(Answer):
    """Whether an examination is running, and the last report with its age; null when there is none."""

    running: bool
    started_at: float | None
    trouble: str | None
    report: DoctorReportAnswer | None
    finished_at: float | None
    age_s: float | None


class EndedProcessAnswer(Answer):
    """What became of one process."""

    pid: int
    create_time: float
    outcome: str


class EndedProcessesAnswer(Answer):
    """What became of every process that was to be ended."""

    ended: list[EndedProcessAnswer]
