"""How often the right document is found at all: deep recall, and the list that the index serves."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="deep_recall",
    title="Found at all",
    page="run",
    order=22,
    section="Learning",
    y_format="percent",
    log=False,
    tasks=("retrieval",),
    lines=(
        Line(series="eval/contain@20", label="contain@20", color="--chart-1", smooth=False, markers=True),
        Line(series="eval/contain@50", label="contain@50", color="--chart-2", smooth=False, markers=True),
        Line(series="eval/recall@500", label="recall@500", color="--chart-4", smooth=False, markers=True),
        Line(series="eval/recall@1000", label="recall@1000", color="--chart-5", smooth=False, markers=True),
    ),
    help="Contain: the served list of 20 or 50 holds the right document. Recall is that of an exact search.",
    empty="Shares appear after the first evaluation.",
)
