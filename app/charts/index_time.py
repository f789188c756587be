"""How long the index takes for a query, and whether it finds what is in it."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="index-time",
    title="Query time",
    page="run",
    order=36,
    section="Learning",
    y_title="ms",
    y2_title="found",
    y2_format="percent",
    tasks=("retrieval",),
    lines=(
        Line(series="eval/index_p50_ms", label="median", color="--chart-3", smooth=False, markers=True),
        Line(series="eval/index_p95_ms", label="95 %", color="--chart-1", smooth=False, markers=True),
        Line(
            series="eval/oracle",
            label="self-found",
            color="--chart-muted",
            dash="dot",
            smooth=False,
            axis="y2",
            width=1.25,
        ),
    ),
    help="Every document asked for with its own vector must come back: what is missing, the index has lost.",
    empty="",
)
