"""Measures of the whole ranking: nDCG over its first ten, MRR over its first thousand."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="ndcg",
    title="nDCG@10 and MRR",
    page="run",
    order=32,
    section="Learning",
    log=False,
    tasks=("retrieval",),
    lines=(
        Line(series="eval/ndcg@10", label="nDCG@10", color="--chart-2", smooth=False, markers=True),
        Line(series="eval/mrr", label="MRR", color="--chart-3", smooth=False, markers=True),
    ),
    help="nDCG counts every right document among the first ten, MRR the first right one among a thousand.",
    empty="Ranks appear after the first evaluation.",
)
