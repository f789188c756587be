"""How many wrong documents each query is told apart from: it decides where chance lies."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="negatives",
    title="Negatives per query",
    page="run",
    order=64,
    section="Optimiser",
    y_title="documents",
    tasks=("retrieval",),
    lines=(Line(series="train/negatives", label="negatives", color="--chart-5", smooth=False),),
    help="Wrong documents each query is told apart from: of the batch, of the group, mined, remembered.",
    empty="",
)
