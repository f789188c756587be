"""What the web process costs: seconds to its first answer, memory, seconds to stop, the 50 MiB frame.

Start is measured from the spawn of ``python wsgi.py`` to the first answer of ``/healthz``, on a migrated
database.  Two ways: with Python's bytecode cache, as after any first start, and without one.  Memory is
the worker's resident set (RSS) and the proportional share (PSS) of both processes together.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.sockets.driver import MAX_MESSAGE_BYTES
from benchmarks.spread import spread
from tests.app.raw_websocket import TEXT, RawWebSocket, frame
from tests.app.serving import Dashboard

REPEATS = 5
MIB = 1024 * 1024


@dataclass
class Start:
    """One start, measured."""

    start_s: float
    cpu_s: float
    rss_mb: float
    pss_mb: float
    idle_threads: int
    stop_s: float


def measure(instance: Path, variables: dict[str, str]) -> Start:
    """Start once, look, stop."""
    dashboard = Dashboard(instance)
    dashboard.environ.update(variables)
    begun = time.perf_counter()
    dashboard.start()
    start_s = time.perf_counter() - begun
    try:
        worker = dashboard.worker()
        parent = worker.parent()
        processes = [worker] if parent is None else [worker, parent]
        cpu_s = sum(sum(process.cpu_times()[:2]) for process in processes)
        loaded = [
            mapped.path for mapped in worker.memory_maps() if "torch" in mapped.path or "faiss" in mapped.path
        ]
        if loaded:
            raise SystemExit(f"the web process has loaded {loaded[0]}")
        pss_mb = sum(process.memory_full_info().pss for process in processes) / 1e6
        rss_mb, num_threads = worker.memory_info().rss / 1e6, worker.num_threads()
        begun = time.perf_counter()
        dashboard.terminate()
        return Start(start_s, cpu_s, rss_mb, pss_mb, num_threads, time.perf_counter() - begun)
    finally:
        dashboard.close()


def frame_growth_mb(instance: Path) -> list[float]:
    """By how much a 50 MiB frame before any login raises the worker's peak, per frame."""
    dashboard = Dashboard(instance).start()
    try:
        worker = dashboard.worker()
        small = b"4" + b"x" * (MAX_MESSAGE_BYTES + 1)
        grown = []
        for payload in [small] + [b"4" + b"x" * (50 * MIB)] * REPEATS:
            before = peak_mb(worker)
            peer = RawWebSocket(dashboard.port)
            peer.send(frame(TEXT, payload))
            peer.is_closed_by_peer()
            peer.close()
            grown.append(peak_mb(worker) - before)
        return grown[1:]  # the first shows the price of any first connection
    finally:
        dashboard.close()


def peak_mb(process: psutil.Process) -> float:
    """The most memory the process ever held."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit("this benchmark reads /proc and needs Linux")


def row(title: str, starts: Sequence[Start], column: Callable[[Start], float], digits: int, goal: str) -> str:
    """One line of the table."""
    return f"| {title} | {spread([column(one) for one in starts], digits)} | {goal} |"


def main() -> int:
    """Measure and print."""
    load = psutil.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        cache = str(Path(folder) / "bytecode")
        warm = {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        cold = {"PYTHONPYCACHEPREFIX": str(Path(folder) / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
        instance = Path(folder) / "instance"
        measure(instance, warm)  # migrates, and fills the cache
        starts = [measure(instance, warm) for _ in range(REPEATS)]
        uncached = [measure(instance, cold) for _ in range(REPEATS)]
        grown = frame_growth_mb(instance)
    print(f"# Web process, {time.strftime('%Y-%m-%d')}\n")
    print(f"{REPEATS} starts; median (min..max). {platform.platform()}, Python {platform.python_version()}.")
    print(f"The machine's load average was {load:.1f} on {psutil.cpu_count()} cores.")
    print("torch and faiss are not mapped into the process (checked at every start).\n")
    print("| what | measured | goal |\n|---|---|---|")
    print(row("start to first answer, s", starts, lambda one: one.start_s, 2, "<= 1.5"))
    print(row("CPU time of both processes until then, s", starts, lambda one: one.cpu_s, 2, "none"))
    print(row("start without bytecode cache, s", uncached, lambda one: one.start_s, 2, "none"))
    print(row("RSS of the worker, MB", starts, lambda one: one.rss_mb, 0, "<= 120"))
    print(row("PSS of worker and parent together, MB", starts, lambda one: one.pss_mb, 0, "none"))
    print(row("threads at rest", starts, lambda one: one.idle_threads, 0, "none"))
    print(row("SIGTERM to the end, s", starts, lambda one: one.stop_s, 2, "<= 5"))
    print(f"| peak growth by a 50 MiB frame before login, MB | {spread(grown, 1)} | <= 2 |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
