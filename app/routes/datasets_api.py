"""``/api/datasets``: what can be trained on."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.container import container
from app.routes.answers import DatasetListAnswer
from app.routes.replies import reply
from app.security.access import requires
from app.services.datasets import describe_datasets
from trainer.recipes.registry import recipes

bp = APIBlueprint("datasets_api", __name__, url_prefix="/api/datasets")


@bp.get("")
@requires("viewer")
@bp.output(DatasetListAnswer)
@bp.doc(tags=["Recipes and datasets"])
def index() -> Response:
    """List the built-in datasets and the files under the dataset folders."""
    roots = container().settings.dataset_roots
    found = describe_datasets(recipes().values(), roots=roots)
    return reply({"datasets": found, "folders": [str(root) for root in roots]})
