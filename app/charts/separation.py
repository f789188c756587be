"""How far right documents are from the hardest wrong ones."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="separation",
    title="Separation",
    page="run",
    order=34,
    section="Learning",
    y_title="cosine",
    log=False,
    tasks=("retrieval",),
    lines=(
        Line(series="eval/cos_positive", label="right", color="--chart-3", smooth=False, markers=True),
        Line(
            series="eval/cos_hard_negative", label="hard wrong", color="--chart-5", smooth=False, markers=True
        ),
        Line(
            series="eval/separation",
            label="separation",
            color="--chart-1",
            smooth=False,
            markers=True,
            width=2.5,
        ),
    ),
    help="Mean cosine of the right document, of the 50 hardest wrong ones, and the distance of the two.",
    empty="Cosines appear after the first evaluation.",
)
