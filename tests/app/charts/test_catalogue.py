"""Every declared chart is a figure that Plotly accepts."""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go
import pytest

from app.charts import chart as chart_module
from app.charts.catalogue import all_charts, charts_of
from app.charts.chart import Chart, Line, describe, figure

ROOT = Path(__file__).parents[3]
CHARTS = all_charts()


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_plotly_accepts_every_figure(chart: Chart) -> None:
    drawn = figure(chart)
    accepted = go.Figure(data=drawn["data"], layout=drawn["layout"])
    assert len(accepted.data) == len(chart.lines)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.key)
def test_every_colour_is_a_token_of_the_stylesheet(chart: Chart) -> None:
    tokens = (ROOT / "static/css/tokens.css").read_text()
    for line in chart.lines:
        assert f"{line.color}:" in tokens


def test_keys_are_unique_and_survive_json() -> None:
    keys = [chart.key for chart in CHARTS]
    assert len(set(keys)) == len(keys)
    assert json.loads(json.dumps([describe(chart) for chart in CHARTS]))


def test_each_file_of_the_package_declares_one_chart() -> None:
    words = {"__init__", "chart", "catalogue"}
    files = {path.stem for path in Path(chart_module.__file__).parent.glob("*.py")} - words
    assert len(files) == len(CHARTS)


def test_the_run_page_shows_what_the_issue_asks_for() -> None:
    series = {line.series for chart in charts_of("run") for line in chart.lines}
    assert {
        "train/loss",
        "train/chance_loss",
        "train/learning_rate",
        "train/grad_norm",
        "train/examples_per_s",
        "eval/recall@10",
        "eval/mrr@10",
        "system/cpu_percent",
        "system/rss_bytes",
    } <= series


def test_charts_come_in_their_order() -> None:
    orders = [chart.order for chart in charts_of("run")]
    assert orders == sorted(orders)
    assert charts_of("run")[0].key == "train-loss"


def test_a_line_on_the_right_brings_its_axis() -> None:
    one = Chart(
        key="x",
        title="X",
        page="run",
        order=1,
        section="S",
        y2_format="percent",
        lines=(
            Line(series="a", label="a", color="--chart-1"),
            Line(series="b", label="b", color="--chart-2", axis="y2"),
        ),
    )
    drawn = figure(one)
    assert drawn["layout"]["yaxis2"]["side"] == "right"
    assert drawn["layout"]["yaxis2"]["tickformat"] == ".0%"
    assert drawn["data"][1]["yaxis"] == "y2"
