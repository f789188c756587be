"""How often a classifier is right, over all texts and over all labels alike."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="accuracy",
    title="Accuracy and macro-F1",
    page="run",
    order=22,
    section="Learning",
    y_format="percent",
    log=False,
    tasks=("classification",),
    lines=(
        Line(
            series="eval/accuracy", label="accuracy", color="--chart-3", smooth=False, markers=True, width=2.5
        ),
        Line(series="eval/macro_f1", label="macro-F1", color="--chart-2", smooth=False, markers=True),
        Line(
            series="eval/chance_accuracy",
            label="always the most frequent label",
            color="--chart-muted",
            dash="dot",
            smooth=False,
            width=1.25,
        ),
    ),
    help="On held-out texts. Macro-F1 counts every label alike, however rare it is.",
    empty="Accuracy appears after the first evaluation.",
)
