"""What a ``script.toml`` says, as values: read by :mod:`trainer.scripts.reading`, standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

FILE_NAME: Final = "script.toml"
RECIPE: Final = "script"  # the recipe under which every script runs
PYTHON: Final = "python"  # as an interpreter: the one Signalbox itself runs on
# What a placeholder may name beside the parameters.
PLACES: Final = ("run_dir", "checkpoints", "script_dir", "dataset", "attempt", "checkpoint")
EVERYTHING: Final = "parameters"  # stands for every parameter not named elsewhere

ParameterKind = Literal["int", "float", "bool", "str", "choice"]
DatasetWish = Literal["none", "optional", "required"]
Folder = Literal["script", "run"]


class ScriptError(OSError):
    """A script cannot be used.

    Attributes:
        place: the file, and the key in it where there is one.
        message: what is wrong.
        remedy: what to do about it.
    """

    def __init__(self, place: str, message: str, remedy: str) -> None:
        super().__init__(f"{place}: {message}; {remedy}")
        self.place = place
        self.message = message
        self.remedy = remedy

    def to_json(self) -> dict[str, str]:
        """The shape that is listed and shown."""
        return {"place": self.place, "message": self.message, "remedy": self.remedy}


@dataclass(frozen=True)
class ScriptParameter:
    """One value that people may choose.

    Attributes:
        name: its key in the form, on the command line and in placeholders.
        kind: of its values.
        default: the value when nobody says otherwise; of the right kind, and allowed.
        help: one sentence.
        minimum: lowest allowed number, ``maximum`` the highest; None where there is none.
        choices: allowed words of a ``choice``.
        pattern: regular expression that a ``str`` must match as a whole; empty for any.
        group: heading of the form; ``unit`` what a number counts; ``advanced`` hides it at first.
        flag: the option it is given as.
    """

    name: str
    kind: ParameterKind
    default: Any
    help: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    group: str = "Values"
    unit: str = ""
    advanced: bool = False
    flag: str = ""


@dataclass(frozen=True)
class Resuming:
    """How a script goes on from its own checkpoint.

    Attributes:
        checkpoint: glob of its checkpoints (files or folders), relative to the working directory or to
            ``{run_dir}``; the newest one written by this run becomes ``{checkpoint}``.
        arguments: added from the second launch on, as soon as there is one.
    """

    checkpoint: str
    arguments: tuple[str, ...]


Argument = str | tuple[str, ...]  # a tuple is left out as a whole when a placeholder in it stands for nothing


@dataclass(frozen=True)
class Script:
    """A registered script.

    Attributes:
        name: of its folder.
        folder: where it lies, absolute.
        entry: the file that is started, relative to the folder.
        title: in words; ``summary`` in a sentence or two.
        interpreter: ``python`` (the one Signalbox runs on), a program on the PATH, an absolute path, or a
            path with a slash relative to the folder.
        working_directory: ``script``, its own folder, or ``run``, the folder of the run.
        profile: environment that is proposed.
        dataset: whether it trains on a file that people choose; ``dataset_flag`` is its option.
        parameters: by name, in the order of the file.
        arguments: the argument vector behind the entry file; None gives every parameter as ``--name value``.
        resuming: how it goes on after a death; None starts it from the beginning.
        output: the table ``[output]``: what its output looks like, as the reader of outputs takes it.
    """

    name: str
    folder: Path
    entry: str
    title: str
    summary: str = ""
    interpreter: str = PYTHON
    working_directory: Folder = "script"
    profile: str = "auto"
    dataset: DatasetWish = "none"
    dataset_flag: str = "--dataset"
    parameters: Mapping[str, ScriptParameter] = field(default_factory=dict)
    arguments: tuple[Argument, ...] | None = None
    resuming: Resuming | None = None
    output: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """Its declaration."""
        return self.folder / FILE_NAME

    @property
    def program(self) -> Path:
        """The file that is started."""
        return self.folder / self.entry
