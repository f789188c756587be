"""``/api/evolution/…/map`` and ``…/neighbors``: where a model places its examples."""

from __future__ import annotations

import gzip
from typing import Any, Final, Literal

from apiflask import APIBlueprint
from flask import Response, request
from pydantic import Field

from app.container import container
from app.routes.answers import Answer
from app.routes.evolution_api import _cacheable, _step
from app.routes.evolution_requests import EvolutionQuery
from app.routes.inputs import takes_query
from app.routes.replies import reply
from app.security.access import requires
from app.services.evolution_neighbours import LARGEST_K

_LEAST_COMPRESSED: Final = 64 * 1024
bp = APIBlueprint("evolution_map_api", __name__, url_prefix="/api/evolution")


class MapQuery(EvolutionQuery):
    """Which frames of a map."""

    step: str | None = Field(default=None, max_length=40, description="Only the frame of this step.")
    method: Literal["pca"] = "pca"
    probes: bool = Field(default=True, description="Whether to tell what the points are.")


class NeighboursQuery(EvolutionQuery):
    """Whose neighbours, and how many."""

    example: str = Field(min_length=1, max_length=1000, description="The id of an example.")
    k: int = Field(default=10, ge=1, le=LARGEST_K)


class MapAnswer(Answer):
    """Places of all examples at each step, on one plane."""

    dataset: str
    run: str
    task: str
    method: str
    version: str = Field(description="Changes when the map is calculated anew, from other snapshots.")
    steps: list[int]
    probes: list[dict[str, Any]] = Field(description="example_id, index, group, label, text of each point.")
    frames: list[dict[str, Any]] = Field(description="step, x, y, correct, disparity.")
    explained: list[float] = Field(description="Share of the variance on each axis.")
    bounds: list[list[float]] = Field(description="Least and largest x, least and largest y of all steps.")


class NeighboursAnswer(Answer):
    """The examples nearest to one at a step, and what changed since the step before."""

    dataset: str
    run: str
    step: int
    example_id: str
    k: int
    example: dict[str, Any] = Field(description="The example itself, as its neighbours are told.")
    neighbors: list[dict[str, Any]]
    previous_step: int | None
    entered: list[str]
    left: list[str]
    churn: float | None


@bp.get("/<dataset>/map")
@requires("viewer")
@takes_query(MapQuery)
@bp.output(MapAnswer)
@bp.doc(tags=["Evolution"], responses={304: "The client's copy is current"})
def map_of(dataset: str, query: MapQuery) -> Response:
    """Show where the examples lie at every step, so that movement means change."""
    step = None if query.step is None else _step(query.step, field="step")
    found = container().evolution_maps.map(dataset, run=query.run, step=step, with_probes=query.probes)
    return _compressed(_cacheable(reply(found)))


@bp.get("/<dataset>/snapshot/<step>/neighbors")
@requires("viewer")
@takes_query(NeighboursQuery)
@bp.output(NeighboursAnswer)
@bp.doc(tags=["Evolution"], responses={304: "The client's copy is current"})
def neighbours(dataset: str, step: str, query: NeighboursQuery) -> Response:
    """Show which examples the model holds for most alike to one, and who came and went."""
    at = _step(step, field="step")
    found = container().evolution_maps.neighbours(
        dataset, at, example_id=query.example, k=query.k, run=query.run
    )
    return _cacheable(reply(found))


def _compressed(response: Response) -> Response:
    """Gzipped where the client takes it and the body is large; the ETag stays that of the content."""
    response.vary.add("Accept-Encoding")
    content = response.get_data()
    is_worth_it = response.status_code == 200 and len(content) > _LEAST_COMPRESSED
    if is_worth_it and request.accept_encodings["gzip"] > 0:
        response.set_data(gzip.compress(content, compresslevel=1, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
    return response
