"""``docs/api.md`` has every address, each with a curl example."""

from __future__ import annotations

import re
from pathlib import Path

from tests.app.routes.api_rig import open_api

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


def test_every_address_is_documented_with_an_example_and_nothing_else_is(tmp_path: Path) -> None:
    api = open_api(tmp_path / "instance")
    paths = api.get("/openapi.json")["paths"]
    api.parts.store.close()
    served = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    sections = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    told = {}
    for section in sections:
        heading = re.match(r"`([A-Z]+ /\S+)`", section)
        if heading:
            told[heading.group(1)] = section
    assert told.keys() == served
    assert [name for name, section in told.items() if "```sh" not in section or "$API/" not in section] == []
