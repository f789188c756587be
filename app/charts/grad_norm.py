"""Length of the gradient before clipping."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="grad-norm",
    title="Gradient norm",
    page="run",
    order=40,
    section="Optimiser",
    lines=(Line(series="train/grad_norm", label="before clipping", color="--chart-4"),),
    help="Sudden spikes are the first sign of a run that is about to diverge.",
    empty="The first norm appears after the first step.",
)
