"""Kinds are found, suggest columns by their names, and say what is missing."""

import pytest

from trainer.datasets.kinds.declaration import suggest
from trainer.datasets.kinds.detection import candidates
from trainer.datasets.kinds.registry import endings_of, kinds
from trainer.recipes.registry import recipes


def test_every_kind_is_a_module_and_every_recipe_takes_kinds_that_exist() -> None:
    assert {"pairs", "vectors", "labelled", "conversations"} <= set(kinds())
    for recipe in recipes().values():
        assert set(recipe.dataset_kinds) <= set(kinds()), recipe.name


def test_what_a_kind_needs_are_roles_it_has() -> None:
    for kind in kinds().values():
        assert {role for need in kind.needs for role in need} <= {role.name for role in kind.roles}
        assert set(kind.whole_text) <= set(kind.endings)


SUGGESTED = {
    "the very names": ("pairs", ["document", "query"], {"query": "query", "document": "document"}),
    "usual names, kept as written": (
        "pairs",
        ["Question", "Answer"],
        {"query": "Question", "document": "Answer"},
    ),
    "a word of the name": (
        "pairs",
        ["", "Question Text", "The Answer"],
        {"query": "Question Text", "document": "The Answer"},
    ),
    "a column plays one role": ("labelled", ["text", "category"], {"text": "text", "label": "category"}),
    "nothing fits": ("labelled", ["a", "b"], {}),
}


@pytest.mark.parametrize(("kind", "names", "expected"), SUGGESTED.values(), ids=SUGGESTED)
def test_columns_suggest_themselves(kind: str, names: list[str], expected: dict[str, str]) -> None:
    assert suggest(kinds()[kind], names) == expected


DETECTED = {
    "pairs": (".csv", ["query", "document"], "pairs"),
    "labelled": (".tsv", ["text", "label"], "labelled"),
    "messages": (".jsonl", ["messages"], "conversations"),
    "prompt and completion": (".jsonl", ["prompt", "completion"], "conversations"),
    "plain text": (".txt", [], "conversations"),
    "arrays": (".npz", ["query_vectors", "document_vectors"], "vectors"),
}


@pytest.mark.parametrize(("ending", "names", "expected"), DETECTED.values(), ids=DETECTED)
def test_a_file_is_recognised_by_its_header(ending: str, names: list[str], expected: str) -> None:
    best = candidates(ending, names)[0]
    assert best.kind.name == expected
    assert best.missing == ()


def test_a_way_that_has_begun_says_what_it_still_needs() -> None:
    assert kinds()["conversations"].missing({"instruction": "a"}) == ("output",)
    assert kinds()["pairs"].missing({"query": "a", "document": ""}) == ("document",)


def test_endings_come_from_the_kinds() -> None:
    assert endings_of(["vectors"]) == (".npz",)
    assert set(endings_of(kinds())) == {".jsonl", ".ndjson", ".csv", ".tsv", ".json", ".txt", ".npz"}
