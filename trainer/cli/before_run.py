"""The preflight of a run on the terminal: tells what is amber or red, and refuses what is red."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from trainer.cli.errors import UsageError
from trainer.environment.doctor.check import Verdict
from trainer.preflight.examination import examine
from trainer.preflight.question import Question
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes


def refuse_hopeless(spec: RunSpec, paths: RunPaths, *, force: bool, stream: TextIO | None = None) -> None:
    """Check the run of ``spec`` that would lie in ``paths``; with ``force`` it is told only.

    Raises:
        UsageError: something is red and nobody insists; nothing was created.
    """
    findings = examine(
        Question(
            recipe=spec.recipe,
            declaration=recipes()[spec.recipe].preflight,
            dataset=spec.dataset,
            params=spec.params,
            datasets_dir=Path(spec.datasets_dir),
            runs_dir=paths.root.parent,
            profile=spec.profile,
            num_concurrent=spec.num_concurrent,
            columns=spec.columns,
            script=spec.script,
        )
    )
    for check in findings.checks:
        if check.verdict in (Verdict.WARNING, Verdict.PROBLEM):
            said = f"preflight: {check.verdict.value}: {check.title}: {check.found}"
            print(said, f"  -> {check.remedy}", sep="\n", file=stream or sys.stderr)
    if findings.verdict is Verdict.PROBLEM and not force:
        raise UsageError("the run was not started: see above; --force starts it anyway")
