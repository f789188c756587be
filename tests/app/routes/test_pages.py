"""Pages: who may see them, what they carry, and the script that charts are drawn with."""

from __future__ import annotations

import gzip
import json
import re
from html.parser import HTMLParser

from app.routes.plotly_asset import plotly_source, plotly_version
from tests.app.routes.api_rig import Api

HOOKS = {
    "/diagnose": {"log-text", "exit-code", "diagnose", "findings"},
    "/runs/new": {"start-run", "link-state"},
    "/doctor": {"run-doctor", "doctor-summary", "link-state"},
    "/evolution/python_docs": {
        "evolution-timeline",
        "snapshot-step",
        "filter-correct",
        "filter-incorrect",
        "link-state",
    },
}
VOID = {"meta", "link", "img", "input", "br", "path", "circle", "rect", "use"}


class Outline(HTMLParser):
    """Ids, test ids, and whether every element is closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.hooks: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [identity for identity in (found.get("id"),) if identity]
        self.hooks |= {hook for hook in (found.get("data-testid"),) if hook}


def outline(page: str) -> Outline:
    parsed = Outline()
    parsed.feed(page)
    assert parsed.open == []
    return parsed


def carried(page: str, name: str) -> object:
    match = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match.group(1))


def test_every_page_is_well_formed_and_no_id_comes_twice(api: Api) -> None:
    for path in (
        "/",
        "/runs/new",
        f"/runs/{api.new_run()}",
        "/evolution",
        "/evolution/python_docs",
        "/doctor",
        "/login",
    ):
        response = api.call("GET", path)
        if response.status_code == 302:  # whoever is logged in has no use for the login
            continue
        assert response.status_code == 200
        assert response.mimetype == "text/html"
        parsed = outline(response.get_data(as_text=True))
        assert len(set(parsed.ids)) == len(parsed.ids)


def test_pages_have_the_hooks_that_browser_tests_hold_on_to(api: Api) -> None:
    for path, hooks in HOOKS.items():
        assert hooks <= outline(api.call("GET", path).get_data(as_text=True)).hooks
    page = api.call("GET", f"/runs/{api.new_run()}").get_data(as_text=True)
    assert {"run-state", "run-step", "tab-log", "link-state"} <= outline(page).hooks


def test_a_run_page_carries_the_run_its_charts_and_the_address_of_plotly(api: Api) -> None:
    run_id = api.new_run(name="</script><b>bold</b>")
    page = api.call("GET", f"/runs/{run_id}").get_data(as_text=True)
    run, charts = carried(page, "run-json"), carried(page, "charts-json")
    assert isinstance(run, dict)
    assert isinstance(charts, list)
    assert (run["id"], run["name"]) == (run_id, "</script><b>bold</b>")
    assert "<b>bold" not in page
    assert charts[0]["key"] == "train-loss"
    assert carried(page, "plotly-json") == f"/static/vendor/plotly-{plotly_version()}.js"


def test_an_unknown_run_is_a_404_page(api: Api) -> None:
    response = api.call("GET", "/runs/nothing-here")
    assert response.status_code == 404
    assert response.mimetype == "text/html"


def test_strangers_are_sent_to_the_login(api: Api) -> None:
    base = api.parts.settings.base_url
    for path in ("/", "/runs/new", "/runs/some-run", "/evolution", "/evolution/python_docs", "/doctor"):
        response = api.client.get(path, base_url=base)
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/login")
    assert "login" in outline(api.client.get("/login", base_url=base).get_data(as_text=True)).hooks


def test_plotly_comes_compressed_from_the_installed_package_and_may_be_kept(api: Api) -> None:
    path = f"/static/vendor/plotly-{plotly_version()}.js"
    for _ in range(2):  # made on the first request, read on the second
        response = api.call("GET", path, Accept_Encoding="gzip, br")
        assert response.headers["Content-Encoding"] == "gzip"
        assert response.mimetype == "text/javascript"
        assert "immutable" in response.headers["Cache-Control"]
        assert gzip.decompress(response.get_data()) == plotly_source().read_bytes()
        response.close()


def test_plotly_comes_plain_to_who_cannot_unpack_it(api: Api) -> None:
    response = api.call("GET", f"/static/vendor/plotly-{plotly_version()}.js")
    assert "Content-Encoding" not in response.headers
    assert response.headers["Vary"] == "Accept-Encoding"
    assert len(response.get_data()) == plotly_source().stat().st_size
    response.close()


def test_another_version_of_plotly_is_not_served(api: Api) -> None:
    assert api.call("GET", "/static/vendor/plotly-0.0.1.js").status_code == 404


def test_browsers_find_an_icon(api: Api) -> None:
    response = api.call("GET", "/favicon.ico")
    assert response.status_code == 302  # the address carries a stamp, and changes
    icon = api.call("GET", response.headers["Location"])
    assert icon.mimetype == "image/svg+xml"
    icon.close()
