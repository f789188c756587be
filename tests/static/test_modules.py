"""The browser's pure modules, tested in Node (the one that comes with Playwright: no other is needed)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

HERE = Path(__file__).parent
MODULES = HERE.parents[1] / "static" / "js"


def node() -> str:
    """Node's executable; fails with a remedy where it is missing."""
    found = str(compute_driver_executable()[0])
    if not Path(found).exists():
        pytest.fail("Playwright's Node is missing: install requirements-dev.txt into this environment")
    return found


@pytest.mark.parametrize("script", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_modules_do_what_their_tests_say(script: Path) -> None:
    done = subprocess.run(
        [node(), "--test", "--test-reporter=tap", str(script)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_every_module_is_type_checked_by_editors() -> None:
    plain = [
        path.name
        for path in MODULES.rglob("*.js")
        if not path.read_text("utf-8").startswith("// @ts-check\n")
    ]
    assert plain == []


def test_every_module_parses_and_imports_only_what_exists() -> None:
    pages = [str(path) for path in sorted(MODULES.rglob("*.js"))]
    done = subprocess.run(
        [node(), "--experimental-vm-modules", "--no-warnings", str(HERE / "link_modules.mjs"), *pages],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
