from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

from trainer.recipes.search_process import Home
from trainer.retrieval import exact
from trainer.retrieval.search import Search, SharedSearch, open_search


@pytest.fixture(params=["shared", "own"])
def search(request: pytest.FixtureRequest) -> Iterator[Search]:
    home: Home = request.param
    with closing(open_search(home)) as search:
        yield search


@pytest.mark.process
@pytest.mark.parametrize("pool", [np.empty((0, 4), np.float32), np.zeros(4, np.float32), np.zeros((2, 4))])
def test_what_is_no_pool_is_refused(search: Search, pool: Any) -> None:
    with pytest.raises(ValueError, match="non-empty float32 matrix"), search.pool(pool):
        pass


@pytest.mark.process
def test_beyond_the_end_of_the_pool_there_is_nothing(search: Search) -> None:
    documents = np.eye(2, 4, dtype=np.float32)
    with search.pool(documents) as pool:
        scores, rows = pool.search(documents[:1], k=4)
    assert rows.tolist() == [[0, 1, -1, -1]]
    assert scores.tolist() == [[1.0, 0.0, -np.inf, -np.inf]]


@pytest.mark.parametrize(("platform", "expected"), [("linux", []), ("darwin", [1]), ("win32", [])])
def test_beside_torch_on_macos_faiss_is_kept_to_one_thread(
    platform: str, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(exact, "limit_threads", asked.append)
    with SharedSearch(platform=platform).pool(np.eye(2, 4, dtype=np.float32)):
        assert asked == expected
