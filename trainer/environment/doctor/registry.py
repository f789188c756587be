"""Every probe of the doctor, in the order of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Probe:
    """A module with a function ``look(surroundings) -> list[Check]``.

    Attributes:
        module: its full name; the last part is the id of the finding when the probe itself fails.
        title: what is looked at, also when the probe fails.
        limit_s: seconds after which the probe counts as hanging.
        is_heavy: loads torch; such probes wait for each other, so that none is slow for the others' sake.
        device: what the hardened environment is built for.
    """

    module: str
    title: str
    limit_s: float = 10.0
    is_heavy: bool = False
    device: str = "auto"

    @property
    def name(self) -> str:
        """The last part of the module's name."""
        return self.module.rpartition(".")[2]


_HERE: Final = __name__.rpartition(".")[0]

PROBES: Final = (
    Probe(f"{_HERE}.openmp", "OpenMP runtimes", limit_s=24.0, is_heavy=True),
    Probe(f"{_HERE}.gradients_cpu", "Gradients on the CPU", limit_s=24.0, is_heavy=True, device="cpu"),
    Probe(f"{_HERE}.gradients_cuda", "Gradients on CUDA", limit_s=28.0, is_heavy=True, device="cuda"),
    Probe(f"{_HERE}.gradients_mps", "Gradients on MPS", limit_s=28.0, is_heavy=True, device="mps"),
    Probe(f"{_HERE}.fork_safety", "Forking after threads", limit_s=24.0, is_heavy=True),
    Probe(f"{_HERE}.versions", "Versions known to be bad"),
    Probe(f"{_HERE}.sqlite", "SQLite"),
    Probe(f"{_HERE}.shared_memory", "Shared memory"),
    Probe(f"{_HERE}.disk", "Disk for checkpoints"),
    Probe(f"{_HERE}.open_files", "Open files"),
    Probe(f"{_HERE}.memory_limit", "Memory limit"),
    Probe(f"{_HERE}.port", "Port of the dashboard"),
    Probe(f"{_HERE}.leftovers", "Leftover processes"),
    Probe(f"{_HERE}.clock", "Clocks"),
)
