"""Series over REST."""

from __future__ import annotations

import math

import pytest

from tests.app.routes.api_rig import Api, report_points


def test_a_series_comes_by_its_name_with_a_slash(api: Api) -> None:
    run_id = api.new_run()
    report_points(api, run_id, [1.0, 2.5, 3.0])
    assert [one["name"] for one in api.get(f"/api/runs/{run_id}/metrics")["metrics"]] == ["train/loss"]
    series = api.get(f"/api/runs/{run_id}/metrics/train/loss")
    assert (series["name"], series["steps"], series["values"]) == ("train/loss", [1, 2, 3], [1.0, 2.5, 3.0])
    assert (series["total_points"], series["downsampled"]) == (3, False)


def test_numbers_json_cannot_say_are_null(api: Api) -> None:
    run_id = api.new_run()
    report_points(api, run_id, [1.0, math.nan, math.inf, -math.inf])
    assert api.get(f"/api/runs/{run_id}/metrics/train/loss")["values"] == [1.0, None, None, None]
    assert api.get(f"/api/runs/{run_id}")["latest"] == {"train/loss": None}


def test_never_more_points_than_asked_for_and_the_budget_is_clamped(api: Api) -> None:
    run_id = api.new_run()
    report_points(api, run_id, [float(n % 97) for n in range(20_000)])
    for asked, most in ((-5, 10), (100, 100), (10**30, 5000)):
        series = api.get(f"/api/runs/{run_id}/metrics/train/loss?points={asked}")
        assert len(series["values"]) <= most
        assert series["downsampled"]
        assert series["total_points"] == 20_000


def test_a_range_and_a_number_to_go_on_from(api: Api) -> None:
    run_id = api.new_run()
    report_points(api, run_id, [float(n) for n in range(100)])
    ranged = api.get(f"/api/runs/{run_id}/metrics/train/loss?from=10&to=12")
    assert ranged["steps"] == [10, 11, 12]
    later = api.get(f"/api/runs/{run_id}/metrics/train/loss?after=98")
    assert (later["start"], later["steps"]) == (98, [99, 100])


def test_many_runs_come_in_one_request(api: Api) -> None:
    first, second, bare = (api.new_run() for _ in range(3))
    report_points(api, first, [1.0])
    report_points(api, second, [2.0])
    answer = api.get(f"/api/metrics?runs={second},{first},{bare},nope&name=train/loss")
    assert [(one["run"], one["values"]) for one in answer["series"]] == [(second, [2.0]), (first, [1.0])]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("points=many", "points"),
        ("from=NaN", "from"),
        ("to=x", "to"),
        ("after=-1", "after"),
        ("x=epoch", "x"),
        ("from=5&to=1", "from"),
    ],
)
def test_a_wrong_query_names_its_field(api: Api, query: str, field: str) -> None:
    run_id = api.new_run()
    report_points(api, run_id, [1.0])
    response = api.call("GET", f"/api/runs/{run_id}/metrics/train/loss?{query}")
    assert (response.status_code, response.get_json()["error"]["field"]) == (422, field)


def test_an_unknown_series_names_the_ones_there_are(api: Api) -> None:
    run_id = api.new_run()
    report_points(api, run_id, [1.0])
    response = api.call("GET", f"/api/runs/{run_id}/metrics/nope")
    assert response.status_code == 404
    assert "train/loss" in response.get_json()["error"]["hint"]


@pytest.mark.parametrize(
    "query", ["name=x", "runs=a", "runs=,&name=x", "runs=" + ",".join(map(str, range(501))) + "&name=x"]
)
def test_asking_for_no_runs_or_too_many_is_refused(api: Api, query: str) -> None:
    assert api.call("GET", f"/api/metrics?{query}").status_code == 422
