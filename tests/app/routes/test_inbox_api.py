"""The inbox over REST: the switch, the choice, and errors that name the field."""

from __future__ import annotations

import pytest

from tests.app.routes.api_rig import Api


def test_it_is_off_by_default_and_the_switch_is_remembered(api: Api) -> None:
    view = api.get("/api/inbox")
    assert (view["on"], view["decided_by"], view["items"], view["recipe"]) == (False, "settings", [], "")
    assert view["folder"] == str(api.parts.settings.instance / "inbox")
    changed = api.call(
        "PATCH", "/api/inbox", {"on": True, "recipe": "two_tower", "preset": "quick"}
    ).get_json()
    assert (changed["on"], changed["decided_by"], changed["recipe"], changed["preset"]) == (
        True, "switch", "two_tower", "quick",
    )  # fmt: skip
    assert (api.parts.settings.instance / "inbox" / "high").is_dir()
    assert api.call("PATCH", "/api/inbox", {"preset": None}).get_json()["preset"] is None
    assert api.get("/api/inbox")["on"] is True


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"on": "yes"}, "on"),
        ({"on": None}, "on"),
        ({"recipe": None}, "recipe"),
        ({"recipe": "no_such"}, "recipe"),
        ({"preset": "no_such"}, "preset"),
        ({"folder": "/etc"}, "folder"),
    ],
)
def test_a_wrong_wish_names_its_field(api: Api, body: object, field: str) -> None:
    response = api.call("PATCH", "/api/inbox", body)
    assert response.status_code == 422
    assert response.get_json()["error"]["field"] == field


def test_an_item_that_is_not_there_is_not_found(api: Api) -> None:
    assert api.call("POST", "/api/inbox/nothing/retry").status_code == 404
    assert api.call("DELETE", "/api/inbox/nothing").status_code == 404
    assert api.call("GET", "/api/inbox?state=strange").status_code == 422
