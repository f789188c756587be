"""Datasets over REST: upload, look over, register, train on, compare, delete; with real processes."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.callers import Scope
from app.domain.run_states import RunState
from app.services.access import issue_api_token
from app.services.dataset_uploads import Uploads
from app.store import runs as run_rows
from tests.app.routes.api_rig import Api, open_api
from tests.app.rows import store_running

ODD = '"",Question Text,The Answer\n' + "".join(f"{n},how to do {n},call thing_{n}\n" for n in range(20))
MAPPED = {"query": "Question Text", "document": "The Answer"}

pytestmark = pytest.mark.process


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Api]:
    api = open_api(tmp_path)
    api.parts.datasets.inspections.start()
    yield api
    api.parts.datasets.inspections.close()
    api.parts.store.close()


def upload(api: Api, name: str, content: bytes, *, code: int = 201) -> Any:
    response = api.client.open(
        "/api/datasets/uploads",
        method="POST",
        query_string={"name": name},
        input_stream=io.BytesIO(content),
        content_type="application/octet-stream",
        content_length=len(content),
        base_url=api.parts.settings.base_url,
        headers={"Authorization": f"Bearer {api.token}"},
    )
    assert response.status_code == code, response.get_data(as_text=True)
    return response.get_json()


def post(api: Api, path: str, body: object, *, code: int = 200) -> Any:
    response = api.call("POST", path, body)
    assert response.status_code == code, response.get_data(as_text=True)
    return response.get_json()


def test_an_upload_is_mapped_registered_and_trained_on_by_name(desk: Api) -> None:
    sent = upload(desk, "../My Odd.csv", ODD.encode())
    assert sent["name"] == "My_Odd.csv"
    told = post(desk, "/api/datasets/inspect", {"upload": sent["upload"], "quick": True})
    assert told["kind"] == "pairs"
    assert told["mapping"] == MAPPED
    wish = {"name": "odd", "upload": sent["upload"], "kind": "pairs", "columns": MAPPED}
    made = post(desk, "/api/datasets", wish, code=201)
    assert (made["dataset"], made["num_rows"], made["is_copy"]) == ("odd@1", 20, True)
    assert list((desk.parts.settings.datasets_dir / "uploads").iterdir()) == []
    listed = [one for one in desk.get("/api/datasets")["datasets"] if one["kind"] == "registered"]
    assert [(one["name"], one["holds"], one["recipes"]) for one in listed] == [
        ("odd", "pairs", ["two_tower"])
    ]
    run = desk.get(f"/api/runs/{desk.new_run(dataset='odd')}")
    assert (run["dataset"], run["columns"], run["dataset_hash"]) == (made["path"], MAPPED, None)
    shown = desk.get("/api/datasets/odd")
    assert [one["id"] for one in shown["runs"]] == [run["id"]]
    assert desk.call("DELETE", "/api/datasets/odd").status_code == 409
    desk.move(run["id"], RunState.STOPPED)
    clone = post(desk, f"/api/runs/{run['id']}/clone", {}, code=201)
    assert clone["columns"] == MAPPED
    desk.move(clone["id"], RunState.STOPPED)
    assert desk.call("DELETE", "/api/datasets/odd").status_code == 204
    assert desk.call("GET", "/api/datasets/odd").status_code == 404
    assert desk.get(f"/api/runs/{run['id']}/dataset")["status"] == "gone"


def test_a_file_that_changes_gets_a_version_and_its_run_is_told_so(desk: Api) -> None:
    path = desk.parts.settings.datasets_dir / "odd.csv"
    path.write_text(ODD)
    wish = {"name": "odd", "path": "odd.csv", "kind": "pairs", "columns": MAPPED}
    first = post(desk, "/api/datasets", wish, code=201)
    assert post(desk, "/api/datasets", wish)["version"] == 1
    run_id = desk.new_run(dataset="odd@1")
    assert desk.get(f"/api/runs/{run_id}/dataset")["status"] == "unknown"
    desk.move(run_id, RunState.STARTING)
    desk.parts.store.write(lambda session: _has_read(session, run_id, first["content_hash"]))
    os.utime(path)
    told = desk.get(f"/api/runs/{run_id}/dataset")
    assert (told["status"], told["registered"]["dataset"]) == ("touched", "odd@1")
    assert post(desk, f"/api/runs/{run_id}/dataset/check", {})["status"] == "same"
    path.write_text(ODD + "20,one more,answer\n")
    refused = post(desk, "/api/runs", {"recipe": "two_tower", "dataset": "odd"}, code=422)["error"]
    assert refused["message"] == "odd@1: the file has changed since (odd.csv)"
    assert post(desk, f"/api/runs/{run_id}/dataset/check", {})["status"] == "changed"
    assert post(desk, "/api/datasets", wish, code=201)["dataset"] == "odd@2"
    assert desk.get(f"/api/runs/{run_id}/dataset")["status"] == "changed"
    assert [one["version"] for one in desk.get("/api/datasets/odd")["versions"]] == [2, 1]


def _has_read(session: Any, run_id: str, content_hash: str) -> None:
    run_rows.touch(session, run_id, dataset_hash=content_hash, dataset_counts={"pairs": 20})


def test_two_datasets_are_compared(desk: Api) -> None:
    folder = desk.parts.settings.datasets_dir
    (folder / "train.csv").write_text("query,document\na b,x\nc,y\nd,z\n")
    (folder / "later.jsonl").write_text(
        '{"query": "A  B!", "document": "x"}\n{"query": "new", "document": "w"}\n'
    )
    for name, file in (("train", "train.csv"), ("later", "later.jsonl")):
        post(desk, "/api/datasets", {"name": name, "path": file}, code=201)
    found = post(desk, "/api/datasets/overlap", {"train": "train", "validation": "later"})
    assert found["rows"] == {"train": 3, "validation": 2}
    assert {role: one["count"] for role, one in found["shared"].items()} == {
        "query": 1,
        "document": 1,
        "row": 1,
    }
    assert found["shared"]["query"]["examples"] == [{"train": 2, "validation": 1, "text": "A  B!"}]


def test_lengths_are_counted_in_tokens_of_a_model_trained_here(desk: Api) -> None:
    settings = desk.parts.settings
    (settings.datasets_dir / "good.csv").write_text("query,document\na b c,d e\nf,g\n")
    vocabulary = {"[UNK]": 0, "a": 1, "b": 2}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    told = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    for run_id in ("run-1", "run-2"):
        export = settings.runs_dir / run_id / "export"
        export.mkdir(parents=True)
        (export / "tokenizer.json").write_text(json.dumps(told))
    store_running(desk.parts.store, "run-2", name="the classifier")
    listed = desk.call("GET", "/api/datasets/tokenizers").get_json()["tokenizers"]
    assert [(one["run"], one["name"]) for one in listed] == [("run-2", "the classifier"), ("run-1", "run-1")]
    wish = {"path": "good.csv", "kind": "pairs", "tokenizer": listed[0]["path"]}
    lengths = post(desk, "/api/datasets/inspect", wish)["statistics"]["lengths"]
    assert lengths["query"]["tokens"]["max"] == 3


REFUSED = {
    "both sources": ({"upload": "0" * 32, "path": "a.csv"}, 422, "path"),
    "no source": ({}, 422, "path"),
    "an unknown upload": ({"upload": "0" * 32}, 404, None),
    "an upload out of the folder": ({"upload": "../../etc"}, 404, None),
    "a path out of the folders": ({"path": "/etc/passwd.csv"}, 422, "path"),
    "a link out of the folders": ({"path": "out.csv"}, 422, "path"),
    "a device": ({"path": "/dev/zero"}, 422, "path"),
    "an unknown kind": ({"path": "good.csv", "kind": "nope"}, 422, "kind"),
    "an unknown role": ({"path": "good.csv", "kind": "pairs", "columns": {"nope": "a"}}, 422, "columns"),
    "a tokenizer elsewhere": ({"path": "good.csv", "tokenizer": "/etc/tokenizer.json"}, 422, "tokenizer"),
}


@pytest.mark.parametrize(("body", "code", "field"), REFUSED.values(), ids=REFUSED)
def test_what_may_not_be_looked_at_is_refused(
    desk: Api, tmp_path: Path, body: dict[str, Any], code: int, field: str | None
) -> None:
    folder = desk.parts.settings.datasets_dir
    (folder / "good.csv").write_text(ODD)
    (tmp_path / "secret.csv").write_text(ODD)
    (folder / "out.csv").symlink_to(tmp_path / "secret.csv")
    error = post(desk, "/api/datasets/inspect", body, code=code)["error"]
    assert error.get("field") == field


def test_a_file_that_cannot_be_trained_on_gets_no_name(desk: Api) -> None:
    sent = upload(desk, "bad.jsonl", b'{"query": "a", "document": "b"}\n{"query": "c"}\n')
    error = post(desk, "/api/datasets", {"name": "bad", "upload": sent["upload"]}, code=422)["error"]
    assert error["message"] == (
        "bad.jsonl, line 2, column document: is missing; the columns are 'query'. "
        "Rename one, or choose the column for document"
    )
    (desk.parts.settings.datasets_dir / "a.csv").write_text("query,document\na,b\nc,d\n")
    error = post(desk, "/api/datasets", {"name": "python_docs", "path": "a.csv"}, code=422)["error"]
    assert (error["field"], error["message"]) == ("name", "python_docs is built in")


def test_uploads_are_bounded_and_named_harmlessly(tmp_path: Path) -> None:
    api = open_api(tmp_path)
    try:
        assert "unknown ending" in upload(api, "a.exe", b"x", code=422)["error"]["message"]
        assert upload(api, "a.csv", b"", code=422)["error"]["message"] == "the file is empty"
        api.parts.datasets.uploads = Uploads(replace(api.parts.settings, max_upload_mib=1))
        too_large = upload(api, "a.csv", bytes(1024 * 1024 + 1), code=413)["error"]
        assert too_large["message"] == "the file may have at most 1 MiB"
        assert list((tmp_path / "datasets" / "uploads").glob("*/*")) == []
    finally:
        api.parts.store.close()


def test_a_viewer_may_look_at_the_list_and_change_nothing(desk: Api) -> None:
    token = desk.parts.store.write(
        lambda session: issue_api_token(session, scope=Scope.VIEWER, label="v", now=0.0)
    )
    asked = {
        "list": ("GET", "/api/datasets"),
        "register": ("POST", "/api/datasets"),
        "inspect": ("POST", "/api/datasets/inspect"),
        "upload": ("POST", "/api/datasets/uploads"),
        "overlap": ("POST", "/api/datasets/overlap"),
        "delete": ("DELETE", "/api/datasets/x"),
    }
    headers = {"Authorization": f"Bearer {token}"}
    base_url = desk.parts.settings.base_url
    answers = {
        word: desk.client.open(path, method=method, json={}, base_url=base_url, headers=headers).status_code
        for word, (method, path) in asked.items()
    }
    assert answers.pop("list") == 200
    assert set(answers.values()) == {403}


def test_nothing_is_looked_over_while_the_server_is_not_running(tmp_path: Path) -> None:
    api = open_api(tmp_path)
    try:
        (api.parts.settings.datasets_dir / "a.csv").write_text(ODD)
        error = post(api, "/api/datasets/inspect", {"path": "a.csv"}, code=409)["error"]
        assert error["message"] == "the server is starting or ending"
    finally:
        api.parts.store.close()
