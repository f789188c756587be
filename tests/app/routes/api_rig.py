"""An application in this process with a real store, and stored runs to ask it about."""

from __future__ import annotations

import gzip
import json
import time
from array import array
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy.orm import Session
from werkzeug.test import TestResponse

from app.config import Settings
from app.container import EXTENSION, Container
from app.domain.callers import Scope
from app.domain.run_states import RunState
from app.factory import create_app
from app.services.access import issue_api_token
from app.store import runs as run_rows
from tests.app.fresh_database import fresh_database
from tests.app.services.run_rig import NotingLauncher
from trainer.protocol.batches import Batch, Block
from trainer.protocol.events import Stream

NUM_EXAMPLES = 4


@dataclass
class Api:
    """A client with an owner's token, and the parts behind it."""

    app: APIFlask
    parts: Container
    client: FlaskClient
    token: str

    def call(self, method: str, path: str, body: object = None, **headers: str) -> TestResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.open(
            path,
            method=method,
            json=body,
            base_url=self.parts.settings.base_url,
            headers={"Authorization": f"Bearer {self.token}", **named},
        )

    def get(self, path: str) -> Any:
        response = self.call("GET", path)
        assert response.status_code == 200, response.get_data(as_text=True)
        return response.get_json()

    def new_run(self, **fields: Any) -> str:
        response = self.call("POST", "/api/runs", {"recipe": "two_tower", "dataset": "python_docs", **fields})
        assert response.status_code == 201, response.get_data(as_text=True)
        return str(response.get_json()["id"])

    def move(self, run_id: str, *states: RunState) -> None:
        for state in states:
            self.parts.store.write(partial(_move, run_id=run_id, new=state))


def _move(session: Session, *, run_id: str, new: RunState) -> None:
    run_rows.transition(session, run_id, new=new)


def open_api(folder: Path) -> Api:
    """An application on a fresh instance; only its store runs, so nothing is launched."""
    settings = Settings(
        instance=folder,
        database_url=f"sqlite:///{folder / 'signalbox.db'}",
        dataset_roots=(folder / "datasets", folder / "inbox"),
    )
    for root in settings.dataset_roots:
        root.mkdir(parents=True, exist_ok=True)
    fresh_database(folder / "signalbox.db")
    app = create_app(settings, launcher=NotingLauncher())
    parts: Container = app.extensions[EXTENSION]
    parts.store.start()
    token = parts.store.write(
        lambda session: issue_api_token(session, scope=Scope.OWNER, label="test", now=time.time())
    )
    return Api(app, parts, app.test_client(), token)


def report_points(api: Api, run_id: str, values: list[float], *, name: str = "train/loss") -> None:
    """Store one series as a supervisor would ship it."""
    count = len(values)
    block = Block(
        attempt=1,
        names=[name],
        steps=array("q", range(1, count + 1)),
        times=array("d", [1000.0 + n for n in range(count)]),
        values=[array("d", values)],
    )
    have = api.parts.ingest.hello(run_id, attempt=1)["trainer"]
    api.parts.ingest.accept(Batch(run_id, Stream.TRAINER, have + 1, have + count, [block]))


def report_snapshot(
    api: Api,
    run_id: str,
    step: int,
    *,
    num_correct: int,
    dataset: str = "python_docs",
    document: str = "text",
    probe_set: str = "p" * 16,
) -> None:
    """Store one snapshot as a supervisor would upload it."""
    examples = [
        {
            "example_id": f"ex_{n:04d}",
            "input": f"query {n}",
            "expected_output": f"doc {n}",
            "group": "g",
            "gold": f"d{n}",
        }
        for n in range(NUM_EXAMPLES)
    ]
    columns = {
        "loss": [0.5 + n for n in range(NUM_EXAMPLES)],
        "correct": [1.0 if n < num_correct else 0.0 for n in range(NUM_EXAMPLES)],
        "rank": [1.0 if n < num_correct else 2.0 for n in range(NUM_EXAMPLES)],
    }
    outputs = [{"top": [[f"d{n if n < num_correct else 0}", 0.9]]} for n in range(NUM_EXAMPLES)]
    content = {
        "format": 1,
        "task": "retrieval",
        "dataset": dataset,
        "step": step,
        "epoch": 0.5,
        "t": 1000.0 + step,
        "model_version": "test",
        "probe_set": probe_set,
        "cost_s": 0.1,
        "columns": columns,
        "outputs": outputs,
        "documents": {f"d{n}": {"title": f"doc {n}", "text": document} for n in range(NUM_EXAMPLES)},
        "probes": {"hash": probe_set, "examples": examples},
        "summary": {
            "avg_loss": 2.0,
            "accuracy": num_correct / NUM_EXAMPLES,
            "total_examples": NUM_EXAMPLES,
            "correct": num_correct,
            "incorrect": NUM_EXAMPLES - num_correct,
        },
    }
    api.parts.ingest.accept_snapshot(run_id, gzip.compress(json.dumps(content).encode()))
