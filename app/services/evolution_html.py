"""A snapshot, or the comparison of two, as one HTML page that needs nothing beside itself.

No script, no request, every text escaped; characters that do not print are
shown as their pictures, and each text keeps its own direction of writing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_TEMPLATES: Final = Path(__file__).resolve().parents[2] / "templates" / "export"
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACE: Final = 0x20
_DELETE: Final = 0x7F
_PICTURES: Final = 0x2400  # U+2400 is the picture of NUL, and so on to U+241F
_PICTURE_OF_DELETE: Final = "\u2421"
_GROUPS: Final = (
    ("fixed", "Fixed", "wrong before, right now"),
    ("broken", "Broken", "right before, wrong now"),
    ("still_wrong", "Still wrong", "wrong both times"),
    ("still_right", "Still right", "right both times"),
)
_SHARES: Final = frozenset({"accuracy", "similarity"})
_PLAIN: Final = frozenset({"avg_loss", "accuracy", "total_examples", "correct", "incorrect"})


def snapshot_page(found: Mapping[str, Any]) -> str:
    """The page of ``Evolution.snapshot(...)``."""
    return _environment().get_template("snapshot.html").render(found=found, facts=_facts(found))


def comparison_page(found: Mapping[str, Any]) -> str:
    """The page of ``Evolution.compare(...)``."""
    groups = [(name, title, meaning, found[name]) for name, title, meaning in _GROUPS]
    return _environment().get_template("comparison.html").render(found=found, groups=groups)


def page_name(found: Mapping[str, Any]) -> str:
    """A file name for the page, of letters, digits and underscores."""
    if "training_step" in found:
        words = f"{found['dataset']}_step_{found['training_step']:06d}"
    else:
        words = f"{found['dataset']}_{found['from']['step']}_to_{found['to']['step']}"
    return "".join(one if one.isalnum() else "_" for one in words)[:100] + ".html"


def visible(value: object) -> str:
    """``value`` as text in which every character can be seen: control characters as their pictures."""
    return _UNSEEN.sub(_seen, str(value).replace("\r\n", "\n"))


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < _SPACE:
        return chr(_PICTURES + code)
    return _PICTURE_OF_DELETE if code == _DELETE else "\ufffd"


def number(value: object, *, name: str = "") -> str:
    """A number for reading; a dash where there is none."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return "\u2013"
    if name in _SHARES:
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def clock(timestamp: str) -> str:
    """A time as the API says it, for reading, in UTC."""
    return f"{datetime.fromisoformat(timestamp).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _facts(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    summary = found["summary"]
    listed = [
        ("Right", f"{number(summary['correct'])} of {number(summary['total_examples'])}"),
        ("Accuracy", number(summary["accuracy"], name="accuracy")),
        ("Average loss", number(summary["avg_loss"])),
    ]
    listed += [(name, number(value)) for name, value in summary.items() if name not in _PLAIN]
    return listed


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(visible=visible, number=number, clock=clock)
    return made
