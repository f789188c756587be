"""How far a classifier's confidence can be trusted."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="calibration",
    title="Calibration error",
    page="run",
    order=32,
    section="Learning",
    y_format="percent",
    log=False,
    tasks=("classification",),
    lines=(Line(series="eval/ece", label="ECE", color="--chart-4", smooth=False, markers=True),),
    help="How far confidence and accuracy lie apart; 0 % is a model that is right as often as it says.",
    empty="Calibration appears after the first evaluation.",
)
