"""IVF and HNSW in both homes: nearly all of what an exact search finds, and the same wherever they are."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import faiss
import numpy as np
import pytest

from trainer.recipes.search_process import Home
from trainer.retrieval.exact import ExactIndex
from trainer.retrieval.index_settings import FLAT, IndexSettings, Kind
from trainer.retrieval.measures import oracle, overlap
from trainer.retrieval.ranking import Floats
from trainer.retrieval.search import Search, open_search

pytestmark = pytest.mark.process
SETTINGS = {
    "flat": FLAT,
    "ivf": IndexSettings("ivf", num_probes=20, seed=3),
    "hnsw": IndexSettings("hnsw", num_links=16, build_effort=60, search_effort=60),
}


def clustered(count: int, length: int = 24) -> Floats:
    """Unit vectors around a hundred centres, as trained documents are."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(100, length))
    vectors = centres[generator.integers(100, size=count)] + 0.5 * generator.normal(size=(count, length))
    scaled: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


@pytest.fixture(params=["shared", "own"])
def search(request: pytest.FixtureRequest) -> Iterator[Search]:
    home: Home = request.param
    with closing(open_search(home)) as search:
        yield search


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_an_index_finds_what_an_exact_search_finds_tells_its_pace_and_can_be_saved(
    search: Search, kind: Kind, tmp_path: Path
) -> None:
    documents = clustered(6000)
    queries = clustered(6200)[6000:]
    _, exact_rows = ExactIndex(documents).search(queries, k=10)
    told: list[float] = []
    with search.pool(documents, SETTINGS[kind], tell=told.append) as index:
        scores, rows = index.search(queries, k=10)
        taken = index.latencies(queries[:20], k=10)
        index.write(tmp_path / "index.faiss")
        assert oracle(index, documents) > 0.95
    assert overlap(exact_rows, rows) >= (1.0 if kind == "flat" else 0.9)
    assert scores == pytest.approx(np.einsum("bd,bkd->bk", queries, documents[rows]), abs=1e-5)
    assert taken.shape == (20,)
    assert (taken > 0).all()
    assert told == ([] if kind == "flat" else [pytest.approx(4096 / 6000), 1.0])
    saved = faiss.read_index(str(tmp_path / "index.faiss"))
    assert (saved.search(queries, 10)[1] == rows).all()


def test_both_homes_build_the_same_lists() -> None:
    documents, queries = clustered(3000), clustered(3100)[3000:]
    found = []
    for home in ("own", "shared"):
        with closing(open_search(home)) as search, search.pool(documents, SETTINGS["ivf"]) as index:
            found.append(index.search(queries, k=10)[1])
    assert (found[0] == found[1]).mean() > 0.95  # sums of another order may move a centre by a last bit


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_a_few_documents_are_no_trouble(
    search: Search, kind: Kind, count: int, capfd: pytest.CaptureFixture[str]
) -> None:
    documents = clustered(count)
    with search.pool(documents, SETTINGS[kind]) as index:
        _, rows = index.search(documents, k=5)
    assert (rows[:, 0] == np.arange(count)).all()
    assert capfd.readouterr().err == "", "faiss warns of lists that are too small"


@pytest.mark.parametrize(
    ("count", "wanted", "expected"), [(10_000, 0, 100), (771_115, 0, 878), (100, 0, 2), (3, 5, 1)]
)
def test_lists_are_never_too_small_to_be_learned(count: int, wanted: int, expected: int) -> None:
    assert IndexSettings("ivf", num_lists=wanted).lists_for(count) == expected


def test_an_index_that_cannot_be_written_is_said(search: Search, tmp_path: Path) -> None:
    documents = clustered(50)
    with pytest.raises(OSError, match="could not"), search.pool(documents) as index:
        index.write(tmp_path / "no such folder" / "index.faiss")
