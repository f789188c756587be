"""``diagnose`` as people type it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from trainer.__main__ import main

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"


def test_json_has_the_promised_keys_best_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text(OOM)
    assert main(["diagnose", str(log), "--exit-code", "1", "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert set(finding) == {"id", "cause", "remedy", "confidence", "lines", "source", "rungs"}
    assert (finding["id"], finding["lines"]) == ("cuda_oom", [OOM.strip()])


def test_standard_input_and_wishes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    assert main(["diagnose", "-"]) == 0
    assert "What helps" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))
    assert main(["diagnose", "-", "--exit-code", "-9", "--stopped-by-user", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"findings": []}


def test_a_missing_log_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(tmp_path / "none.log")]) == 2
    errors = capsys.readouterr().err
    assert "LOGFILE" in errors
    assert "No such file" in errors
    assert len(errors.splitlines()) == 1
