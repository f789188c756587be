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


def test_several_logs_are_told_one_by_one_and_one_that_is_missing_stops_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").write_text(OOM)
    (tmp_path / "b.log").write_text("step 1 loss 2.0\n")
    names = [str(tmp_path / name) for name in ("a.log", "none.log", "b.log")]
    assert main(["diagnose", *names, "--json"]) == 2
    told = capsys.readouterr()
    assert [one["log"] for one in json.loads(told.out)["logs"]] == [names[0], names[2]]
    assert [len(one["findings"]) for one in json.loads(told.out)["logs"]] == [1, 0]
    assert f"{names[1]} cannot be read: No such file" in told.err
    assert main(["diagnose", names[0], names[2]]) == 0
    assert f"== {names[2]}\nNothing in this log" in capsys.readouterr().out


def test_what_is_no_log_is_said_to_be_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary = tmp_path / "model.bin"
    binary.write_bytes(bytes(range(128, 256)) * 4000)
    assert main(["diagnose", str(binary), "--exit-code", "1", "--json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["id"], finding["lines"]) == ("unknown", [])
    assert "This file holds no text" in finding["cause"]
    assert main(["diagnose", str(tmp_path)]) == 2
    assert "Is a directory" in capsys.readouterr().err


def test_of_two_gigabytes_only_both_ends_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    huge = tmp_path / "huge.log"
    with huge.open("wb") as file:
        file.truncate(2 << 30)
        file.seek(0, 2)
        file.write(b"\n" + OOM.encode())
    assert main(["diagnose", str(huge), "--exit-code", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["id"] == "cuda_oom"
