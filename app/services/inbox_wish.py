"""How a dropped file is to be trained: by its sidecar ``NAME.json``, else by what the page says."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.domain.priorities import priority_number
from app.errors import InvalidRequest
from app.services.run_policy import check_policy
from trainer.environment.build import PROFILES
from trainer.recipes.files import recipes_for
from trainer.recipes.registry import ParameterError, Recipe, recipes, validate

MAX_SIDECAR_BYTES: Final = 64 * 1024
BY_CONTENT: Final = ""  # in place of a recipe's name: the one that trains on what the file holds


class WishError(Exception):
    """The sidecar, or what the page says, cannot be followed; the message says why, for a person."""


class Sidecar(BaseModel):
    """What ``NAME.json`` may say; everything may be left out."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    recipe: str | None = None
    preset: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    name: str | None = Field(default=None, min_length=1, max_length=200)
    tags: list[str] = Field(default_factory=list, max_length=20)
    priority: Literal["high", "normal", "low"] | None = None
    profile: str = "auto"
    policy: dict[str, Any] = Field(default_factory=dict)


def read_sidecar(path: bytes) -> str | None:
    """The text of a file's sidecar, None where it has none.

    Raises:
        WishError: it is no regular file, too large, or no text.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise WishError(f"its sidecar cannot be read: {exc.strerror}") from exc
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise WishError("its sidecar is not a regular file")
        content = file.read(MAX_SIDECAR_BYTES + 1)
    if len(content) > MAX_SIDECAR_BYTES:
        raise WishError(f"its sidecar is larger than {MAX_SIDECAR_BYTES:,} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise WishError("its sidecar is not UTF-8 text") from exc


def wish_of(sidecar: str | None, *, recipe: str, preset: str | None) -> tuple[dict[str, Any], int | None]:
    """What to train, with complete parameters, and the priority the sidecar asks for.

    Args:
        sidecar: its text, None where there is none.
        recipe: what the page says, :data:`BY_CONTENT` for what suits the file; ``preset`` likewise, None
            for the recipe's defaults.

    Returns:
        Where neither says, only what the sidecar says of the priority: the rest needs to be asked again
        with the recipe that suits what the file turns out to hold.

    Raises:
        WishError: names what cannot be followed, and what is allowed.
    """
    said = _parsed(sidecar)
    priority = None if said.priority is None else priority_number(said.priority)
    policy = _policy(said)
    if not (said.recipe or recipe):
        return {"recipe": BY_CONTENT}, priority
    chosen = recipe_of(said.recipe or recipe)
    wanted_preset = said.preset if said.preset is not None or said.recipe is not None else preset
    try:
        complete = validate(chosen, {**preset_params(chosen, wanted_preset), **said.params})
    except ParameterError as exc:
        raise WishError(f"params.{exc.field}: {exc.message}") from exc
    wish = {
        "recipe": chosen.name,
        "params": complete,
        "name": said.name,
        "tags": [*said.tags, "inbox"][:20],
        "profile": said.profile,
        "policy": policy,
    }
    return wish, priority


def recipe_of(name: str) -> Recipe:
    """The recipe of this name.

    Raises:
        WishError: there is none; names those there are.
    """
    known = recipes()
    if name not in known:
        raise WishError(f"there is no recipe {name!r}; there are {', '.join(known)}")
    if not known[name].needs_dataset:
        raise WishError(f"the recipe {name!r} is not for dropped files: it need not train on a dataset")
    return known[name]


def preset_params(recipe: Recipe, preset: str | None) -> Mapping[str, Any]:
    """What a preset changes; nothing for None.

    Raises:
        WishError: the recipe has no such preset; names those it has.
    """
    if preset is None:
        return {}
    for one in recipe.presets:
        if one.name == preset:
            return one.params
    known = ", ".join(one.name for one in recipe.presets) or "none"
    raise WishError(f"{recipe.name} has no preset {preset!r}; it has {known}")


def _policy(said: Sidecar) -> dict[str, Any]:
    """What a sidecar says that holds for any recipe, checked."""
    if said.profile not in PROFILES:
        raise WishError(f"there is no profile {said.profile!r}; there are {', '.join(PROFILES)}")
    try:
        return check_policy(said.policy)
    except InvalidRequest as exc:
        raise WishError(f"{exc.field}: {exc.message}") from exc


def _parsed(sidecar: str | None) -> Sidecar:
    if sidecar is None:
        return Sidecar()
    try:
        return Sidecar.model_validate_json(sidecar)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        known = ", ".join(Sidecar.model_fields)
        told = (
            "there is no such key; known are " + known if first["type"] == "extra_forbidden" else first["msg"]
        )
        raise WishError(f"its sidecar{f', {place}' if place else ''}: {told}") from exc


def recipe_by_content(kind: str) -> str:
    """The recipe that trains on files of this kind.

    Raises:
        WishError: none does.
    """
    fitting = recipes_for(kind)
    if not fitting:
        raise WishError(f"no recipe trains on {kind}")
    return fitting[0]
