"""Files with the content's stamp in their address: kept for good, and never stale."""

from __future__ import annotations

import re
from pathlib import Path

from app.routes.static_files import stamp_of
from tests.app.routes.api_rig import Api

STATIC = Path(__file__).parents[3] / "static"


def test_a_page_names_files_which_the_browser_may_keep(api: Api) -> None:
    page = api.call("GET", "/").get_data(as_text=True)
    addresses = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page))
    assert len(addresses) > 5
    for address in addresses:
        response = api.call("GET", address)
        assert response.status_code == 200
        assert f"/{stamp_of(STATIC)}/" in address
        assert "immutable" in response.headers["Cache-Control"]
        assert "max-age=31536000" in response.headers["Cache-Control"]
        response.close()


def test_a_page_left_open_over_an_upgrade_gets_todays_file_and_does_not_keep_it(api: Api) -> None:
    response = api.call("GET", "/static/000000000000/css/base.css")
    assert response.get_data() == (STATIC / "css" / "base.css").read_bytes()
    assert response.headers["Cache-Control"] == "no-cache"
    response.close()


def test_nothing_outside_the_folder_is_served(api: Api) -> None:
    for path in ("../wsgi.py", "%2e%2e/wsgi.py", "/etc/passwd"):
        assert api.call("GET", f"/static/{stamp_of(STATIC)}/{path}").status_code in {308, 404}


def test_the_stamp_changes_with_a_content_and_with_a_name(tmp_path: Path) -> None:
    def made(name: str, **files: str) -> str:
        (tmp_path / name).mkdir()
        for file, content in files.items():
            (tmp_path / name / file).write_text(content)
        return stamp_of(tmp_path / name)

    first = made("first", a="one", b="two")
    assert made("again", a="one", b="two") == first
    assert len({first, made("content", a="one", b="2"), made("name", a="one", c="two")}) == 3
