"""Tests of the whole product run in one worker, with the installed pytest and pytest-xdist."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.one_worker import shares_worker

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = "from tests.e2e.one_worker import make_scheduler as pytest_xdist_make_scheduler\n"
TESTS = """
import os, pytest, time
from pathlib import Path

@pytest.mark.parametrize("number", range(8))
def test_it(number):
    time.sleep(0.02)
    with Path(os.environ["WORKERS"]).open("a") as file:
        file.write(f"{Path(__file__).parent.name} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


@pytest.mark.process
def test_whole_product_tests_share_a_worker_and_the_others_do_not(tmp_path: Path) -> None:
    for folder in ("e2e", "faults", "app"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / f"test_{folder}.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n")
    workers = tmp_path / "workers"
    environ = os.environ | {"WORKERS": str(workers), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "tests"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in workers.read_text().splitlines()]
    assert len(lines) == 24
    [product] = {worker for folder, worker in lines if folder != "app"}
    assert {worker for folder, worker in lines if folder == "app"} - {product}


def test_every_file_that_uses_the_dashboard_or_the_browser_is_one_of_them() -> None:
    words = ("mark.browser", "(browser:", ", browser:")
    users = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words) and path != Path(__file__)
    ]
    assert users
    assert [path for path in users if not shares_worker(path)] == []
