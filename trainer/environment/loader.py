"""How batches should be loaded, which depends on where they go.

One pure function decides, and the answer travels as variables
``SIGNALBOX_LOADER_*``: a recipe or a user's own script reads it without
importing anything of ours, a person sees it with its reasons, may override it,
and a rung of the fallback ladder can take it back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trainer.environment.variables import Variable

PREFIX: Final = "SIGNALBOX_LOADER_"
MAX_WORKERS: Final = 64
MAX_PREFETCH: Final = 64
CONTEXTS: Final = ("spawn", "forkserver")
_MOST_WORKERS: Final = 4  # more rarely help one GPU, and each is an interpreter with the libraries loaded
_PREFETCH: Final = 2

NUM_WORKERS: Final = PREFIX + "NUM_WORKERS"
PIN_MEMORY: Final = PREFIX + "PIN_MEMORY"
PERSISTENT_WORKERS: Final = PREFIX + "PERSISTENT_WORKERS"
PREFETCH_FACTOR: Final = PREFIX + "PREFETCH_FACTOR"
CONTEXT: Final = PREFIX + "CONTEXT"
NAMES: Final = (NUM_WORKERS, PIN_MEMORY, PERSISTENT_WORKERS, PREFETCH_FACTOR, CONTEXT)


class LoaderError(ValueError):
    """A ``SIGNALBOX_LOADER_*`` variable cannot be what it says.

    Attributes:
        name: the variable.
        message: what it may be.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


@dataclass(frozen=True)
class LoaderSettings:
    """The arguments of a ``torch.utils.data.DataLoader`` that depend on the machine.

    Attributes:
        num_workers: processes that prepare batches beside the trainer; 0 prepares them in it.
        pin_memory: whether batches lie in page-locked memory on their way to a CUDA device.
        persistent_workers: whether workers outlive an epoch; False without workers.
        prefetch_factor: batches each worker has ready; None without workers.
        multiprocessing_context: how workers are started; None without workers.
        reasons: why, by the name of the argument.
    """

    num_workers: int = 0
    pin_memory: bool = False
    persistent_workers: bool = False
    prefetch_factor: int | None = None
    multiprocessing_context: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)


def loader_settings(
    *, platform: str, device: str, profile: str, cores: int, num_concurrent: int = 1
) -> LoaderSettings:
    """Decide how batches are loaded.

    Args:
        platform: ``sys.platform`` of the machine that trains.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        profile: ``auto``, ``safe`` or ``classic``.
        cores: physical cores, >= 1.
        num_concurrent: how many runs share them, >= 1.
    """
    if profile == "classic":
        return _alone("the original recipe: no workers", "the original recipe: no pinned memory")
    if profile == "safe":
        return _alone(
            "profile 'safe': no further process that could hang", "profile 'safe': trains on the CPU"
        )
    if device == "mps" or (platform == "darwin" and device == "auto"):
        return _alone(
            "workers are allowed, but each must be spawned, and batches share the GPU's memory anyway",
            "torch ignores it on MPS, with a warning",
        )
    if platform == "darwin" or device == "cpu":
        return _alone("the CPU trains: workers would take its cores away", "nothing is copied to a GPU")
    pinned = "page-locked memory is copied to the GPU without waiting for it; without effect on a CPU"
    if platform == "win32":
        return _alone(
            "workers on Windows import the whole script again, and hang in scripts without a guard",
            pinned,
            pin=True,
        )
    if device == "auto":
        return _alone(
            "nobody knows yet whether a GPU is there: on a CPU workers take cores away", pinned, pin=True
        )
    return _beside_a_gpu(cores // num_concurrent, pinned)


def _alone(why_alone: str, why_pinned: str, *, pin: bool = False) -> LoaderSettings:
    return LoaderSettings(pin_memory=pin, reasons={"num_workers": why_alone, "pin_memory": why_pinned})


def _beside_a_gpu(share: int, why_pinned: str) -> LoaderSettings:
    workers = max(0, min(_MOST_WORKERS, share - 1))
    if workers == 0:
        return _alone("this run's share is one core, which the trainer itself needs", why_pinned, pin=True)
    return LoaderSettings(
        num_workers=workers,
        pin_memory=True,
        persistent_workers=True,
        prefetch_factor=_PREFETCH,
        multiprocessing_context="spawn",
        reasons={
            "num_workers": f"the GPU trains: {workers} of this run's {share} cores can prepare its batches",
            "pin_memory": why_pinned,
            "persistent_workers": "a spawned worker takes seconds to start: once per run, not once per epoch",
            "prefetch_factor": "one batch is copied while the next one is made",
            "multiprocessing_context": "a fork after CUDA or OpenMP has started fails or hangs",
        },
    )


def loader_variables(settings: LoaderSettings, *, source: str = "loader") -> list[Variable]:
    """The settings as variables; those without a value are left out."""
    values = {
        NUM_WORKERS: ("num_workers", str(settings.num_workers)),
        PIN_MEMORY: ("pin_memory", _flag(settings.pin_memory)),
        PERSISTENT_WORKERS: ("persistent_workers", _flag(settings.persistent_workers)),
        PREFETCH_FACTOR: ("prefetch_factor", str(settings.prefetch_factor)),
        CONTEXT: ("multiprocessing_context", str(settings.multiprocessing_context)),
    }
    return [
        Variable(name, value, settings.reasons[argument], source)
        for name, (argument, value) in values.items()
        if argument in settings.reasons
    ]


def read_loader(environ: Mapping[str, str]) -> LoaderSettings:
    """The settings that ``environ`` asks for; what is not set keeps the default of ``DataLoader``.

    Raises:
        LoaderError: a variable's value is not allowed; names it.
    """
    workers = _whole(environ, NUM_WORKERS, 0, 0, MAX_WORKERS)
    pin = _yes(environ, PIN_MEMORY)
    persistent = _yes(environ, PERSISTENT_WORKERS)
    prefetch = _whole(environ, PREFETCH_FACTOR, _PREFETCH, 1, MAX_PREFETCH)
    context = environ.get(CONTEXT) or CONTEXTS[0]
    if context not in CONTEXTS:
        raise LoaderError(CONTEXT, f"must be one of {', '.join(CONTEXTS)}: a fork after CUDA or OpenMP hangs")
    if workers == 0:
        return LoaderSettings(pin_memory=pin)
    return LoaderSettings(workers, pin, persistent, prefetch, context)


def _flag(yes: bool) -> str:
    return "1" if yes else "0"


def _yes(environ: Mapping[str, str], name: str) -> bool:
    value = environ.get(name, "0")
    if value not in ("0", "1"):
        raise LoaderError(name, "must be 0 or 1")
    return value == "1"


def _whole(environ: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    value = environ.get(name)
    if value is None:
        return default
    if not (re.fullmatch(r"[0-9]{1,3}", value) and low <= int(value) <= high):
        raise LoaderError(name, f"must be a whole number from {low} to {high}")
    return int(value)
