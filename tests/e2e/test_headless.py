"""``trainer run … --dashboard URL``: a dashboard trains, the terminal watches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.dashboard import ROOT, Dashboard
from tests.trainer.tasks.causal_lm.small_corpus import SMALL as SMALL_LM
from tests.trainer.tasks.causal_lm.small_corpus import write_completions
from tests.trainer.tasks.text_classification.small_texts import SMALL as SMALL_CLASSIFIER
from tests.trainer.tasks.text_classification.small_texts import write_texts


def trainer(
    dashboard: Dashboard, *arguments: str, token: str | None = None
) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {
        "SIGNALBOX_TOKEN": dashboard.token if token is None else token,
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "trainer", "run", *arguments, "--dashboard", dashboard.url]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=150)


def settings(params: dict[str, Any]) -> list[str]:
    return [word for name, value in params.items() for word in ("--set", f"{name}={value}")]


@pytest.mark.parametrize("recipe", ["causal_lm", "text_classification"])
def test_a_dashboard_trains_what_a_terminal_asks_for_and_shows_it_there(
    dashboard: Dashboard, recipe: str
) -> None:
    folder = dashboard.instance / "inbox"
    dataset, small = (
        (write_completions(folder / "headless.jsonl"), SMALL_LM)
        if recipe == "causal_lm"
        else (write_texts(folder / "headless.csv"), SMALL_CLASSIFIER)
    )
    chosen = settings({**small, "max_steps": 4})
    done = trainer(dashboard, recipe, "--dataset", str(dataset), "--preset", "quick", *chosen, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["state"], told["steps"]) == ("finished", 4)
    assert f"run: {dashboard.url}/runs/{told['id']}" in done.stderr
    assert "eval/loss" in done.stderr
    assert dashboard.run(told["id"])["state"] == "finished"


def test_what_the_dashboard_refuses_is_one_line_and_starts_nothing(
    dashboard: Dashboard, tmp_path: Path
) -> None:
    before = dashboard.get("/api/runs")["total"]
    path = dashboard.instance / "inbox" / "bad.csv"
    path.write_text("text,label\na,x\n,y\n")
    done = trainer(dashboard, "text_classification", "--dataset", str(path))
    assert (done.returncode, "line 3, column text: is empty" in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    for arguments, token, said in (
        (("--dataset", str(path)), "wrong", "does not know the token in SIGNALBOX_TOKEN; make one"),
        (("--dataset", str(path)), "", "set SIGNALBOX_TOKEN"),
        (("--dataset", "nothing.csv"), None, "--dashboard: dataset"),
        (("--dataset", str(path), "--run-dir", str(tmp_path / "r")), None, "leave it away"),
        (("--resume", "--run-dir", "no-such-run"), None, "--dashboard: "),
    ):
        done = trainer(dashboard, "text_classification", *arguments, token=token)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert dashboard.get("/api/runs")["total"] == before
