"""What reading an evolution costs: snapshots, one example's way, comparisons, lists; and its disk.

The dashboard is a real process; requests go over one kept connection, and the
clock stops when the whole body is here.  Every snapshot that is asked for is
another one, so no answer has been given before.  The reference, in the same
run, is the cheapest request there is.

Run: ``python -m benchmarks.evolution_read [--requests 200] [--snapshots 500] [--output FILE]``
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from app.store.engine import Store
from benchmarks.evolution_rig import LanguageModel, Retriever, as_original_json, as_same_json, store_snapshots
from benchmarks.server_process import ServerProcess, add_run, machine

NUM_PROBES, NUM_LANGUAGE_PROBES = 1_000, 100
NUM_MANY, SNAPSHOTS_OF_MANY = 10_000, 50
_AT_ONCE = 5  # snapshots per commit while filling


class Row(NamedTuple):
    """One kind of request: what it is, how long each took in milliseconds, and what is to be reached."""

    name: str
    taken_ms: list[float]
    num_bytes: int
    target: str


def fill(server: ServerProcess, *, num_snapshots: int) -> dict[str, list[int]]:
    """Store the snapshots of three runs; the steps of each dataset."""
    models: dict[str, tuple[Retriever | LanguageModel, int]] = {
        "towers": (Retriever(NUM_PROBES, dataset="towers"), num_snapshots),
        "language": (LanguageModel(NUM_LANGUAGE_PROBES, dataset="language"), num_snapshots),
        "many": (Retriever(NUM_MANY, dataset="many", seed=1), SNAPSHOTS_OF_MANY),
    }
    steps = {}
    for dataset, (model, count) in models.items():

        def work(session: Session, model: Retriever | LanguageModel = model, count: int = count) -> list[int]:
            return store_snapshots(session, add_run(session, model.dataset), model, count)

        store = Store(server.settings.database_url)
        store.start()
        steps[dataset] = store.write(work, timeout_s=3_600)
        store.close()
    return steps


def measure(folder: Path, *, num_requests: int, num_snapshots: int) -> tuple[list[Row], list[str]]:
    """A row per kind of request, and lines about the disk."""
    server = ServerProcess(folder / "instance")
    steps = fill(server, num_snapshots=num_snapshots)
    shuffled = {name: random.Random(1).sample(some, len(some)) for name, some in steps.items()}
    at = {name: cycle(some) for name, some in shuffled.items()}
    probe = cycle(random.Random(2).sample(range(NUM_PROBES), NUM_PROBES))
    base = "/api/evolution"
    one = f"{base}/towers/snapshot"
    fast, whole = "<= 10 ms p50, <= 30 ms p99", f"{num_snapshots} stored"
    kinds: list[tuple[str, Callable[[], str], str]] = [
        ("GET /healthz (reference)", lambda: "/healthz", ""),
        (f"snapshot, 100 of 1,000, {whole}", lambda: f"{one}/{next(at['towers'])}?limit=100", fast),
        (f"snapshot, wrong ones by loss, 100 of 1,000, {whole}",
         lambda: f"{one}/{next(at['towers'])}?limit=100&sort=-loss&filter=incorrect", fast),
        (f"snapshot, all 1,000, {whole}", lambda: f"{one}/{next(at['towers'])}", fast),
        (f"trajectory of one retrieval example over {num_snapshots} snapshots",
         lambda: f"{base}/towers/examples/probe-{next(probe):05d}", "<= 10 ms"),
        (f"trajectory of one language-model example over {num_snapshots} snapshots",
         lambda: f"{base}/language/examples/probe-{next(probe) % NUM_LANGUAGE_PROBES:05d}", "<= 10 ms"),
        ("compare two of them, 1,000 examples",
         lambda: f"{base}/towers/compare?from={next(at['towers'])}&to={next(at['towers'])}", ""),
        (f"examples, 100 of 1,000, over {num_snapshots} snapshots",
         lambda: f"{base}/towers/examples?limit=100&sort=-loss_change&offset={next(probe)}", ""),
        (f"examples, 100 of 10,000, over {SNAPSHOTS_OF_MANY} snapshots",
         lambda: f"{base}/many/examples?limit=100&texts=short&offset={10 * next(probe) % 9_900}", ""),
        ("examples, 10,000 searched",
         lambda: f"{base}/many/examples?limit=100&q=quaten{next(probe) % 10}", ""),
        (f"dynamics of 10,000 over {SNAPSHOTS_OF_MANY} snapshots", lambda: f"{base}/many/dynamics", ""),
        ("list of the snapshots", lambda: f"{base}/towers/snapshots", ""),
    ]  # fmt: skip
    try:
        server.start()
        rows = [_first(server, f"{base}/towers/examples?limit=100", "examples, the first time")]
        rows.append(_first(server, f"{base}/many/examples?limit=100", "examples of 10,000, the first time"))
        rows += [_timed(server, *kind, num_requests=num_requests) for kind in kinds]
        disk = _disk(server, steps)
    finally:
        server.close()
    return rows, disk


def _first(server: ServerProcess, path: str, name: str) -> Row:
    began = time.perf_counter()
    body = server.fetch(path)
    return Row(name, [(time.perf_counter() - began) * 1e3], len(body), "")


def _timed(
    server: ServerProcess, name: str, path: Callable[[], str], target: str, *, num_requests: int
) -> Row:
    server.fetch(path())  # the first one opens files and fills caches, as a page's first question does
    taken, num_bytes = [], 0
    for _ in range(num_requests):
        asked = path()
        began = time.perf_counter()
        num_bytes = len(server.fetch(asked))
        taken.append((time.perf_counter() - began) * 1e3)
    return Row(name, taken, num_bytes, target)


def _disk(server: ServerProcess, steps: dict[str, list[int]]) -> list[str]:
    """What each dataset takes here and as JSON files, and the shares."""
    lines = []
    engine = create_engine(server.settings.database_url)  # the store's readers end a question that takes long
    with Session(engine) as session:
        for dataset, some in steps.items():
            ours = sum(_stored_bytes(session, dataset))
            shown = some[:: max(1, len(some) // 20)]
            answers = [server.get(f"/api/evolution/{dataset}/snapshot/{step}")["examples"] for step in shown]
            theirs = statistics.mean(len(as_original_json(one)) for one in answers) * len(some)
            same = statistics.mean(len(as_same_json(one)) for one in answers) * len(some)
            lines.append(
                f"| {dataset} | {len(some)} | {ours / 2**20:,.1f} MiB | {same / 2**20:,.1f} MiB | "
                f"{ours / same:.1%} | {theirs / 2**20:,.1f} MiB | {ours / theirs:.1%} | <= 25 % |"
            )
    engine.dispose()
    return lines


def _stored_bytes(session: Session, dataset: str) -> Iterator[int]:
    """Bytes of the numbers, the answers, the probes and the documents of a dataset."""
    of_it = {"dataset": dataset, "set": f"bench-{dataset}-%"}
    for statement in (
        'SELECT sum(length(c."values") + length(c.name) + 16) FROM snapshot_columns c '
        "JOIN snapshots s ON s.id = c.snapshot_id WHERE s.dataset = :dataset",
        "SELECT sum(length(a.packed) + 24) FROM snapshot_answers a "
        "JOIN snapshots s ON s.id = a.snapshot_id WHERE s.dataset = :dataset",
        "SELECT sum(length(dictionary) + 24) FROM snapshot_dictionaries WHERE probe_set LIKE :set",
        "SELECT sum(length(examples)) FROM probe_sets WHERE hash LIKE :set",
        "SELECT sum(length(title) + length(text) + length(document_id) + 90) FROM probe_documents "
        "WHERE probe_set LIKE :set",
    ):
        yield int(session.execute(text(statement), of_it).scalar() or 0)


def report(rows: list[Row], disk: list[str]) -> str:
    """The result as Markdown."""
    lines = [
        f"# Reading an evolution, {time.strftime('%Y-%m-%d')}",
        "",
        f"Milliseconds per request over one kept connection. {machine()}",
        "",
        "| request | p50 | p99 | min..max | n | bytes | target |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ordered = sorted(row.taken_ms)
        p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
        spread = f"{ordered[0]:.1f}..{ordered[-1]:.1f}"
        median = statistics.median(ordered)
        lines.append(
            f"| {row.name} | {median:.1f} | {p99:.1f} | {spread} "
            f"| {len(ordered)} | {row.num_bytes:,} | {row.target} |"
        )
    lines += [
        "",
        "What the snapshots take: here; as JSON files with the same content; and as JSON files with the",
        "original's fields alone, which lack the top ten with scores and the probability of every token.",
        "",
        "| dataset | snapshots | here | same JSON | share | original's JSON | share | target |",
        "|---|---|---|---|---|---|---|---|",
        *disk,
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print Markdown, and write it to a file when asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--snapshots", type=int, default=500)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = report(*measure(Path(folder), num_requests=chosen.requests, num_snapshots=chosen.snapshots))
    print(text)
    if chosen.output:
        chosen.output.write_text(text)


if __name__ == "__main__":
    main()
