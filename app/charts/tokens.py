"""Tokens per second, and what of them is padding or read without being learned."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="tokens",
    title="Tokens",
    page="run",
    order=62,
    section="Optimiser",
    y_title="tokens / s",
    y_format="rate",
    y2_title="share",
    y2_format="percent",
    log=False,
    lines=(
        Line(series="train/tokens_per_s", label="tokens / s", color="--chart-3"),
        Line(series="train/masked_share", label="masked", color="--chart-4", axis="y2", width=1.25),
        Line(series="train/padding_share", label="padding", color="--chart-muted", axis="y2", width=1.25),
    ),
    help="Masked tokens are read but not learned; padding fills batches up.",
    empty="",
)
