"""The words a recipe is declared with: its parameters, presets and built-in datasets.

A declaration says what can be trained and with which settings; it imports no
training library, because the web process reads it to draw the form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from trainer.protocol.rungs import Rung
from trainer.recipes.gates import Gate
from trainer.recipes.questions import PLAIN_TEXT, QuestionField


class RecipeParams(BaseModel):
    """Base of every recipe's parameters: no unknown names, no NaN, nothing changes afterwards."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, validate_default=True)


class ParameterError(ValueError):
    """A parameter is unknown or its value is not allowed.

    Attributes:
        field: name of the parameter, empty when the whole set is wrong.
        message: what is wrong and what is allowed, for a person.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


@dataclass(frozen=True)
class Preset:
    """A named starting point; ``params`` override the defaults, everything else keeps them."""

    name: str
    title: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class BuiltinDataset:
    """A dataset that needs no file from the user."""

    name: str
    title: str
    help: str


@dataclass(frozen=True)
class Remedy:
    """What a rung of the fallback ladder does to the parameters of a run.

    Attributes:
        title: the remedy in words, e.g. ``half the micro-batch``.
        change: from the complete parameters to those that become others; None when it cannot help any more.
        changes_numbers: whether losses or results differ from those of a run that never needed it.
    """

    title: str
    change: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    changes_numbers: bool = False


@dataclass(frozen=True)
class Recipe:
    """What can be trained.

    Attributes:
        name: the word in URLs and on the command line.
        title: the words on the page.
        summary: one or two sentences for a person choosing.
        task: the kind of answers its probes give (``retrieval``, …).
        Params: the parameters with defaults, bounds, help and groups.
        presets: starting points for the form.
        builtin_datasets: datasets that need no file.
        dataset_help: which files are accepted besides, for a person.
        entry: ``module:function``, imported in the trainer only and called as
            ``train(spec, paths, reporter, controls)``.
        preflight: ``module:NAME`` of a :class:`trainer.preflight.declaration.RecipePreflight`: what can be
            told of a run before it starts.
        remedies: the rungs that change parameters; rungs of the environment need none.
        dataset_kinds: names of the kinds of files it takes (``trainer.datasets.kinds``); empty: none.
        answerer: ``module:function`` that opens a trained model to be asked, see
            :mod:`trainer.asking.declaration`; empty when its models cannot be asked.
        rebuild: ``module:function`` that makes the task of a run again, so that its checkpoints can be asked
            probes: ``rebuild(spec, tell) -> Task``; empty where that cannot be done.
        question: what such a question holds; the first field is what the box on the page takes.
        position: its place in lists, small first; of equal ones the name decides.
        needs_dataset: whether there is always a dataset; a script may train without one.
        gates: what a run must reach to be worth shipping.
        advice: what else helps against an alert, by the alert's category; a clause that follows "and".
    """

    name: str
    title: str
    summary: str
    task: str
    Params: type[RecipeParams]
    presets: tuple[Preset, ...]
    builtin_datasets: tuple[BuiltinDataset, ...]
    dataset_help: str
    entry: str
    preflight: str
    remedies: Mapping[Rung, Remedy] = field(default_factory=dict)
    dataset_kinds: tuple[str, ...] = ()
    answerer: str = ""
    rebuild: str = ""
    question: tuple[QuestionField, ...] = PLAIN_TEXT
    position: int = 50
    needs_dataset: bool = True
    gates: tuple[Gate, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)


def parameter(
    default: Any,
    help: str,  # noqa: A002
    *,
    group: str,
    ge: float | None = None,
    le: float | None = None,
    unit: str = "",
    advanced: bool = False,
) -> Any:
    """Declare one parameter of a recipe.

    Args:
        default: the value when nobody says otherwise.
        help: one sentence: what it does and when to change it.
        group: heading of the form under which it stands.
        ge: lowest allowed value.
        le: highest allowed value.
        unit: what a number counts, e.g. ``steps``; empty for plain numbers.
        advanced: hidden until the user asks for it.
    """
    extra: dict[str, Any] = {"group": group, "advanced": advanced, "unit": unit}
    return Field(default=default, description=help, ge=ge, le=le, json_schema_extra=extra)


ParameterType = Literal["int", "float", "bool", "str", "choice"]
