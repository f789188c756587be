"""What the pages carry for plotly.js is that of the installed version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.static.plotly_css import GLOBAL, TARGET, read_rules

TEMPLATES = Path(__file__).parents[2] / "templates"


@pytest.mark.browser
def test_the_stylesheet_has_the_rules_of_the_installed_plotly() -> None:
    version, rules = read_rules()
    written = TARGET.read_text(encoding="utf-8")
    assert f"plotly.js {version} " in written, "run python -m tests.static.plotly_css"
    # browsers print the same rule differently, so selectors are compared, not texts
    selectors = [rule.split("{")[0].strip() for rule in rules[GLOBAL]]
    missing = [selector for selector in selectors if f"{selector} {{" not in written]
    assert missing == [], "run python -m tests.static.plotly_css"


@pytest.mark.browser
def test_every_other_style_it_adds_is_kept_out_by_an_element_of_its_id() -> None:
    _, rules = read_rules()
    guards = (TEMPLATES / "_plotly.html").read_text(encoding="utf-8")
    assert [style for style in rules if f'id="{style}"' not in guards] == []
