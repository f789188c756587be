"""Mean reciprocal rank, and the margin between the positive and its hardest rival."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="ranking",
    title="MRR@10 and margin",
    page="run",
    order=30,
    section="Learning",
    y_title="MRR@10",
    y2_title="margin",
    log=False,
    tasks=("retrieval",),
    lines=(
        Line(series="eval/mrr@10", label="MRR@10", color="--chart-3", smooth=False, markers=True),
        Line(series="eval/margin", label="margin", color="--chart-4", smooth=False, markers=True, axis="y2"),
    ),
    help="Margin: score of the right document minus that of the best wrong one.",
    empty="Ranks appear after the first evaluation.",
)
