"""What the probes were answered over training: accuracy and loss per snapshot."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="evolution",
    title="Accuracy and loss per snapshot",
    page="evolution",
    order=10,
    section="Snapshots",
    y_title="accuracy",
    y_format="percent",
    y2_title="loss",
    log=False,
    height=220,
    lines=(
        Line(series="accuracy", label="accuracy", color="--chart-3", smooth=False, markers=True, width=2.25),
        Line(series="token_accuracy", label="tokens right", color="--chart-2", smooth=False, markers=True),
        Line(series="avg_loss", label="loss", color="--chart-1", smooth=False, markers=True, axis="y2"),
    ),
    help="Click a point to open that snapshot.",
    empty="The first snapshot is taken at step 0.",
    layout={"hovermode": "x unified", "dragmode": False},
)
