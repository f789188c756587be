"""Age of the pulse and of the last progress: alive is not the same as advancing."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="heartbeat",
    title="Pulse",
    page="run",
    order=85,
    section="System",
    y_title="seconds",
    log=False,
    lines=(
        Line(series="system/beat_age_s", label="since the last heartbeat", color="--chart-3", smooth=False),
        Line(
            series="system/progress_age_s", label="since the last progress", color="--chart-2", smooth=False
        ),
    ),
    help="A heartbeat proves life; only progress proves work.",
    empty="",
)
