"""Every chart there is: the modules of this package that declare a ``CHART``."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Literal

from app import charts
from app.charts.chart import Chart


def all_charts() -> list[Chart]:
    """All declared charts, in the order of their pages."""
    modules = (
        importlib.import_module(f"{charts.__name__}.{info.name}")
        for info in pkgutil.iter_modules(charts.__path__)
    )
    found = [chart for module in modules if isinstance(chart := getattr(module, "CHART", None), Chart)]
    return sorted(found, key=lambda chart: (chart.page, chart.order, chart.key))


def charts_of(page: Literal["run", "evolution"], *, task: str | None = None) -> list[Chart]:
    """The charts of one page, in order; with ``task`` only those that say something about it."""
    found = [chart for chart in all_charts() if chart.page == page]
    return [chart for chart in found if task is None or not chart.tasks or task in chart.tasks]
