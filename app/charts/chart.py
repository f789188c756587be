"""The words a chart is declared with.

A chart is a Plotly figure without points: the page fills in the points of the
series each trace names, as they were and as they arrive.  Colours are names of
custom properties (``--chart-1``): the browser resolves them, so that light and
dark pages share one definition.  One chart per file; ``catalogue`` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Format = Literal["number", "percent", "bytes", "rate"]
Figure = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a chart.

    Attributes:
        series: name of the series, or a pattern with one ``*`` that stands for every match.
        label: what the legend says; ``*`` is replaced by what the pattern matched.
        color: custom property that holds the colour.
        dash: Plotly's dash style.
        width: in pixels.
        smooth: whether the smoothing slider applies.
        axis: ``y`` (left) or ``y2`` (right).
        markers: draw the points too; for series with few of them.
    """

    series: str
    label: str
    color: str
    dash: Literal["solid", "dot", "dash"] = "solid"
    width: float = 1.75
    smooth: bool = True
    axis: Literal["y", "y2"] = "y"
    markers: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One card of a page.

    Attributes:
        key: the word in addresses, test ids and file names.
        title: heading of the card.
        page: where it is shown.
        order: charts of a page are shown from low to high.
        section: heading under which it is grouped.
        lines: its traces.
        y_title: unit or quantity on the left axis, empty for none.
        y_format: how numbers of the left axis are written.
        y2_title, y2_format: the same on the right axis, where a line uses it.
        y_range: fixed limits of the left axis, or None for the data's own.
        log: whether a logarithmic left axis makes sense.
        over_time: whether steps say nothing about its points, so that it always runs over time.
        tasks: the kinds of task it is about; empty for all.
        help: one sentence on how to read it.
        empty: what is said while there is no point.
    """

    key: str
    title: str
    page: Literal["run", "evolution"]
    order: int
    section: str
    lines: tuple[Line, ...]
    y_title: str = ""
    y_format: Format = "number"
    y2_title: str = ""
    y2_format: Format = "number"
    y_range: tuple[float, float] | None = None
    log: bool = True
    over_time: bool = False
    tasks: tuple[str, ...] = ()
    help: str = ""
    empty: str = "Nothing reported yet."
    height: int = 240
    layout: Figure = field(default_factory=dict)


_TICKS: dict[Format, Figure] = {
    "number": {"exponentformat": "power", "minexponent": 4},
    "percent": {"tickformat": ".0%", "rangemode": "nonnegative", "maxallowed": 1.02},
    "bytes": {"tickformat": ".3~s", "ticksuffix": "B", "rangemode": "tozero"},
    "rate": {"tickformat": ".3~s"},
}
_HOVER: dict[Format, str] = {
    "number": "%{y:.5~g}",
    "percent": "%{y:.2%}",
    "bytes": "%{y:.4~s}B",
    "rate": "%{y:.4~s}/s",
}


def figure(chart: Chart) -> Figure:
    """The chart as a Plotly figure without points: ``{"data": [...], "layout": {...}}``."""
    return {"data": [_trace(chart, line) for line in chart.lines], "layout": _layout(chart)}


def describe(chart: Chart) -> dict[str, Any]:
    """The chart as the page needs it: its words, its figure, and the series of each trace."""
    return {
        "key": chart.key,
        "title": chart.title,
        "page": chart.page,
        "section": chart.section,
        "help": chart.help,
        "empty": chart.empty,
        "log": chart.log,
        "over_time": chart.over_time,
        "y_format": chart.y_format,
        "lines": [
            {"series": line.series, "label": line.label, "color": line.color, "smooth": line.smooth}
            for line in chart.lines
        ],
        "figure": figure(chart),
    }


def _trace(chart: Chart, line: Line) -> Figure:
    y_format = chart.y_format if line.axis == "y" else chart.y2_format
    trace: Figure = {
        "type": "scatter",
        "mode": "lines+markers" if line.markers else "lines",
        "name": line.label,
        "x": [],
        "y": [],
        "connectgaps": False,
        "line": {"width": line.width, "dash": line.dash, "shape": "linear"},
        "hovertemplate": f"{_HOVER[y_format]}<extra>%{{fullData.name}}</extra>",
        "meta": {"color": line.color, "series": line.series},
    }
    if line.markers:
        trace["marker"] = {"size": 5}
    if line.axis == "y2":
        trace["yaxis"] = "y2"
    return trace


def _layout(chart: Chart) -> Figure:
    layout: Figure = {
        "height": chart.height,
        "margin": {"l": 52, "r": 64 if _has_right_axis(chart) else 14, "t": 8, "b": 34},
        "showlegend": len(chart.lines) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"},
        "hovermode": "x unified",
        "dragmode": "zoom",
        "xaxis": {
            "automargin": False,
            "zeroline": False,
            "showspikes": True,
            "spikethickness": 1,
            "spikedash": "solid",
        },
        "yaxis": {
            "title": {"text": chart.y_title},
            "zeroline": False,
            "rangemode": "normal",
            **_TICKS[chart.y_format],
        },
    }
    if chart.y_range is not None:
        layout["yaxis"]["range"] = list(chart.y_range)
    if _has_right_axis(chart):
        layout["yaxis2"] = {
            "title": {"text": chart.y2_title},
            "overlaying": "y",
            "side": "right",
            "tickmode": "auto",
            "showgrid": False,
            "zeroline": False,
            **_TICKS[chart.y2_format],
        }
    return layout | chart.layout


def _has_right_axis(chart: Chart) -> bool:
    return any(line.axis == "y2" for line in chart.lines)
