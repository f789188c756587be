import json
from pathlib import Path

import pytest

from trainer.datasets import python_docs
from trainer.datasets.docs_extraction import fold
from trainer.datasets.records import DatasetError, TextPairs

pytestmark = pytest.mark.process
NUM_SOURCES = 200  # work for both processes that share it; the whole corpus has thousands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("datasets")


@pytest.fixture(scope="module")
def corpus(folder: Path) -> TextPairs:
    told: list[float] = []
    pairs = python_docs.load(folder, lambda detail, fraction: told.append(fraction))
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert told == sorted(told)
    return pairs


def test_it_has_tens_of_thousands_of_distinct_pairs_in_many_modules(corpus: TextPairs) -> None:
    assert len(corpus) > 20_000
    assert len(set(corpus.ids)) == len(corpus)
    assert len({fold(query) for query in corpus.queries}) == len(corpus)
    assert len(set(corpus.groups)) > 1000


def test_no_document_gives_its_query_away(corpus: TextPairs) -> None:
    leaking = [
        name
        for name, query, document in zip(corpus.ids, corpus.queries, corpus.documents, strict=True)
        if fold(query) in fold(document)
    ]
    assert leaking == []


def test_well_known_functions_are_there(corpus: TextPairs) -> None:
    row = corpus.ids.index("json.dumps")
    assert corpus.queries[row] == "Serialize obj to a JSON formatted str."
    assert corpus.documents[row].startswith("json.dumps(obj, *, skipkeys=False")
    assert corpus.groups[row] == "json"
    assert "torch.abs" in corpus.ids


def test_the_second_load_reads_the_cache_and_is_the_same(corpus: TextPairs, folder: Path) -> None:
    again = python_docs.load(folder, lambda detail, fraction: pytest.fail("it was built again"))
    assert again == corpus


def test_a_damaged_cache_is_built_again_to_the_same_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = list(python_docs._sources())[:NUM_SOURCES]
    monkeypatch.setattr(python_docs, "_sources", lambda: iter(some))
    corpus = python_docs.load(tmp_path, lambda detail, fraction: None)
    assert len(corpus) > NUM_SOURCES
    (cached,) = (tmp_path / "python_docs").glob("*/pairs.json")
    columns = json.loads(cached.read_bytes())
    columns["queries"][0] = "something else"
    cached.write_text(json.dumps(columns))
    assert python_docs.load(tmp_path, lambda detail, fraction: None) == corpus
    assert [path.name for path in (tmp_path / "python_docs").iterdir()] == [cached.parent.name]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "python_docs"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(DatasetError, match="cannot write the documentation corpus"):
        python_docs.load(tmp_path, lambda detail, fraction: None)
