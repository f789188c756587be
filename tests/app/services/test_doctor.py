"""One examination at a time, in a process of its own, with a limit; its report survives the server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.config import Settings
from app.errors import Conflict
from app.services.doctor import Doctor, doctor_command
from tests.waiting import wait_for

pytestmark = pytest.mark.process

CHECK = {"id": "a", "title": "A", "verdict": "ok", "found": "f", "remedy": "", "details": {}}
LEFT = {**CHECK, "id": "leftovers", "verdict": "warning"}
GATE = "import pathlib, sys, time\nwhile not pathlib.Path({gate!r}).exists(): time.sleep(0.01)\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(instance=tmp_path, database_url="sqlite://", dataset_roots=())


class Opened:
    """A doctor that runs ``script`` instead of an examination."""

    def __init__(self, settings: Settings, script: str, *, limit_s: float = 60.0) -> None:
        self.doctor = Doctor(settings, command=lambda _: [sys.executable, "-c", script], limit_s=limit_s)
        self.doctor.start()

    def finished(self) -> dict[str, Any]:
        wait_for(lambda: not self.doctor.status()["running"], what="end of the examination")
        return self.doctor.status()


@pytest.fixture
def opened() -> Iterator[list[Opened]]:
    all_opened: list[Opened] = []
    yield all_opened
    for one in all_opened:
        one.doctor.close()


def printing(report: object) -> str:
    return f"print({json.dumps(report)!r})"


def test_a_report_is_kept_with_its_age_and_a_second_click_starts_nothing(
    settings: Settings, tmp_path: Path, opened: list[Opened]
) -> None:
    report = {"checks": [CHECK, LEFT], "verdict": "warning", "took_s": 1.0}
    note = tmp_path / "started"
    script = f"open({str(note)!r}, 'a').write('x')\n" + GATE.format(gate=str(tmp_path / "go"))
    one = Opened(settings, script + printing(report))
    opened.append(one)
    assert one.doctor.status() == {
        **dict.fromkeys(("started_at", "trouble", "report", "finished_at", "age_s")),
        "running": False,
    }
    first, second = one.doctor.examine(), one.doctor.examine()
    assert (first["running"], second["started_at"]) == (True, first["started_at"])
    (tmp_path / "go").touch()
    status = one.finished()
    assert note.read_text() == "x"
    assert status["report"] == report
    assert 0 <= status["age_s"] < 60
    assert Doctor(settings).status()["report"] == report, "another server reads it, too"

    assert one.doctor.end_leftovers([(2**22, 1.0)])[0]["outcome"].startswith("gone")
    renewed = one.doctor.status()["report"]
    assert [check["verdict"] for check in renewed["checks"]] == ["ok", "ok"]
    assert renewed["verdict"] == "ok"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("raise SystemExit('it cannot be')", "ended with 1 and without a report. it cannot be"),
        ("print('[]')", "ended with 0 and without a report"),
    ],
)
def test_an_examination_without_a_report_is_told_and_the_last_report_stays(
    settings: Settings, opened: list[Opened], script: str, words: str
) -> None:
    good = Opened(settings, printing({"checks": [CHECK], "verdict": "ok", "took_s": 1.0}))
    bad = Opened(settings, script)
    opened += [good, bad]
    good.doctor.examine()
    good.finished()
    bad.doctor.examine()
    status = bad.finished()
    assert words in status["trouble"]
    assert status["report"]["checks"] == [CHECK]


def test_an_examination_that_does_not_end_is_ended(settings: Settings, opened: list[Opened]) -> None:
    one = Opened(settings, "import time; time.sleep(600)", limit_s=0.2)
    opened.append(one)
    one.doctor.examine()
    assert "did not finish within 0.2 s" in one.finished()["trouble"]


def test_closing_ends_a_running_examination_and_starts_no_other(settings: Settings) -> None:
    one = Opened(settings, "import time; time.sleep(600)")
    one.doctor.examine()
    one.doctor.close()
    assert one.doctor.status()["running"] is False
    with pytest.raises(Conflict):
        one.doctor.examine()


def test_the_real_command_names_this_dashboard(settings: Settings) -> None:
    command = doctor_command(settings)
    assert command[1:6] == ["-P", "-m", "trainer", "doctor", "--json"]
    assert command[command.index("--instance") + 1] == str(settings.instance)
    assert command[command.index("--port") + 1] == "8421"
