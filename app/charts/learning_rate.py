"""What the schedule makes of the learning rate."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="learning-rate",
    title="Learning rate",
    page="run",
    order=50,
    section="Optimiser",
    lines=(Line(series="train/learning_rate", label="learning rate", color="--chart-5", smooth=False),),
    empty="The schedule appears after the first step.",
)
