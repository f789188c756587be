"""The evolution API, as clients of the original system know it."""

from __future__ import annotations

import csv
import importlib.util
import io

import pytest

from tests.app.routes.api_rig import NUM_EXAMPLES, Api, report_snapshot

BASE = "/api/evolution"
ODD_STEPS = ["-1", "1e9", "\uff11", "0x10", "%20", "10" * 200, "nan", "None", "1.5", "..", "%00"]


@pytest.fixture
def run_id(api: Api) -> str:
    made = api.new_run()
    report_snapshot(api, made, 0, num_correct=1)
    report_snapshot(api, made, 10, num_correct=3)
    return made


def test_datasets_have_the_fields_old_clients_read(api: Api, run_id: str) -> None:
    (dataset,) = api.get(f"{BASE}/datasets")["datasets"]
    assert dataset["path"]
    assert (dataset["name"], dataset["snapshot_count"], dataset["first_step"], dataset["last_step"]) == (
        "python_docs", 2, 0, 10,
    )  # fmt: skip


def test_snapshots_have_the_fields_old_clients_read(api: Api, run_id: str) -> None:
    first, last = api.get(f"{BASE}/python_docs/snapshots")["snapshots"]
    assert (first["step"], last["step"]) == (0, 10)
    assert last["timestamp"]
    assert last["filename"]
    assert last["summary"].keys() >= {"avg_loss", "accuracy", "total_examples", "correct", "incorrect"}


def test_a_snapshot_has_the_fields_old_clients_read(api: Api, run_id: str) -> None:
    snapshot = api.get(f"{BASE}/python_docs/snapshot/10")
    assert snapshot.keys() >= {
        "snapshot_id",
        "training_step",
        "timestamp",
        "model_version",
        "examples",
        "summary",
    }
    assert (snapshot["training_step"], len(snapshot["examples"])) == (10, NUM_EXAMPLES)
    assert snapshot["examples"][0].keys() >= {
        "example_id", "step", "input", "expected_output", "model_output", "loss", "exact_match",
        "output_length", "similarity",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "step"), [("first", 0), ("latest", 10), ("best", 10)])
def test_a_snapshot_may_be_named(api: Api, run_id: str, name: str, step: int) -> None:
    assert api.get(f"{BASE}/python_docs/snapshot/{name}?run={run_id}")["training_step"] == step


def test_the_swapped_address_leads_to_the_right_one_with_its_query(api: Api, run_id: str) -> None:
    response = api.call("GET", f"{BASE}/snapshot/python_docs/10?limit=1")
    assert response.status_code == 308
    assert response.headers["Location"] == f"{BASE}/python_docs/snapshot/10?limit=1"
    assert len(api.get(response.headers["Location"])["examples"]) == 1


def test_a_dataset_called_snapshot_is_no_endless_detour(api: Api) -> None:
    report_snapshot(api, api.new_run(), 5, num_correct=1, dataset="snapshot")
    assert api.get(f"{BASE}/snapshot/snapshot/5")["training_step"] == 5


@pytest.mark.parametrize("name", ["a b", "ünï", "a/b", "100%", "a?b#c"])
def test_any_dataset_name_survives_the_detour(api: Api, name: str) -> None:
    from urllib.parse import quote

    report_snapshot(api, api.new_run(), 5, num_correct=1, dataset=name)
    plain = api.get(f"{BASE}/datasets")["datasets"][0]["name"]
    response = api.call("GET", f"{BASE}/snapshot/{quote(plain)}/5")
    assert api.get(response.headers["Location"])["dataset"] == plain


@pytest.mark.parametrize("step", ODD_STEPS)
def test_odd_steps_are_refused_as_plain_text(api: Api, run_id: str, step: str) -> None:
    for path in (f"{BASE}/python_docs/snapshot/{step}", f"{BASE}/python_docs/compare?from={step}"):
        response = api.call("GET", path)
        assert response.status_code in (404, 422), (step, response.status_code)
        assert isinstance(response.get_json()["error"], str)


def test_an_unknown_step_names_the_nearest(api: Api, run_id: str) -> None:
    response = api.call("GET", f"{BASE}/python_docs/snapshot/9")
    body = response.get_json()
    assert (response.status_code, body["code"]) == (404, "not_found")
    assert "10" in body["hint"]


@pytest.mark.parametrize(
    "path", ["nope/snapshots", "nope/snapshot/1", "nope/examples", "nope/compare", "nope/examples/x"]
)
def test_an_unknown_dataset_is_not_found_in_plain_text(api: Api, run_id: str, path: str) -> None:
    response = api.call("GET", f"{BASE}/{path}")
    assert response.status_code == 404
    assert isinstance(response.get_json()["error"], str)
    assert "python_docs" in response.get_json()["hint"]


