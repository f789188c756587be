"""How many tokens a language model guesses, and how often it answers nothing at all."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="completions",
    title="Held-out tokens right",
    page="run",
    order=24,
    section="Learning",
    y_format="percent",
    log=False,
    tasks=("language_model",),
    lines=(
        Line(
            series="eval/accuracy",
            label="tokens right",
            color="--chart-3",
            smooth=False,
            markers=True,
            width=2.5,
        ),
        Line(
            series="eval/empty_completions",
            label="empty answers",
            color="--chart-5",
            smooth=False,
            markers=True,
            axis="y2",
        ),
    ),
    y2_title="empty",
    y2_format="percent",
    help="Of held-out answers the tokens the model finds most probable; of prompts those left unanswered.",
    empty="",
)
