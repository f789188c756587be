"""``docs/failures.md`` names a test for everything it promises, and every one of them exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
NAME = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)::(test_\w+)(?:\[(\w+)\])?`")
NAMES = sorted(set(NAME.findall(PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| #", "|--"))]


@pytest.mark.parametrize(
    "name", NAMES, ids=lambda name: f"{name[0].rpartition('/')[2]}::{name[1]}[{name[2]}]"
)
def test_a_named_test_exists(name: tuple[str, str, str]) -> None:
    file, function, row = name
    path = ROOT / file if "/" in file else ROOT / "tests" / "children" / file
    text = path.read_text(encoding="utf-8")
    assert f"def {function}(" in text
    if row:
        assert f'"{row}"' in text


def test_every_row_of_the_page_names_a_test() -> None:
    heads = ("| end |", "| silence |", "| what |")
    assert [row for row in ROWS if not row.startswith(heads) and not NAME.search(row)] == []


def test_every_post_mortem_has_its_row() -> None:
    numbers = [int(match) for match in re.findall(r"^\| (\d+) \|.*`", PAGE.split("## 2C")[0], re.MULTILINE)]
    assert numbers == list(range(1, 25))
