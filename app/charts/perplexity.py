"""How many words a language model hesitates between."""

from __future__ import annotations

from typing import Final

from app.charts.chart import Chart, Line

CHART: Final = Chart(
    key="perplexity",
    title="Held-out perplexity",
    page="run",
    order=22,
    section="Learning",
    tasks=("language_model",),
    lines=(Line(series="eval/perplexity", label="held out", color="--chart-2", smooth=False, markers=True),),
    help="e to the held-out loss: among how many equally likely tokens the model is undecided.",
    empty="",
)
