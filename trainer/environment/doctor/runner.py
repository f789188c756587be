"""Runs every probe in a process of its own; one that crashes or hangs is itself a finding."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from trainer.environment.build import build
from trainer.environment.cores import usable_cores
from trainer.environment.doctor.check import Check, worst
from trainer.environment.doctor.child import ask, failure
from trainer.environment.doctor.registry import PROBES, Probe
from trainer.environment.doctor.surroundings import Surroundings
from trainer.environment.variables import as_environ

NUM_LIGHT: Final = 2  # light probes at a time, beside the heavy ones
MAX_HEAVY: Final = 2


class Examination:
    """One run of all probes."""

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        environ: Mapping[str, str] | None = None,
        probes: Sequence[Probe] = PROBES,
    ) -> None:
        """Args:
        surroundings: what the probes are told.
        environ: where the probes' allowed variables are looked up; None stands for this process's own.
        probes: which to run, in the order of the report.
        """
        self._surroundings = surroundings
        self._environ = os.environ if environ is None else environ
        self._probes = probes
        self._cores = usable_cores()

    def report(self) -> dict[str, Any]:
        """Run them all: ``{"checks": [...], "verdict", "took_s"}``."""
        began = time.monotonic()
        heavy = [probe for probe in self._probes if probe.is_heavy]
        light = [probe for probe in self._probes if not probe.is_heavy]
        with (
            ThreadPoolExecutor(max(1, min(MAX_HEAVY, self._cores))) as heavy_pool,
            ThreadPoolExecutor(NUM_LIGHT) as light_pool,
        ):
            found = {probe.name: heavy_pool.submit(self.look, probe) for probe in heavy}
            found |= {probe.name: light_pool.submit(self.look, probe) for probe in light}
            checks = [check for probe in self._probes for check in found[probe.name].result()]
        return {
            "checks": [check.to_json() for check in checks],
            "verdict": worst(check.verdict for check in checks).value,
            "took_s": round(time.monotonic() - began, 2),
        }

    def look(self, probe: Probe) -> list[Check]:
        """Run one probe in its process; its failure becomes a check."""
        command = [sys.executable, "-u", "-X", "faulthandler", "-P", "-m", "trainer.environment.doctor"]
        arguments = [probe.module, self._surroundings.to_text(), str(probe.limit_s)]
        outcome = ask([*command, *arguments], environ=self.environment(probe), limit_s=probe.limit_s)
        if outcome.code == 0:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return [Check.from_json(fields) for fields in json.loads(outcome.answer)]
        return [failure(probe.name, probe.title, outcome, limit_s=probe.limit_s)]

    def environment(self, probe: Probe) -> dict[str, str]:
        """What the process of ``probe`` sees: what a trainer on its device would see."""
        variables = build(
            device=probe.device,
            platform=self._surroundings.platform,
            physical_cores=self._cores,
            inherited=self._environ,
            faiss_shares_process=True,  # the OpenMP probe loads both, to see what they bring
        )
        return as_environ(variables)
