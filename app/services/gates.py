"""GO or NO-GO of a run: its recipe's gates against what was measured last, and at its best checkpoint."""

from __future__ import annotations

from typing import Any

from app.services.metrics import MetricReader
from app.services.run_shape import finite
from app.services.runs import Runs
from trainer.recipes.gates import JudgedGate, Verdict, judge, overall
from trainer.recipes.registry import recipes

_FEW_POINTS = 8


def gates_of(run_id: str, *, runs: Runs, metrics: MetricReader) -> dict[str, Any]:
    """The verdicts of a run, empty where its recipe declares no gates.

    Raises:
        NotFound: there is no such run.
    """
    run = runs.get(run_id)
    recipe = recipes().get(run.recipe)
    if recipe is None or not recipe.gates:
        return {"run": run_id, "newest": None, "best": None, "gates": []}
    defaults = {name: field.default for name, field in recipe.Params.model_fields.items()}
    params = {**defaults, **run.params}
    wanted = {one.metric for gate in recipe.gates for one in gate.conditions}
    newest, step = _newest(run_id, wanted, metrics)
    best = next((one for one in reversed(runs.checkpoints(run_id)) if one["best"]), None)
    judged = judge(recipe.gates, params, newest)
    judged_best = []
    if best is not None:
        judged_best = judge(recipe.gates, params, best["metrics"])
    return {
        "run": run_id,
        "newest": _place(judged, step),
        "best": None if best is None else _place(judged_best, best["step"]),
        "gates": [
            _to_json(gate, judged_best[number] if judged_best else None) for number, gate in enumerate(judged)
        ],
    }


def _newest(
    run_id: str, wanted: set[str], metrics: MetricReader
) -> tuple[dict[str, float | None], int | None]:
    """The last value of each series there is, and the newest step among them."""
    values: dict[str, float | None] = {}
    steps: list[int] = []
    for name in sorted(wanted & {one["name"] for one in metrics.names(run_id)}):
        series = metrics.read(run_id, name, points=_FEW_POINTS)
        if len(series.values):
            values[name] = float(series.values[-1])
            steps.append(int(series.steps[-1]))
    return values, max(steps, default=None)


def _place(judged: list[JudgedGate], step: int | None) -> dict[str, Any] | None:
    return None if step is None else {"verdict": overall(judged).value, "step": step}


def _to_json(newest: JudgedGate, best: JudgedGate | None) -> dict[str, Any]:
    gate = newest.gate
    return {
        "name": gate.name,
        "title": gate.title,
        "help": gate.help,
        "kind": gate.kind,
        "optional": gate.optional,
        "newest": newest.verdict.value,
        "best": (best.verdict if best else Verdict.UNKNOWN).value,
        "conditions": [
            {
                "metric": one.metric,
                "unit": one.unit,
                "at_least": one.at_least,
                "threshold": one.threshold,
                "newest": finite(one.value),
                "best": finite(best.conditions[number].value) if best else None,
            }
            for number, one in enumerate(newest.conditions)
        ],
    }
