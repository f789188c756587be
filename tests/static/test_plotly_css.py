"""What the pages carry for plotly.js is that of the installed version."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.static.plotly_css import GLOBAL, TARGET, read_rules

Styles = tuple[str, dict[str, list[str]]]
TEMPLATES = Path(__file__).parents[2] / "templates"


@pytest.fixture(scope="module")
def added(browser: Browser) -> Styles:
    """Version of plotly.js and the rules it adds, read once from a real browser."""
    return read_rules(browser)


@pytest.mark.browser
def test_the_stylesheet_has_the_rules_of_the_installed_plotly(added: Styles) -> None:
    version, rules = added
    written = TARGET.read_text(encoding="utf-8")
    assert f"plotly.js {version} " in written, "run python -m tests.static.plotly_css"
    # browsers print the same rule differently, so selectors are compared, not texts
    selectors = [rule.split("{")[0].strip() for rule in rules[GLOBAL]]
    missing = [selector for selector in selectors if f"{selector} {{" not in written]
    assert missing == [], "run python -m tests.static.plotly_css"


@pytest.mark.browser
def test_every_other_style_it_adds_is_kept_out_by_an_element_of_its_id(added: Styles) -> None:
    _, rules = added
    guards = (TEMPLATES / "_plotly.html").read_text(encoding="utf-8")
    assert [style for style in rules if f'id="{style}"' not in guards] == []
