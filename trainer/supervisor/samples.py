"""What the processes of a run cost: CPU, memory, threads, and the GPU where there is one."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import psutil

from trainer.supervisor.tree import ProcessTree

_SIGNS_OF_NVIDIA: Final = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg")


class Sampler:
    """Sums the whole process tree; percentages refer to the time since the last sample."""

    def __init__(self, tree: ProcessTree) -> None:
        self._tree = tree
        self._cpu_s: dict[int, float] = {}
        self._sampled_at = time.monotonic()
        self._nvml, self._gpus = _gpus()

    def sample(self) -> dict[str, float]:
        """One sample, names without prefix; empty when nothing of the tree lives.

        ``cpu_percent`` is 100 per busy core, ``rss_bytes`` counts shared pages once per process.
        """
        self._tree.reap(is_thorough=False)
        members = self._tree.members(is_thorough=False)
        if not members:
            return {}
        now = time.monotonic()
        elapsed_s, self._sampled_at = max(now - self._sampled_at, 1e-3), now
        used_s, rss, num_threads = 0.0, 0, 0
        cpu_s: dict[int, float] = {}
        for process in members:
            with contextlib.suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                cpu_s[process.pid] = times.user + times.system
                used_s += max(0.0, cpu_s[process.pid] - self._cpu_s.get(process.pid, 0.0))
                rss += process.memory_info().rss
                num_threads += process.num_threads()
        self._cpu_s = cpu_s
        values = {
            "cpu_percent": 100.0 * used_s / elapsed_s,
            "rss_bytes": float(rss),
            "num_threads": float(num_threads),
            "num_processes": float(len(members)),
        }
        return values | self._gpu_values({process.pid for process in members})

    def _gpu_values(self, pids: set[int]) -> dict[str, float]:
        """Use of the GPUs on which a process of the run holds memory."""
        values: dict[str, float] = {}
        percents, memory = [], 0
        for gpu in self._gpus:
            with contextlib.suppress(self._nvml.NVMLError):
                ours = _our_memory(self._nvml.nvmlDeviceGetComputeRunningProcesses(gpu), pids)
                if ours is not None:
                    memory += ours
                    percents.append(float(self._nvml.nvmlDeviceGetUtilizationRates(gpu).gpu))
        if percents:
            values = {"gpu_percent": sum(percents) / len(percents), "gpu_memory_bytes": float(memory)}
        return values


def _our_memory(processes: Iterable[Any], pids: set[int]) -> int | None:
    """Bytes our processes hold on one GPU; None when they are not on it."""
    ours = [process.usedGpuMemory or 0 for process in processes if process.pid in pids]
    return sum(ours) if ours else None


def _gpus() -> tuple[Any, list[Any]]:
    """NVIDIA's library and the GPUs of this machine; loaded only where there is a driver: it is big."""
    if not any(Path(sign).exists() for sign in _SIGNS_OF_NVIDIA):
        return None, []
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
        return nvml, [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError:
        return nvml, []
