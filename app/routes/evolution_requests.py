"""Shapes of what ``/api/evolution`` is asked; the OpenAPI document is made from these."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.domain.learning import CATEGORIES
from app.routes.inputs import Query


class EvolutionQuery(Query):
    """Which run's snapshots; without one, the newest run of the dataset that has any."""

    run: str | None = Field(default=None, max_length=64)


class SnapshotQuery(EvolutionQuery):
    """Which examples of a snapshot, in which order, in which format."""

    limit: int | None = Field(default=None, ge=1, le=100_000)
    offset: int = Field(default=0, ge=0, le=10**9)
    sort: str | None = Field(default=None, max_length=40, description="A column; - in front: falling.")
    filter: Literal["all", "correct", "incorrect"] = "all"
    q: str | None = Field(default=None, max_length=200, description="Looked for in all texts.")
    rows: str | None = Field(
        default=None,
        max_length=3_500,
        pattern=r"^[0-9]{1,6}(,[0-9]{1,6})*$",
        description="Only the examples of these indices, with commas; in this order unless sorted.",
    )
    texts: Literal["whole", "short"] = Field(
        default="whole",
        description="short: at most 300 characters each, only the best document, no tokens.",
    )
    format: Literal["json", "csv", "parquet", "html"] = "json"


class ListQuery(EvolutionQuery):
    """Which of a dataset's examples, in which order."""

    category: str | None = Field(default=None, max_length=40, description=f"One of {', '.join(CATEGORIES)}.")
    group: str | None = Field(default=None, max_length=1_000)
    q: str | None = Field(
        default=None,
        max_length=200,
        description="Looked for in id, texts, and the answers at that step.",
    )
    step: str | None = Field(
        default=None,
        max_length=40,
        description="What filter, q, loss, rank and similarity are of: a step, first, best. Default: latest.",
    )
    filter: Literal["all", "correct", "incorrect"] = Field(default="all", description="At that step.")
    sort: str | None = Field(
        default=None, max_length=40, description="A column such as learned_at; - in front: falling."
    )


class ExamplesQuery(ListQuery):
    """Which page of them, in which format."""

    limit: int | None = Field(
        default=None, ge=1, le=1000, description="Default: 100, and all of them in a download."
    )
    offset: int = Field(default=0, ge=0, le=10**9)
    texts: Literal["whole", "short"] = Field(default="whole", description="short: at most 300 characters.")
    format: Literal["json", "csv", "parquet"] = "json"


class CompareQuery(EvolutionQuery):
    """The two snapshots to compare; each step a number, ``first``, ``latest`` or ``best``."""

    start: str = Field(default="first", alias="from", max_length=40)
    stop: str = Field(default="latest", alias="to", max_length=40)
    run_to: str | None = Field(
        default=None, max_length=64, description="The run of `to`. Default: the same run."
    )
    sort: str | None = Field(
        default=None, max_length=40, description="Default: the largest change of the loss first."
    )
    format: Literal["json", "csv", "parquet", "html"] = "json"
