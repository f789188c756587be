"""Every rung has its words in one place."""

from __future__ import annotations

from trainer.protocol.rungs import WORDS, Rung, in_words
from trainer.recipes.registry import recipes


def test_every_rung_has_a_title_of_its_own_and_unsafe_is_one_alone() -> None:
    assert list(WORDS) == list(Rung)
    assert len({words.title for words in WORDS.values()}) == len(Rung)
    assert [rung for rung, words in WORDS.items() if words.is_unsafe] == [Rung.DUPLICATE_OPENMP]
    assert [one["rung"] for one in in_words(Rung)] == [rung.value for rung in Rung]


def test_a_recipe_calls_a_rung_as_everybody_does_and_hides_no_cost() -> None:
    for recipe in recipes().values():
        for rung, remedy in recipe.remedies.items():
            assert remedy.title == WORDS[rung].title
            assert remedy.changes_numbers == WORDS[rung].changes_numbers
