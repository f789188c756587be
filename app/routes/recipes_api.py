"""``/api/recipes``: what can be trained, enough to draw the form."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.routes.answers import RecipeListAnswer
from app.routes.replies import reply
from app.security.access import requires
from trainer.protocol.policy import describe_policy
from trainer.recipes.registry import describe, recipes

bp = APIBlueprint("recipes_api", __name__, url_prefix="/api/recipes")


@bp.get("")
@requires("viewer")
@bp.output(RecipeListAnswer)
@bp.doc(tags=["Recipes and datasets"])
def index() -> Response:
    """List the recipes with their parameters, presets and built-in datasets, and what a policy may say."""
    described = [describe(recipe) for recipe in recipes().values()]
    return reply({"recipes": described, "policy": describe_policy()})
