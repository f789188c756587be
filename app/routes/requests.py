"""Shapes of what clients send; the OpenAPI document is made from these."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from app.domain.priorities import PRIORITIES, priority_number
from app.domain.run_states import RunState
from app.routes.inputs import Body, Query
from trainer.environment.overrides import MAX_VARIABLES
from trainer.protocol.events import EventType
from trainer.protocol.policy import BY_NAME


def plain_text(text: str) -> str:
    """``text`` as it is; ValueError when it is blank or holds control characters."""
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise ValueError(f"must not hold the control character U+{ord(character):04X}")
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _priority(given: object) -> object:
    if not isinstance(given, str):
        return given
    if given not in PRIORITIES:
        raise ValueError(f"must be one of {', '.join(PRIORITIES)}, or a whole number")
    return priority_number(given)


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(plain_text)]
Tag = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(plain_text)]
Tags = Annotated[list[Tag], Field(max_length=20)]
Priority = Annotated[
    int,
    BeforeValidator(_priority),
    Field(ge=-100, le=100),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(PRIORITIES)},
                {"type": "integer", "minimum": -100, "maximum": 100},
            ],
            "description": f"A word, or a number: higher starts first, and the words stand for {PRIORITIES}.",
        }
    ),
]
Columns = dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=200)]]
Profile = Literal["auto", "safe", "classic"]


def _policy_field(name: str) -> Any:
    declared = BY_NAME[name]
    return Field(
        default=None,
        ge=declared.minimum,
        le=declared.maximum,
        description=f"{declared.help} Default: {declared.default}.",
    )


class Policy(Body):
    """What to do when a run gets into trouble."""

    max_attempts: int | None = _policy_field("max_attempts")
    on_stall: Literal["report", "stop", "retry"] | None = _policy_field("on_stall")
    retry_after_s: float | None = _policy_field("retry_after_s")
    stall_after_s: float | None = _policy_field("stall_after_s")


class TrainingRequest(Body):
    """What to train: enough for a preview."""

    recipe: str = Field(min_length=1, max_length=64, description="A name from GET /api/recipes.")
    dataset: str = Field(
        default="",
        max_length=1024,
        description="A built-in name, a registered one (NAME or NAME@2), or a file under a dataset folder; "
        "a script may have none.",
    )
    columns: Columns = Field(
        default_factory=dict,
        max_length=32,
        description="Role -> column of the file; over those a dataset was registered with. Empty: no column.",
    )
    script: str = Field(
        default="", max_length=64, description="For the recipe `script`: a name from GET /api/scripts."
    )
    params: dict[str, Any] = Field(default_factory=dict, max_length=500)
    profile: Profile | None = Field(
        default=None, description="Environment of the trainer. Default: `auto`, or what the script proposes."
    )
    environment: dict[str, str] = Field(
        default_factory=dict, max_length=MAX_VARIABLES, description="Variables of your own, over ours."
    )


class RunRequest(TrainingRequest):
    """A run to be queued."""

    name: Name | None = None
    tags: Tags = Field(default_factory=list)
    policy: Policy = Field(default_factory=Policy)
    priority: Priority = 0
    preflight: Literal["skip", "require"] = Field(
        default="skip", description="'require' refuses a run whose preflight is red, with the findings."
    )


class PreflightRequest(RunRequest):
    """A run that is to be checked, not queued."""

    smoke: bool = Field(default=False, description="Also train a few real steps and measure them.")


class DiagnosisRequest(Body):
    """A log of any training, and what else is known of its end."""

    text: str = Field(max_length=1_000_000, description="The log, or its beginning and end.")
    exit_code: int | None = Field(default=None, ge=-(2**32), le=2**32, description="Signals as -N or 128+N.")
    platform: Literal["linux", "darwin", "windows"] = "linux"
    stopped_by_user: bool = False


class CreationHeaders(Query):
    """What makes a repeated request one run."""

    idempotency_key: str | None = Field(
        default=None, pattern=r"^[\x20-\x7e]{1,200}$", description="1 to 200 printable ASCII characters."
    )


class RunChanges(Body):
    """What may change of a run that exists."""

    name: Name | None = None
    tags: Tags | None = None
    priority: Priority | None = None


class RunListQuery(Query):
    """Which runs to list, newest first."""

    state: str | None = Field(
        default=None, description=f"One state or several with commas: {', '.join(RunState)}."
    )
    recipe: str | None = None
    dataset: str | None = None
    q: str | None = Field(default=None, max_length=200, description="Looked for in name, id and tags.")
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=10**9)


class DeleteQuery(Query):
    """How thoroughly to delete."""

    purge: bool = Field(default=False, description="Delete the run folder instead of moving it to trash.")


class AttemptQuery(Query):
    """Which launch of the trainer."""

    attempt: int | None = Field(default=None, ge=1, le=10**6, description="Default: the newest.")


class LogsQuery(Query):
    """Which bytes of an attempt's output."""

    attempt: int | None = Field(default=None, ge=1, le=10**6, description="Default: the newest.")
    offset: int = Field(
        default=-65536, ge=-(2**53), le=2**53, description="First byte; negative counts from the end."
    )
    limit: int = Field(default=65536, ge=1, le=4 * 1024 * 1024, description="Bytes.")


class EventsQuery(Query):
    """Which sparse events."""

    types: str | None = Field(
        default=None, description=f"Several with commas: {', '.join(EventType)}. Default: all."
    )
    limit: int = Field(default=200, ge=1, le=5000)


class SeriesQuery(Query):
    """Which points of a series, and how many at most."""

    x: Literal["step", "time", "relative"] = Field(
        default="step",
        description="What from and to are measured in: steps, Unix seconds, or seconds since the start.",
    )
    points: int = Field(default=1500, description="Pixel budget; taken as 10 at least and 5000 at most.")
    start: float | None = Field(default=None, alias="from", description="First x, inclusive.")
    stop: float | None = Field(default=None, alias="to", description="Last x, inclusive.")
    after: int | None = Field(
        default=None, ge=0, le=2**53, description="Only points numbered from here on, in order of arrival."
    )


class ManySeriesQuery(Query):
    """One metric of several runs."""

    runs: str = Field(min_length=1, max_length=20_000, description="Run ids with commas, at most 500.")
    name: str = Field(min_length=1, max_length=200)
    points: int = Field(default=500, description="Pixel budget of each series; 10 at least, 5000 at most.")


class LeftoverProcess(Body):
    """A process as the doctor's report names it: pid and creation time together are one process."""

    pid: int = Field(ge=1, le=2**31 - 1)
    create_time: float = Field(ge=0, description="Unix seconds, from the report.")


class LeftoverProcesses(Body):
    """Which leftover processes to end."""

    processes: Annotated[list[LeftoverProcess], Field(min_length=1, max_length=500)]
