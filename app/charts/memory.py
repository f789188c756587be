"""Memory of the trainer's process tree."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="system-memory",
    title="Memory",
    page="run",
    order=80,
    section="System",
    over_time=True,
    y_format="bytes",
    log=False,
    lines=(Line(series="system/rss_bytes", label="resident", color="--chart-2", smooth=False),),
    help="A line that only climbs is a leak.",
    empty="The supervisor sends the first sample within seconds.",
)
