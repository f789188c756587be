"""Every family is recognised by its own words, and what only talks about errors by none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.trainer.diagnosis.blind import BLIND, NOTHING, blind_logs, measure
from tests.trainer.diagnosis.corpus import LOGS, labelled_logs
from trainer.diagnosis.catalogue import signatures
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.finding import UNKNOWN, Role

MIN_PRECISION = 0.95
MIN_RECALL = 0.9
ROWS = json.loads((LOGS / "rows.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_the_words_of_every_row_lead_to_its_id(row: dict[str, Any]) -> None:
    findings = diagnose(Evidence(log=row["example"]))
    assert [finding.id for finding in findings][:1] == [row["id"]]
    of_failed_run = [finding.id for finding in diagnose(Evidence(log=row["example"], exit_code=1))]
    assert row["id"] in of_failed_run
    is_cause = row["severity"] in "FH" or signatures()[row["id"]].silent
    assert is_cause == (signatures()[row["id"]].role in (Role.CAUSE, Role.HANG))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_no_row_explains_a_healthy_exit_but_those_that_end_in_silence(row: dict[str, Any]) -> None:
    findings = diagnose(Evidence(log=row["example"], exit_code=0))
    assert bool(findings) == signatures()[row["id"]].silent


def test_precision_and_recall_over_the_labelled_logs(capsys: pytest.CaptureFixture[str]) -> None:
    answers = [(log, log.named()) for log in labelled_logs()]
    named = [(log, name) for log, name in answers if name not in ("healthy", UNKNOWN)]
    caused = [(log, name) for log, name in answers if log.label not in ("healthy", UNKNOWN)]
    precision = sum(log.label == name for log, name in named) / len(named)
    recall = sum(log.label == name for log, name in caused) / len(caused)
    with capsys.disabled():
        print(f"\ndiagnosis of {len(answers)} logs: precision {precision:.3f}, recall {recall:.3f}")  # noqa: T201
    wrong = [f"{log.path.parent.name}/{log.path.name}: {name}" for log, name in answers if log.label != name]
    assert precision >= MIN_PRECISION, wrong
    assert recall >= MIN_RECALL, wrong


@pytest.mark.parametrize("name", ["first", "second"])
def test_precision_and_recall_over_the_blind_sets(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    measured = measure(name)
    with capsys.disabled():
        print(f"\nblind set {name}: {measured}")  # noqa: T201
    wrong = list(measured.wrong())
    assert measured.precision >= MIN_PRECISION, wrong
    assert measured.recall >= MIN_RECALL, wrong
    assert measured.false_alarms == 0, wrong
    assert measured.wrong_first_lines <= len(measured.answers) // 20, wrong


def test_every_blind_log_has_a_label_that_names_known_ids() -> None:
    known = {*signatures(), UNKNOWN, NOTHING}
    for name in ("first", "second"):
        logs = blind_logs(name)
        assert {log.path for log in logs} == set((BLIND / name).glob("*.log"))
        assert not [log.path.name for log in logs if not set(log.ids) <= known]


@pytest.mark.parametrize("log", [log for log in labelled_logs() if log.label == "healthy"], ids=str)
def test_a_healthy_log_that_talks_about_errors_yields_nothing(log: Any) -> None:
    assert log.named() == "healthy"


def test_there_are_enough_healthy_and_misleading_logs() -> None:
    assert sum(log.label in ("healthy", UNKNOWN) for log in labelled_logs()) >= 30
