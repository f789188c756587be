"""Examples per second."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="throughput",
    title="Throughput",
    page="run",
    order=60,
    section="Optimiser",
    y_title="examples / s",
    y_format="rate",
    log=False,
    lines=(Line(series="train/examples_per_s", label="examples / s", color="--chart-3"),),
    empty="Throughput appears after the first steps.",
)
