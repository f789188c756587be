from __future__ import annotations

import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import chromium, set_up

ROOT = Path(__file__).resolve().parents[2]


def fake_python(folder: Path, *, version: str) -> Path:
    """An interpreter that supports nothing and says that it is ``version``."""
    folder.mkdir()
    path = folder / "python3"
    path.write_text(f'#!/bin/sh\ncase "$2" in *print*) echo {version};; *) exit 1;; esac\n')
    path.chmod(0o755)
    return path


def run_setup(python: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["scripts/setup.sh"],
        cwd=ROOT,
        env={**os.environ, "PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_that_is_too_old_is_named_with_the_remedy(tmp_path: Path) -> None:
    done = run_setup(fake_python(tmp_path / "old", version="3.10"))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "found 3.10" in done.stderr
    assert "apt install" in done.stderr


def test_no_python_at_all_is_said_in_one_line(tmp_path: Path) -> None:
    done = run_setup(tmp_path / "nowhere")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_venv_module_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "PYTHON", tmp_path / "python")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(set_up.SetupError, match=rf"apt install python3\.{sys.version_info.minor}-venv"):
        set_up.make_venv()


@pytest.mark.parametrize(
    ("system", "machine"), [("Windows", "AMD64"), ("Darwin", "x86_64"), ("Linux", "riscv64")]
)
def test_a_machine_without_pytorch_is_refused(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(set_up.SetupError, match=f"not on {system} {machine}"):
        set_up.check_platform()


def test_nothing_is_installed_while_the_stamp_is_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def install(requirements: str) -> bool:
        asked.append(requirements)
        return True

    monkeypatch.setattr(set_up, "VENV", tmp_path)
    monkeypatch.setattr(set_up, "_install_with_uv", install)
    for _ in range(2):
        set_up.install("requirements.txt")
    assert asked == ["requirements.txt"]


def test_pip_takes_over_where_uv_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "VENV", tmp_path)
    monkeypatch.setattr(set_up, "_install_with_uv", lambda requirements: False)
    monkeypatch.setattr(set_up, "_install_with_pip", lambda requirements: False)
    with pytest.raises(set_up.SetupError, match=r"requirements\.txt"):
        set_up.install("requirements.txt")
    assert list(tmp_path.iterdir()) == []


def test_uv_is_told_what_pip_would_do() -> None:
    options, environment = set_up._uv_options(
        {"find-links": "wheels more", "extra-index-url": "file:///a file:///b", "cert": "ca.pem"}
    )
    assert options[2:] == [
        *("--extra-index-url", "file:///a", "--extra-index-url", "file:///b"),
        *("--find-links", "wheels", "--find-links", "more"),
    ]
    assert environment["SSL_CERT_FILE"]


def test_the_chosen_chromium_is_the_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = tmp_path / "chromium"
    browser.touch()
    monkeypatch.setenv("SIGNALBOX_CHROMIUM", str(browser))
    assert chromium.find_chromium() == browser
    monkeypatch.setenv("SIGNALBOX_CHROMIUM", str(tmp_path / "gone"))
    assert chromium.find_chromium() is None
