"""All of the REST API in one place: its blueprints and its OpenAPI document."""

from __future__ import annotations

from typing import Final

from apiflask import APIFlask

from app.routes import (
    alerts_api,
    asking_api,
    backfill_api,
    checking_api,
    datasets_api,
    diagnosis_api,
    doctor_api,
    evaluations_api,
    evolution_api,
    evolution_map_api,
    exports_api,
    gates_api,
    inbox_api,
    mark_ended_api,
    metrics_api,
    openapi,
    queue_api,
    recipes_api,
    run_details_api,
    runs_api,
    scripts_api,
    settings_api,
)

BLUEPRINTS: Final = (
    runs_api.bp,
    run_details_api.bp,
    gates_api.bp,
    metrics_api.bp,
    recipes_api.bp,
    datasets_api.bp,
    doctor_api.bp,
    checking_api.bp,
    evolution_api.bp,
    evolution_map_api.bp,
    diagnosis_api.bp,
    alerts_api.bp,
    settings_api.bp,
    queue_api.bp,
    mark_ended_api.bp,
    inbox_api.bp,
    asking_api.bp,
    backfill_api.bp,
    exports_api.bp,
    scripts_api.bp,
    evaluations_api.bp,
)


def register(app: APIFlask) -> None:
    """Add the API to ``app`` and let ``GET /openapi.json`` describe all of it."""
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    openapi.describe(app)
