"""The environment of a run on this very machine: what :func:`build` needs to know, looked up."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.installed import torch_version
from trainer.environment.neighbours import busy_cores
from trainer.environment.variables import Variable
from trainer.protocol.rank_files import nproc_of
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.search_process import loads_faiss_beside_torch


def launch_variables(
    spec: RunSpec, *, run_dir: str | None = None, rung_variables: Mapping[str, str] | None = None
) -> list[Variable]:
    """Every variable a trainer of ``spec`` gets here.

    With a ``run_dir`` it is really started, and this takes a moment to see how busy the machine is.
    """
    return build(
        platform=sys.platform,
        device=str(spec.params.get("device", "auto")),
        profile=spec.profile,
        num_concurrent=spec.num_concurrent,
        nproc=1 if spec.script else nproc_of(spec.params),
        physical_cores=usable_cores(),
        busy_cores=busy_cores() if run_dir is not None else 0.0,
        inherited=os.environ,
        run_dir=run_dir,
        faiss_shares_process=loads_faiss_beside_torch(
            spec.params, platform=sys.platform, profile=spec.profile
        ),
        torch_version=torch_version(),
        overrides=spec.environment,
        rung_variables=rung_variables,
    )
