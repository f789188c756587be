"""Whatever the graphics processors report; the card hides where there is none."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="system-gpu",
    title="Graphics processor",
    page="run",
    order=90,
    section="System",
    log=False,
    lines=(Line(series="system/gpu_*", label="*", color="--chart-4", smooth=False),),
    empty="",
)
