"""What an attempt is started with: a recipe's trainer, or a person's script with its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.errors import ProtocolError
from trainer.protocol.files import read_object
from trainer.protocol.rank_files import nproc_of
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.scripts.arguments import Circumstances, argument_vector, newest_checkpoint, working_directory
from trainer.scripts.declaration import Script, ScriptError
from trainer.scripts.fingerprint import fingerprint
from trainer.scripts.output import output_settings
from trainer.scripts.parameter_reading import trouble_with
from trainer.scripts.reading import load_script
from trainer.supervisor.recovery import resume_step

MakeCommand = Callable[..., list[str]]  # of run folder and attempt, and ``nproc`` where it is above 1
_STEP_IN_NAME: Final = re.compile(
    r"(?:step|checkpoint|ckpt|iter(?:ation)?)[-_=]?(\d{1,12})(?!\d)", re.IGNORECASE
)


@dataclass(frozen=True)
class Launch:
    """How one attempt is started.

    Attributes:
        argv: the argument vector.
        cwd: the working directory.
        from_step: where it begins.
        script: what runs, where it is a person's script; ``fingerprint`` is the SHA-256 of its entry file
            and of its declaration, by file name.
    """

    argv: list[str]
    cwd: Path
    from_step: int
    script: Script | None = None
    fingerprint: Mapping[str, str] = field(default_factory=dict)


def launch_of(paths: RunPaths, spec: RunSpec, plan: AttemptPlan, *, make_command: MakeCommand) -> Launch:
    """How the attempt of ``plan`` is started; a script is read, checked and asked for anew at every launch.

    Args:
        paths: of the run.
        spec: of the run.
        plan: what the ladder changes.
        make_command: gives the argument vector of a recipe's trainer.
    Raises:
        ScriptError: the script cannot be used as it is now.
    """
    if not spec.script:
        from_step = resume_step(paths) if plan.attempt > 1 else 0
        nproc = nproc_of({**spec.params, **plan.params})
        several = {"nproc": nproc} if nproc > 1 else {}
        return Launch(make_command(paths.root, plan.attempt, **several), paths.root, from_step)
    script = load_script(Path(spec.script))
    params = _params_now(script, {**spec.params, **plan.params})
    again = plan.attempt > 1
    checkpoint = newest_checkpoint(script, run_dir=paths.root, since=spec.created_at) if again else ""
    given = Circumstances(
        run_dir=str(paths.root),
        attempt=plan.attempt,
        dataset=spec.dataset if Path(spec.dataset).is_absolute() else "",
        checkpoint=checkpoint,
        stacks=str(paths.stacks(plan.attempt)),
    )
    output_settings(script).save(paths)
    paths.checkpoints.mkdir(parents=True, exist_ok=True)  # {checkpoints} may be written to
    argv = argument_vector(script, params, given)
    from_step = _step_of(checkpoint, reached=_reached(paths, plan.attempt)) if checkpoint else 0
    cwd = working_directory(script, run_dir=paths.root)
    return Launch(argv, cwd, from_step, script, fingerprint=fingerprint(script))


def _params_now(script: Script, params: Mapping[str, Any]) -> dict[str, Any]:
    """The run's values for the parameters that the script has by now; a new one has its default.

    Raises:
        ScriptError: a value is no longer allowed.
    """
    complete = {name: params.get(name, one.default) for name, one in script.parameters.items()}
    for name, value in complete.items():
        trouble = trouble_with(script.parameters[name], value)
        if trouble is not None:
            raise ScriptError(
                f"{script.file}: parameters.{name}",
                f"{trouble}, and this run has {value!r}",
                "allow the value again, or start a new run with another one",
            )
    return complete


def _step_of(checkpoint: str, *, reached: int) -> int:
    """The step a checkpoint was written at, by its name; else the last one that was heard of."""
    found = _STEP_IN_NAME.search(Path(checkpoint).name)
    return min(int(found[1]), reached) if found else reached


def _reached(paths: RunPaths, attempt: int) -> int:
    """The last step the attempts before ``attempt`` have reported."""
    steps = [0]
    for earlier in range(1, attempt):
        try:
            step = read_object(paths.attempt_exit(earlier)).get("step")
        except ProtocolError:
            continue
        if isinstance(step, int):
            steps.append(step)
    return max(steps)
