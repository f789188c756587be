"""Pages that stand alone: everything escaped, nothing asked of any server."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from app.services.evolution import Evolution
from app.services.evolution_html import comparison_page, page_name, snapshot_page, visible
from app.services.evolution_import import import_tree
from app.services.ingest import Ingest
from app.store.engine import Store
from tests.app.original_files import original, write_file
from tests.app.rows import snapshot_file, store_running

ATTACK = (
    "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\0&amp; \u202eabc \"' {{ 7 * 7 }}"
)


class _Page(HTMLParser):
    """Tags, attributes and text as a browser takes them in."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def check_alone(page: str) -> _Page:
    """Nothing runs, nothing is fetched."""
    parsed = _Page(page)
    assert not {"script", "img", "link", "iframe", "object", "base", "form"} & set(parsed.tags)
    assert [name for name, _ in parsed.attributes if name.startswith("on") or name in ("src", "style")] == []
    assert all((value or "").startswith("#") for name, value in parsed.attributes if name == "href")
    assert "url(" not in page
    assert "@import" not in page
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page) is None
    return parsed


@pytest.fixture
def evolution(store: Store, tmp_path: object) -> Evolution:
    from pathlib import Path

    root = Path(str(tmp_path)) / "tree"
    for step in (0, 10):
        content = original(step, model_version=ATTACK[:100])
        for name in ("input", "expected_output", "model_output", "example_id"):
            content["examples"][0][name] = ATTACK[:190]
        write_file(root, step, content)
    import_tree(store, root / "toy", dataset=f"toy {ATTACK[:60]}".replace("/", "|"))
    return Evolution(store)


def test_hostile_texts_stay_texts(evolution: Evolution) -> None:
    dataset = evolution.datasets()[0]["name"]
    page = check_alone(snapshot_page(evolution.snapshot(dataset, 0)))
    assert page.text.count("<script>alert(1)</script>") >= 5
    assert "\u241b[31m\u2400&amp;" in page.text
    assert "{{ 7 * 7 }}" in page.text
    compared = check_alone(comparison_page(evolution.compare(dataset, 0, 10)))
    assert "<script>alert(1)</script>" in compared.text


def test_a_snapshot_tells_all_of_it(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept_snapshot("run-1", snapshot_file(1500, ranks=(1, 3)))
    page = check_alone(snapshot_page(Evolution(store).snapshot("python_docs", 1500)))
    for words in ("python_docs at step 1,500", "1 of 2", "50.0%", "query 1", "not it", "rank 3", "another"):
        assert words in page.text
    assert page.tags.count("article") == 2


def test_a_comparison_says_what_changed(store: Store, ingest: Ingest) -> None:
    store_running(store)
    for step, ranks in ((0, (1, 9, 1)), (1000, (1, 1, 4))):
        ingest.accept_snapshot("run-1", snapshot_file(step, ranks=ranks))
    found = Evolution(store).compare("python_docs", 0, 1000)
    page = check_alone(comparison_page(found))
    assert "1 fixed, 1 broken, 1 still right, 0 still wrong between step 0 and step 1,000." in page.text
    assert "rank 9 → 1" in page.text
    assert page_name(found) == "python_docs_0_to_1000.html"


def test_a_part_of_a_snapshot_says_that_it_is_one(store: Store, ingest: Ingest) -> None:
    store_running(store)
    ingest.accept_snapshot("run-1", snapshot_file(0, ranks=(1, 3, 5)))
    page = snapshot_page(Evolution(store).snapshot("python_docs", 0, limit=2))
    assert "2 of 3 examples are on this page" in page


def test_what_does_not_print_is_shown() -> None:
    assert visible("a\0b\x1b\x7f\x85\r\nc\t\ud800") == "a\u2400b\u241b\u2421\ufffd\nc\t\ufffd"
