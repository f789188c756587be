"""How ids of pinned probes are written, and what is refused of them in the form."""

from __future__ import annotations

import pytest

from trainer.recipes.pinned_probes import pinned_ids
from trainer.recipes.registry import ParameterError, recipes, validate

WITH_PROBES = [name for name, recipe in recipes().items() if recipe.rebuild]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" , \n,", []),
        ("a", ["a"]),
        (" json.loads , a b,\nc\n", ["json.loads", "a b", "c"]),
        ("a, b, a", ["a", "b"]),
        ('["one, with a comma", "b"]', ["one, with a comma", "b"]),
    ],
)
def test_commas_and_line_breaks_separate_ids(text: str, ids: list[str]) -> None:
    assert pinned_ids(text) == ids


@pytest.mark.parametrize("text", ["[1]", "[", '[""]', "[" * 100_000])
def test_what_looks_like_a_list_and_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="separated by commas"):
        pinned_ids(text)


@pytest.mark.parametrize("recipe", WITH_PROBES)
def test_every_recipe_that_asks_probes_takes_them(recipe: str) -> None:
    params = validate(recipes()[recipe], {"pinned_probes": "a, b", "num_probes": 2, "probe_file": "p.jsonl"})
    assert (params["pinned_probes"], params["probe_file"]) == ("a, b", "p.jsonl")
    with pytest.raises(ParameterError, match="names 2 examples, and num_probes is 1; raise num_probes"):
        validate(recipes()[recipe], {"pinned_probes": "a, b", "num_probes": 1})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("../p.jsonl", "a file in the dataset's folder"),
        ("/etc/p.jsonl", "a file in the dataset's folder"),
        ("p.csv", "must end in .jsonl or .ndjson"),
    ],
)
def test_a_file_of_probes_lies_beside_the_dataset(name: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        validate(recipes()["two_tower"], {"probe_file": name})
