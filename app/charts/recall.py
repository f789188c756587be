"""How often the right document is among the first k found."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="recall",
    title="Recall on held-out groups",
    page="run",
    order=20,
    section="Learning",
    y_format="percent",
    log=False,
    tasks=("retrieval",),
    lines=(
        Line(series="eval/recall@1", label="@1", color="--chart-1", smooth=False, markers=True),
        Line(series="eval/recall@5", label="@5", color="--chart-2", smooth=False, markers=True),
        Line(series="eval/recall@10", label="@10", color="--chart-3", smooth=False, markers=True, width=2.5),
        Line(series="eval/recall@50", label="@50", color="--chart-4", smooth=False, markers=True),
        Line(series="eval/recall@100", label="@100", color="--chart-5", smooth=False, markers=True),
    ),
    help="Share of held-out queries whose own document is among the first k results.",
    empty="Recall appears after the first evaluation.",
)
