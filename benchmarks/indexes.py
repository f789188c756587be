"""What IVF and HNSW find of an exact search's best ten, and how long a single query takes.

Documents around cluster centres, as trained towers give them; queries near
documents.  Latencies are of one query at a time, in the process that holds the
index.  The last line is what depth 1000 costs an evaluation beside depth 100.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.indexes [--documents 50000] [--dim 128]``
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from datetime import date

import numpy as np

from trainer.retrieval.index_settings import FLAT, IndexSettings
from trainer.retrieval.ranking import Floats, rank
from trainer.retrieval.search import SharedSearch
from trainer.tasks.two_tower.evaluation import judged

QUERIES = 1000
SETTINGS = {
    "flat": FLAT,
    "ivf, 1 probe": IndexSettings("ivf", num_probes=1),
    "ivf, 8 probes": IndexSettings("ivf"),
    "ivf, 32 probes": IndexSettings("ivf", num_probes=32),
    "hnsw, effort 64": IndexSettings("hnsw"),
    "hnsw, effort 256": IndexSettings("hnsw", search_effort=256),
}


def vectors(count: int, dim: int) -> Floats:
    """Unit vectors around a centre per hundred of them."""
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((count // 100, dim), dtype=np.float32)
    noise = generator.standard_normal((count, dim), dtype=np.float32)
    spread = centres[generator.integers(len(centres), size=count)] + 1.6 * noise
    scaled: Floats = spread / np.linalg.norm(spread, axis=1, keepdims=True)
    return scaled


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=128)
    asked = parser.parse_args()
    every = vectors(asked.documents + QUERIES, asked.dim)
    documents, queries = every[:-QUERIES], every[-QUERIES:]
    print(f"# Indexes, {date.today().isoformat()}\n")
    print(f"{asked.documents:,} documents of length {asked.dim}, {QUERIES:,} queries; {platform.machine()},")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start.\n")
    print("| index | built in | recall@10 of exact | half of queries | 95 % of queries |")
    print("|---|---|---|---|---|")
    search = SharedSearch()
    with search.pool(documents) as exact:
        exact_rows = exact.search(queries, k=10)[1]
    for name, settings in SETTINGS.items():
        started = time.perf_counter()
        with search.pool(documents, settings) as index:
            built_s = time.perf_counter() - started
            found = judged(index, queries, exact_rows)
        print(
            f"| {name} | {built_s:.2f} s | {found['recall@10']:.1%} | {found['p50_ms']:.2f} ms "
            f"| {found['p95_ms']:.2f} ms |"
        )
    taken = {}
    golds = [[row] for row in range(QUERIES)]
    for depth in (100, 1000):
        with search.pool(documents) as pool:
            started = time.perf_counter()
            rank(pool, queries, documents, golds, k=depth, tell=lambda fraction: None, num_kept=10)
            taken[depth] = time.perf_counter() - started
    print(
        f"\nRanks of {QUERIES:,} queries: {taken[100]:.2f} s to depth 100, {taken[1000]:.2f} s to depth 1000."
    )


if __name__ == "__main__":
    main()