def test_a_snapshot_is_paged_sorted_filtered_and_searched(api: Api, run_id: str) -> None:
    path = f"{BASE}/python_docs/snapshot/10"

    def ids(query: str) -> list[str]:
        return [one["example_id"] for one in api.get(f"{path}?{query}")["examples"]]

    assert ids("limit=2&offset=1") == ["ex_0001", "ex_0002"]
    assert ids("sort=-loss&limit=1") == ["ex_0003"]
    assert ids("filter=incorrect") == ["ex_0003"]
    assert ids("q=QUERY%202") == ["ex_0002"]
    for wrong in ("sort=odd", "filter=odd", "limit=0", "offset=-1", "format=xml"):
        response = api.call("GET", f"{path}?{wrong}")
        assert (response.status_code, response.get_json()["field"]) == (422, wrong.split("=")[0])


def test_what_has_not_changed_is_not_sent_again(api: Api, run_id: str) -> None:
    path = f"{BASE}/python_docs/snapshot/10"
    first = api.call("GET", path)
    again = api.call("GET", path, If_None_Match=first.headers["ETag"])
    assert (again.status_code, again.get_data()) == (304, b"")


def test_examples_have_a_trajectory_and_steps_compare(api: Api, run_id: str) -> None:
    assert api.get(f"{BASE}/python_docs/examples?limit=1")["total"] == NUM_EXAMPLES
    way = api.get(f"{BASE}/python_docs/examples/ex_0001")["trajectory"]
    assert [(point["step"], point["exact_match"]) for point in way] == [(0, False), (10, True)]
    counts = api.get(f"{BASE}/python_docs/compare?from=0&to=latest")["counts"]
    assert counts == {"fixed": 2, "broken": 0, "still_right": 1, "still_wrong": 1}


def test_a_snapshot_can_be_downloaded_as_csv(api: Api, run_id: str) -> None:
    response = api.call("GET", f"{BASE}/python_docs/snapshot/10?format=csv")
    assert response.mimetype == "text/csv"
    assert "attachment" in response.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(response.get_data(as_text=True))))
    assert [row["example_id"] for row in rows] == [f"ex_{n:04d}" for n in range(NUM_EXAMPLES)]


def test_a_snapshot_comes_as_a_page_to_keep(api: Api, run_id: str) -> None:
    response = api.call("GET", f"{BASE}/python_docs/snapshot/10?format=html&filter=incorrect")
    assert response.mimetype == "text/html"
    assert "attachment" in response.headers["Content-Disposition"]
    page = response.get_data(as_text=True)
    assert page.count("<article>") == NUM_EXAMPLES - 3
    assert "step 10" in page


def test_a_comparison_comes_as_a_page_to_keep(api: Api, run_id: str) -> None:
    response = api.call("GET", f"{BASE}/python_docs/compare?from=0&to=10&format=html")
    assert "attachment" in response.headers["Content-Disposition"]
    assert "2 fixed, 0 broken, 1 still right, 1 still wrong" in response.get_data(as_text=True)


def test_single_examples_of_a_snapshot_are_told_in_the_order_asked(api: Api, run_id: str) -> None:
    path = f"{BASE}/python_docs/snapshot/10"
    found = api.get(f"{path}?rows=3,0")
    assert [one["index"] for one in found["examples"]] == [3, 0]
    assert [one["index"] for one in api.get(f"{path}?rows=3,0&filter=incorrect")["examples"]] == [3]
    assert [one["index"] for one in api.get(f"{path}?rows=3,0&sort=loss")["examples"]] == [0, 3]
    for wrong in ("rows=4", "rows=-1", "rows=a", "rows=", "rows=0,,1", "rows=" + "1," * 5000 + "1"):
        response = api.call("GET", f"{path}?{wrong}")
        assert response.status_code == 422, wrong
        assert isinstance(response.get_json()["error"], str)


def test_short_texts_are_those_a_list_shows(api: Api, run_id: str) -> None:
    report_snapshot(api, run_id, 20, num_correct=1, document="D" * 1_000, probe_set="q" * 16)
    path = f"{BASE}/python_docs/snapshot/20?rows=1"
    whole, short = api.get(path)["examples"][0], api.get(f"{path}&texts=short")["examples"][0]
    assert len(whole["model_output"]) == 1_000
    assert short["model_output"] == "D" * 300 + "…"
    assert short.keys() == whole.keys()
    assert short["example_id"] == whole["example_id"]


def test_examples_are_filtered_and_ordered_by_the_step_asked_for(api: Api, run_id: str) -> None:
    def ids(query: str) -> list[str]:
        return [one["example_id"] for one in api.get(f"{BASE}/python_docs/examples?{query}")["examples"]]

    assert ids("step=0&filter=correct") == ["ex_0000"]
    assert ids("filter=correct") == ids("step=latest&filter=correct") == ["ex_0000", "ex_0001", "ex_0002"]
    assert ids("step=10&filter=incorrect") == ["ex_0003"]
    assert ids("step=0&sort=rank") == ["ex_0000", "ex_0001", "ex_0002", "ex_0003"]
    assert ids("step=10&sort=-rank")[0] == "ex_0003"
    first = api.get(f"{BASE}/python_docs/examples?step=0&filter=correct")
    assert (first["total"], first["counts"]["learned"], first["examples"][0]["right"]) == (1, 1, "11")
    for wrong, status in (("step=7", 404), ("step=x", 422), ("filter=odd", 422)):
        assert api.call("GET", f"{BASE}/python_docs/examples?{wrong}").status_code == status


