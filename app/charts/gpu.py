"""Use and memory of the graphics processors the run computes on; the card hides where there is none."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="system-gpu",
    title="Graphics processor",
    page="run",
    order=90,
    section="System",
    over_time=True,
    y_title="% busy",
    y2_title="memory",
    y2_format="bytes",
    log=False,
    lines=(
        Line(series="system/gpu_percent", label="GPU %", color="--chart-4"),
        Line(series="system/gpu_memory_bytes", label="memory", color="--chart-2", smooth=False, axis="y2"),
    ),
    empty="",
)
