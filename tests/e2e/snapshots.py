"""Snapshots that are made up, so that what a page shows can be foretold, but uploaded as a supervisor does.

``Made`` are many examples of a model that learns.  Each has a fate: learned at
some step, never, forgotten again, changing its mind, or with a loss that falls
without being right; losses and ranks follow from it.  ``retrieval``,
``classification``, ``language`` and ``odd`` tell the way of one or two
examples of a kind of task at ``EXAMPLE_STEPS``.  A run has one snapshot a
step: the tasks take turns, so that one run can have them all.
"""

from __future__ import annotations

import gzip
import json
import math
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
EXAMPLE_STEPS: Final = (100, 110, 125, 150, 200, 250)
HOSTILE: Final = (
    "<img src=x onerror=alert(1)><script>alert(2)</script> \x1b[31mred\x1b[0m \u202egnp.exe\u202c \x00end"
)
LABELS: Final = (
    "argparse", "ast", "base64", "csv", "datetime", "heapq", "json", "pathlib", "queue", "random",
)  # fmt: skip
COMPLETIONS: Final = (
    "the the the the", "Return a list.", "Return a list.", "Return a list of the names.",
    "Return a sorted list of the names.", "Return a sorted list of names.",
)  # fmt: skip
REFERENCE: Final = ("Return", " a", " sorted", " list", " of", " names", ".")


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


def snapshot(
    step: int,
    *,
    task: str,
    dataset: str,
    probes: Sequence[dict[str, Any]],
    outputs: Sequence[dict[str, Any]],
    columns: dict[str, list[float | None]],
    documents: dict[str, dict[str, str]] | None = None,
) -> dict[str, Any]:
    """A snapshot file of a few probes."""
    right = sum(1 for one in columns["correct"] if one)
    examples = [{"group": "a group", "gold": None, **probe} for probe in probes]
    name = f"{dataset}-{task}"[:60]
    return {
        "format": 1, "task": task, "dataset": dataset, "step": step, "epoch": step / 100, "t": 1.7e9 + step,
        "attempt": 1, "model_version": f"m@{step}", "probe_set": name, "cost_s": 0.1,
        "probes": {"hash": name, "examples": examples}, "outputs": list(outputs), "columns": columns,
        "documents": documents or {},
        "summary": {"accuracy": right / len(examples), "total_examples": len(examples), "correct": right},
    }  # fmt: skip


def retrieval(dataset: str, at: int) -> dict[str, Any]:
    """Snapshot number ``at``: the right document climbs from rank 40 to 1, others come and go."""
    rank = (40, 12, 8, 3, 1, 1)[at]
    titles = [f"d{(number * 7 + at * (number % 3)) % 24}" for number in range(14)]
    top = [name for name in dict.fromkeys(titles) if name != "gold"][:10]
    if rank <= 10:
        top = [*top[: rank - 1], "gold", *top[rank - 1 : 9]]
    documents = {name: {"title": f"module.function_{name}", "text": f"Text of {name}."} for name in top}
    documents["gold"] = {"title": "heapq.merge", "text": "Merge multiple sorted inputs into one."}
    return snapshot(
        EXAMPLE_STEPS[at], task="retrieval", dataset=dataset, documents=documents,
        probes=[
            {"example_id": "ex_0000", "input": "Merge sorted inputs", "expected_output": "heapq.merge",
             "gold": "gold", "group": "heapq"},
            {"example_id": "ex_0001", "input": "Another question", "expected_output": "gone", "gold": "gone"},
        ],
        outputs=[{"top": [[name, 0.9 - 0.05 * place] for place, name in enumerate(top)]},
                 {"top": [["gold", None]]}],
        columns={"loss": [math.log(1 + rank), 3.0], "correct": [float(rank == 1), 0.0],
                 "rank": [float(rank), 30.0], "score": [0.9, 0.1], "margin": [0.1, -0.1]},
    )  # fmt: skip


def classification(dataset: str, at: int) -> dict[str, Any]:
    """Snapshot number ``at``: taken for json, then for csv, then for what it is, heapq."""
    sure = (0.08, 0.12, 0.2, 0.45, 0.8, 0.92)[at]
    wrong = "json" if at < 2 else "csv"
    rest = [label for label in LABELS if label not in ("heapq", wrong)]
    left = (1 - sure) * 0.6
    others = [(label, (1 - sure - left) / len(rest)) for label in rest]
    shares = sorted([("heapq", sure), (wrong, left), *others], key=lambda one: -one[1])
    return snapshot(
        EXAMPLE_STEPS[at] + 1, task="classification", dataset=dataset,
        probes=[{"example_id": "ex_0000", "input": "Merge sorted inputs", "expected_output": "heapq"}],
        outputs=[{"output": shares[0][0], "probabilities": shares}],
        columns={"loss": [-math.log(sure)], "correct": [float(shares[0][0] == "heapq")], "score": [sure]},
    )  # fmt: skip


def language(dataset: str, at: int) -> dict[str, Any]:
    """Snapshot number ``at``: completions that come closer, tokens that gain; one loses."""
    values = [-6.0 + at * (0.5 + 0.1 * place) for place in range(len(REFERENCE))]
    if at == len(EXAMPLE_STEPS) - 1:
        values[1] = -9.0
    text = COMPLETIONS[at]
    return snapshot(
        EXAMPLE_STEPS[at] + 2, task="causal_lm", dataset=dataset,
        probes=[{"example_id": "ex_0000", "input": "def names(): ", "expected_output": "".join(REFERENCE)}],
        outputs=[{"output": text, "is_cut": at == 0,
                  "tokens": [list(pair) for pair in zip(REFERENCE, values, strict=True)]}],
        columns={"loss": [-sum(values) / len(values)], "correct": [float(text == "".join(REFERENCE))],
                 "similarity": [at / 5]},
    )  # fmt: skip


def odd(dataset: str, at: int) -> dict[str, Any]:
    """Snapshot number ``at`` of somebody's own script: hostile texts, one of a megabyte, missing losses."""
    return snapshot(
        EXAMPLE_STEPS[at] + 3, task="script", dataset=dataset,
        probes=[
            {"example_id": f"<b>{HOSTILE[:40]}", "input": HOSTILE, "expected_output": "word " * 200_000,
             "group": "<i>group</i>"},
            {"example_id": "folder/plain?&#%", "input": "", "expected_output": ""},
        ],
        outputs=[{"text": {3: HOSTILE, 4: "x" * 1_000_000}.get(at, f"answer {at}")}, {"text": ""}],
        columns={"loss": [None if at in (0, 2) else 1.0 / (at + 1), None], "correct": [0.0, 1.0]},
    )  # fmt: skip
