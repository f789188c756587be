"""The preflight beside the server: in a process of its own, bounded, remembered for a moment."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from app.config import Settings
from app.errors import Conflict, PreflightRed, Unavailable
from app.services.preflight import Preflight, preflight_command
from app.services.run_plan import RunPlan, plan_run
from tests.waiting import wait_for

pytestmark = pytest.mark.process

RED = {"id": "steps", "title": "Steps", "verdict": "problem", "found": "None.", "remedy": "r", "details": {}}
AMBER = {**RED, "verdict": "warning"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(instance=tmp_path, database_url="sqlite://", dataset_roots=(), max_runs=2)


@pytest.fixture
def plan(settings: Settings) -> RunPlan:
    return plan_run("two_tower", "python_docs", {"share_towers": True}, profile="auto", settings=settings)


def opened(settings: Settings, script: str, *, limit_s: float | None = None) -> Preflight:
    """A preflight that runs ``script`` instead of the training side's."""
    preflight = Preflight(settings, command=lambda *_: [sys.executable, "-c", script], limit_s=limit_s)
    preflight.start()
    return preflight


def printing(*checks: dict[str, Any]) -> str:
    report = {"checks": checks, "verdict": "problem", "took_s": 0.1, "outlook": None}
    return f"print({json.dumps(report)!r})"


def test_a_report_is_asked_for_once_when_a_run_starts_right_after_it(
    settings: Settings, plan: RunPlan, tmp_path: Path
) -> None:
    note = tmp_path / "asked"
    preflight = opened(settings, f"open({str(note)!r}, 'a').write('x');" + printing(AMBER))
    assert preflight.report(plan)["checks"] == [AMBER]
    preflight.require(plan)
    assert note.read_text() == "x"
    other = plan_run("two_tower", "python_docs", {"seed": 1}, profile="auto", settings=settings)
    preflight.require(other)
    assert note.read_text() == "xx", "another run is another question"


def test_red_findings_refuse_a_run_and_are_told(settings: Settings, plan: RunPlan) -> None:
    with pytest.raises(PreflightRed) as caught:
        opened(settings, printing(AMBER, RED)).require(plan)
    error = caught.value.to_json()["error"]
    assert (error["code"], error["checks"]) == ("preflight", [RED])
    assert "Steps: None." in error["message"]


@pytest.mark.parametrize("script", ["print('[]')", "raise SystemExit('it cannot be')"])
def test_a_command_without_a_report_is_told(settings: Settings, plan: RunPlan, script: str) -> None:
    with pytest.raises(Unavailable, match="without a report"):
        opened(settings, script).report(plan)


def test_a_command_that_does_not_end_is_ended(settings: Settings, plan: RunPlan) -> None:
    with pytest.raises(Unavailable):
        opened(settings, "import time; time.sleep(600)", limit_s=0.3).report(plan)


def test_one_smoke_run_at_a_time_and_closing_ends_it(settings: Settings, plan: RunPlan) -> None:
    preflight = opened(settings, "import time; time.sleep(600)")
    ended: list[Exception] = []

    def ask() -> None:
        try:
            preflight.report(plan, smoke=True)
        except Unavailable as exc:
            ended.append(exc)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_for(lambda: preflight._is_smoking, what="smoke run")
    with pytest.raises(Conflict, match="smoke run is going on"):
        preflight.report(plan, smoke=True)
    preflight.close()
    asking.join(30)
    assert len(ended) == 1
    with pytest.raises(Conflict):
        preflight.report(plan)


def test_the_real_command_judges_the_plan_of_this_dashboard(settings: Settings, plan: RunPlan) -> None:
    command = preflight_command(settings, plan, True)
    assert command[2:6] == ["-m", "trainer", "preflight", "two_tower"]
    assert {f"--instance={settings.instance}", "--num-concurrent=2", "share_towers=True", "--smoke"} <= set(
        command
    )
    preflight = Preflight(settings)
    preflight.start()
    report = preflight.report(plan)
    assert {check["id"]: check["verdict"] for check in report["checks"]}["dataset"] == "note"
    assert report["outlook"]["total_steps"] > 0
