"""What the process that answers is started with: its command line, its environment, its bounds."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.installed import torch_version
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.errors import ProtocolError
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.supervisor.oom_kills import memory_limit_bytes

_LEAST_BYTES: Final = 1024**3
_UNKNOWN_BYTES: Final = 4 * 1024**3


@dataclass(frozen=True)
class AskLimits:
    """What a model that is asked may take.

    Attributes:
        open_s: seconds to load the model and what it searches.
        answer_s: seconds for one answer.
        idle_s: seconds without a question after which it is let go.
        memory_bytes: resident memory of all its processes together.
    """

    open_s: float = 300.0
    answer_s: float = 120.0
    idle_s: float = 300.0
    memory_bytes: int = _UNKNOWN_BYTES


def usual_memory_bytes() -> int:
    """Half of what this machine, or this container, has: the other half is the training's."""
    limit = memory_limit_bytes()
    return _UNKNOWN_BYTES if limit is None else max(_LEAST_BYTES, limit // 2)


def command(paths: RunPaths, *, module: str = "trainer.asking") -> list[str]:
    """The argument vector; ``-P`` keeps the working directory off the module path."""
    flags = ["-u", "-X", "faulthandler", "-P"]
    return [sys.executable, *flags, "-m", module, str(paths.root), str(os.getpid())]


def environment(spec: RunSpec, paths: RunPaths, *, device: str) -> dict[str, str]:
    """The hardened environment of a trainer, for one more process beside the runs there may be.

    What the fallback ladder has set for the run's newest attempt holds here too.
    It carries no mark of the run: a trainer that starts anew ends everything that does.
    Its threads sleep while they wait, because a training may need the cores.
    """
    cores = usable_cores()
    variables = build(
        platform=sys.platform,
        device=device,
        profile=spec.profile,
        num_concurrent=spec.num_concurrent + 1,
        physical_cores=cores,
        busy_cores=float(cores),
        inherited=os.environ,
        torch_version=torch_version(),
        overrides=spec.environment,
        rung_variables=_rung_variables(paths),
    )
    return {variable.name: variable.value for variable in variables}


def _rung_variables(paths: RunPaths) -> dict[str, str]:
    attempts = [int(path.parent.name) for path in paths.root.glob("attempts/[0-9][0-9][0-9]/plan.json")]
    if not attempts:
        return {}
    with contextlib.suppress(ProtocolError):  # damaged: the run's own variables still hold
        plan = AttemptPlan.load(paths, max(attempts))
        return dict(plan.environment) if plan is not None else {}
    return {}


def program_folder() -> Path:
    """Where the program lies: the working directory, so that no folder of a user is held."""
    return Path(__file__).resolve().parents[2]
