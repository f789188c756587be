"""Training loss beside what guessing would cost."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="train-loss",
    title="Loss",
    page="run",
    order=10,
    section="Learning",
    lines=(
        Line(series="train/loss", label="train", color="--chart-1"),
        Line(series="eval/loss", label="held out", color="--chart-2", smooth=False, markers=True),
        Line(
            series="train/chance_loss",
            label="chance",
            color="--chart-muted",
            dash="dot",
            smooth=False,
            width=1.25,
        ),
        Line(
            series="eval/chance_loss",
            label="chance, held out",
            color="--chart-2",
            dash="dot",
            smooth=False,
            width=1.25,
        ),
    ),
    help="Below its dotted chance line a loss, in nats, beats guessing; negatives decide where it lies.",
    empty="The first loss appears after the first step.",
)
