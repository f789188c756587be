"""Snapshots of a model that learns, made up but uploaded as a supervisor uploads them.

Each example has a fate: learned at some step, never, forgotten again, changing
its mind, or with a loss that falls without being right.  Steps, losses and
ranks follow from it, so that what a page shows can be foretold.
"""

from __future__ import annotations

import gzip
import json
import random
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.e2e.dashboard import Dashboard

FATES: Final = ("learned", "struggling", "not_learned", "forgotten", "flip_flopping")
WORDS: Final = (
    *("open", "close", "read", "write", "seek", "path", "file", "line"),
    *("byte", "text", "join", "split", "sort", "copy", "move", "hash"),
)


@dataclass(frozen=True)
class Made:
    """Which snapshots to make up: ``num_examples`` probes, one snapshot at each of ``steps``."""

    dataset: str
    num_examples: int
    steps: Sequence[int]
    seed: int = 0

    def fate(self, example: int) -> str:
        """What becomes of an example; the five fates take turns."""
        return FATES[example % len(FATES)]

    def is_right(self, example: int, index: int) -> bool:
        """Whether it is right in the snapshot at ``index``."""
        share = index / max(1, len(self.steps) - 1)
        match self.fate(example):
            case "learned":
                return share >= 0.2 + 0.6 * (example % 7) / 7
            case "forgotten":
                return 0.3 <= share < 0.8
            case "flip_flopping":
                return index % 2 == 1
        return False

    def examples(self) -> list[dict[str, Any]]:
        """The probes."""
        return [
            {
                "example_id": f"ex_{n:05d}",
                "input": f"How do I {WORDS[n % 16]} and {WORDS[n // 16 % 16]} number {n}? "
                + "It matters. " * (n % 9),
                "expected_output": f"doc {n}",
                "group": f"module {n % 4}",
                "gold": f"d{n}",
            }
            for n in range(self.num_examples)
        ]  # fmt: skip

    def content(self, index: int) -> dict[str, Any]:
        """The snapshot at ``steps[index]``, as a trainer writes it."""
        chance = random.Random(self.seed * 1_000 + index)
        right = [self.is_right(n, index) for n in range(self.num_examples)]
        falls = [self.fate(n) != "not_learned" for n in range(self.num_examples)]
        loss = [
            (0.1 if one else 3.0 - (1.5 * index / len(self.steps) if fall else 0.0)) + chance.random() / 10
            for one, fall in zip(right, falls, strict=True)
        ]
        rank = [1.0 if one else float(chance.randint(2, 50)) for one in right]
        total = self.num_examples
        probe_set = f"{self.dataset}-{total}-{self.seed}"[-64:]
        documents = {f"d{n}": {"title": f"doc {n}", "text": f"text {n}"} for n in range(total)}
        return {
            "format": 1, "task": "retrieval", "dataset": self.dataset, "step": self.steps[index],
            "epoch": self.steps[index] / 100, "t": 1_700_000_000.0 + index, "model_version": f"made@{index}",
            "probe_set": probe_set, "cost_s": 0.05,
            "columns": {
                "loss": loss, "correct": [float(one) for one in right], "rank": rank,
                "score": [1.0 - value / 4 for value in loss],
            },
            "outputs": [
                {"top": [[f"d{n if one else (n + 1 + index) % total}", 0.9], [f"d{(n + 2) % total}", 0.5]]}
                for n, one in enumerate(right)
            ],
            "documents": documents if index == 0 else {},
            "probes": {"hash": probe_set, "examples": self.examples()},
            "summary": {
                "avg_loss": sum(loss) / total, "accuracy": sum(right) / total, "total_examples": total,
                "correct": sum(right), "incorrect": total - sum(right),
                "recall@10": sum(one <= 10 for one in rank) / total, "num_candidates": total,
            },
        }  # fmt: skip

    def contents(self) -> Iterator[dict[str, Any]]:
        """All of them by step."""
        return map(self.content, range(len(self.steps)))


def upload(url: str, token: str, run_id: str, content: dict[str, Any]) -> None:
    """PUT one snapshot file with the run's own token."""
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{url}/api/uplink/runs/{run_id}/snapshots/{content['step']}",
        method="PUT",
        data=gzip.compress(json.dumps(content).encode(), 1),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/gzip"},
    )
    with urllib.request.urlopen(request, timeout=120) as response:  # noqa: S310
        assert response.status == 204


def upload_to(dashboard: Dashboard, run_id: str, content: dict[str, Any]) -> None:
    """The same for a run of a dashboard, whose token lies in its folder."""
    token = dashboard.paths(run_id).token.read_text("ascii").strip()
    upload(dashboard.url, token, run_id, content)


def short_run(dashboard: Dashboard, *, name: str) -> str:
    """A real run that has ended, to hang snapshots on."""
    run_id = dashboard.create_run("stdlib.jsonl", name=name, max_steps=2)
    dashboard.wait_for_state(run_id, "finished", timeout_s=120)
    return run_id
