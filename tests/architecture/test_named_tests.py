"""Tests that the documentation names must exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_a_page_names_exists() -> None:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for file, test in NAMED.findall(page.read_text(encoding="utf-8")):
            path = ROOT / file
            assert path.exists(), f"{page.name}: {file}"
            assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{page.name}: {file}::{test}"
