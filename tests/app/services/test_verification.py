"""One rehearsal at a time; its stages are followed, its report survives the server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from app.config import Settings
from app.errors import Conflict
from app.services.verification import Verification, verify_command
from tests.waiting import wait_for

pytestmark = pytest.mark.process

STAGE = {"id": "a", "title": "A", "verdict": "ok", "found": "f", "remedy": "", "details": {}}
ORDER = {"order": [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}]}
REPORT = {"stages": [STAGE, {**STAGE, "id": "b"}], "verdict": "ok", "took_s": 1.0, "folder": None}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(instance=tmp_path, database_url="sqlite://", dataset_roots=())


def saying(word: dict[str, Any]) -> str:
    return f"print({json.dumps(word)!r}, flush=True)\n"


def opened(settings: Settings, script: str, *, limit_s: float = 60.0) -> Verification:
    """A verification that runs ``script`` instead of a rehearsal."""
    one = Verification(settings, command=lambda _: [sys.executable, "-c", script], limit_s=limit_s)
    one.start()
    return one


def finished(one: Verification) -> dict[str, Any]:
    wait_for(lambda: not one.status()["running"], what="end of the rehearsal")
    return one.status()


def test_stages_are_shown_as_they_come_and_the_report_is_kept(settings: Settings, tmp_path: Path) -> None:
    go = str(tmp_path / "go")
    gate = f"import pathlib, time\nwhile not pathlib.Path({go!r}).exists(): time.sleep(0.01)\n"
    one = opened(settings, saying(ORDER) + saying({"stage": STAGE}) + gate + saying(REPORT))
    first, second = one.rehearse(), one.rehearse()
    assert (first["running"], second["started_at"]) == (True, first["started_at"])
    wait_for(lambda: one.status()["stages"] == [STAGE], what="first stage")
    assert one.status()["order"] == ORDER["order"]
    (tmp_path / "go").touch()
    status = finished(one)
    assert (status["trouble"], status["report"]) == (None, REPORT)
    assert 0 <= Verification(settings).status()["age_s"] < 60, "another server reads it, too"


def test_a_rehearsal_can_be_cancelled_and_is_then_no_failure(settings: Settings) -> None:
    one = opened(settings, saying({"stage": STAGE}) + "import time; time.sleep(600)")
    one.rehearse()
    wait_for(lambda: one.status()["stages"], what="first stage")
    one.cancel()
    status = finished(one)
    assert status["trouble"] == "The rehearsal was ended before it had finished."
    assert (status["stages"], status["cancelling"]) == ([STAGE], False)
    assert one.cancel()["running"] is False


@pytest.mark.parametrize(
    ("script", "limit_s", "words"),
    [
        ("raise SystemExit('it cannot be')", 60.0, "ended with 1 and without a report. it cannot be"),
        ("import time; time.sleep(600)", 0.3, "did not finish within 0.3 s"),
    ],
)
def test_a_rehearsal_without_a_report_is_told(
    settings: Settings, script: str, limit_s: float, words: str
) -> None:
    one = opened(settings, script, limit_s=limit_s)
    one.rehearse()
    assert words in finished(one)["trouble"]


def test_closing_ends_a_running_rehearsal_and_starts_no_other(settings: Settings) -> None:
    one = opened(settings, "import time; time.sleep(600)")
    one.rehearse()
    one.close()
    assert one.status()["running"] is False
    with pytest.raises(Conflict):
        one.rehearse()


def test_the_real_command_names_this_instance(settings: Settings) -> None:
    assert verify_command(settings)[1:] == [
        *("-P", "-m", "trainer", "verify", "--json"),
        f"--instance={settings.instance}",
    ]
