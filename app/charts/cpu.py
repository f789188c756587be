"""Processor use and threads of the trainer."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="system-cpu",
    title="Processor",
    page="run",
    order=70,
    section="System",
    over_time=True,
    y_title="% of one core",
    y2_title="count",
    log=False,
    lines=(
        Line(series="system/cpu_percent", label="CPU %", color="--chart-1"),
        Line(
            series="system/num_threads",
            label="threads",
            color="--chart-muted",
            smooth=False,
            axis="y2",
            width=1.25,
        ),
        Line(
            series="system/num_processes",
            label="processes",
            color="--chart-5",
            smooth=False,
            axis="y2",
            width=1.25,
        ),
    ),
    help="100 % is one core kept busy.",
    empty="The supervisor sends the first sample within seconds.",
)