def test_a_step_that_asked_other_examples_is_refused_with_those_that_asked_the_same(
    api: Api, run_id: str
) -> None:
    report_snapshot(api, run_id, 20, num_correct=1, probe_set="q" * 16)
    response = api.call("GET", f"{BASE}/python_docs/examples?step=0&filter=correct")
    assert response.status_code == 422
    assert "20" in response.get_json()["hint"]


def test_first_and_best_are_meant_among_those_that_asked_the_same(api: Api, run_id: str) -> None:
    report_snapshot(api, run_id, 20, num_correct=1, probe_set="q" * 16)
    report_snapshot(api, run_id, 30, num_correct=2, probe_set="q" * 16)
    report_snapshot(api, run_id, 40, num_correct=1, probe_set="q" * 16)
    steps = {
        name: api.get(f"{BASE}/python_docs/snapshot/{name}")["training_step"] for name in ("first", "best")
    }
    assert steps == {"first": 20, "best": 30}
    assert api.get(f"{BASE}/python_docs/compare?from=first&to=best")["from"]["step"] == 20
    (dataset,) = api.get(f"{BASE}/datasets")["datasets"]
    assert (dataset["first_step"], dataset["best_step"]) == (0, 30)
    listed = api.get(f"{BASE}/python_docs/snapshots")["snapshots"]
    assert [one["probe_set"] for one in listed if one["step"] >= 20] == ["q" * 16] * 3


def rows_of(api: Api, path: str) -> list[dict[str, str]]:
    """A download as rows."""
    response = api.call("GET", f"{BASE}/{path}")
    assert (response.status_code, response.mimetype) == (200, "text/csv")
    return list(csv.DictReader(io.StringIO(response.get_data(as_text=True))))


def test_examples_and_comparisons_can_be_downloaded_as_csv(api: Api, run_id: str) -> None:
    examples = rows_of(api, "python_docs/examples?format=csv&sort=-index")
    assert [row["example_id"] for row in examples] == [f"ex_{n:04d}" for n in reversed(range(NUM_EXAMPLES))]
    assert (examples[2]["category"], examples[2]["learned_at"], examples[2]["right"]) == (
        "learned",
        "10",
        "01",
    )
    compared = rows_of(api, "python_docs/compare?format=csv")
    assert [row["outcome"] for row in compared] == ["fixed", "fixed", "still_right", "still_wrong"]
    assert (compared[0]["from_exact_match"], compared[0]["to_exact_match"]) == ("False", "True")


@pytest.mark.parametrize(
    "path", ["examples", "examples/ex_0001", "dynamics", "compare", "examples?format=csv"]
)
def test_no_reading_is_sent_twice(api: Api, run_id: str, path: str) -> None:
    first = api.call("GET", f"{BASE}/python_docs/{path}")
    again = api.call("GET", f"{BASE}/python_docs/{path}", If_None_Match=first.headers["ETag"])
    assert (first.status_code, again.status_code) == (200, 304)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("examples?category=lost", "category"),
        ("examples?sort=colour", "sort"),
        ("examples?limit=1001", "limit"),
        ("examples?texts=none", "texts"),
        ("compare?sort=colour", "sort"),
        ("compare?from=x", "from"),
        ("compare?format=xml", "format"),
    ],
)
def test_a_wrong_wish_names_its_field(api: Api, run_id: str, path: str, field: str) -> None:
    response = api.call("GET", f"{BASE}/python_docs/{path}")
    assert (response.status_code, response.get_json()["field"]) == (422, field)


def test_a_comparison_with_a_run_that_is_not_there_is_not_found(api: Api, run_id: str) -> None:
    response = api.call("GET", f"{BASE}/python_docs/compare?run_to=nobody")
    assert response.status_code == 404


@pytest.mark.parametrize("path", ["examples", "compare", "snapshot/10"])
def test_parquet_is_written_where_it_can_be_and_else_told_how_to_get(
    api: Api, run_id: str, path: str
) -> None:
    response = api.call("GET", f"{BASE}/python_docs/{path}?format=parquet")
    if importlib.util.find_spec("pyarrow") is None:
        assert (response.status_code, response.get_json()["field"]) == (422, "format")
        assert "pip install pyarrow" in response.get_json()["hint"]
        return
    parquet = importlib.import_module("pyarrow.parquet")
    rows = parquet.read_table(io.BytesIO(response.get_data())).to_pylist()
    assert {row["example_id"] for row in rows} == {f"ex_{n:04d}" for n in range(NUM_EXAMPLES)}
