"""The real dashboard is killed while it takes datasets from the inbox; every one is taken once."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.dashboard import Dashboard
from tests.waiting import wait_for

NUM_GOOD, NUM_KILLS, SEED = 6, 4, 20
SETTLED = {"queued", "training", "failed", "duplicate"}
IDLE = {"params": {"num_epochs": 10_000, "device": "cpu"}}


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Dashboard]:
    """A dashboard that takes what is dropped, and runs one thing at a time."""
    instance = tmp_path / "instance"
    (instance / "inbox").mkdir(parents=True)
    dashboard = Dashboard(instance, max_runs=1, SIGNALBOX_INBOX="on")
    try:
        yield dashboard
    finally:
        dashboard.close()


def text(word: str) -> str:
    lines = [{"query": f"{word}{n} one", "document": f"{word}{n} two"} for n in range(50)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def drop(inbox: Path) -> Counter[str]:
    """Good files, a twin of one, a broken one; the hashes of their contents with how often they occur."""
    contents = {f"good{n}.jsonl": text(f"g{n}_") for n in range(NUM_GOOD)}
    contents |= {"twin.jsonl": contents["good0.jsonl"], "broken.csv": "nothing\n"}
    for name, content in contents.items():
        (inbox / f"{name}.json").write_text(json.dumps(IDLE))
        (inbox / name).write_text(content)
    return Counter(hashlib.sha256(content.encode()).hexdigest() for content in contents.values())


def items_of(dashboard: Dashboard) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = dashboard.get("/api/inbox")["items"]
    return items


def test_a_dashboard_killed_again_and_again_neither_loses_nor_doubles_a_dataset(taking: Dashboard) -> None:
    wanted = drop(taking.instance / "inbox")
    chance = random.Random(SEED)
    for _ in range(NUM_KILLS):
        taking.start()
        known = sum(one["state"] in SETTLED for one in items_of(taking))
        deadline = time.monotonic() + chance.uniform(2.0, 4.5)
        wait_for(
            lambda: (
                time.monotonic() > deadline  # noqa: B023 - used at once
                or sum(one["state"] in SETTLED for one in items_of(taking)) > known + 2  # noqa: B023
            ),
            what="moment of the kill",
        )
        taking.kill_server()
    taking.start()
    num_items = NUM_GOOD + 2

    def settled() -> list[dict[str, Any]] | None:
        found = items_of(taking)
        done = len(found) == num_items and all(one["state"] in SETTLED for one in found)
        return found if done else None

    found = wait_for(settled, what=lambda: f"end of taking: {items_of(taking)}")
    by_state = Counter(one["state"] for one in found)
    assert by_state["duplicate"] == 1
    assert by_state["failed"] == 1
    runs = taking.get("/api/runs?limit=100")["runs"]
    assert len(runs) == NUM_GOOD
    assert sorted(one["run"]["id"] for one in found if one["run"]) == sorted(run["id"] for run in runs)
    kept = [
        path
        for path in taking.instance.rglob("*")
        if path.suffix in (".jsonl", ".csv") and "runs" not in path.relative_to(taking.instance).parts
    ]
    assert Counter(hashlib.sha256(path.read_bytes()).hexdigest() for path in kept) == wanted
    taken = taking.instance / "inbox" / ".taken"
    wait_for(lambda: not list(taken.iterdir()), what="end of clearing up")
