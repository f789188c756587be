"""Of very many texts a tokenizer is learned from some."""

from __future__ import annotations

from trainer.language.scratch import sample


def test_few_texts_are_all_read() -> None:
    texts = ["one", "two", "three"]

    assert sample(texts, max_characters=11) is texts


def test_of_many_texts_some_from_all_over_are_read() -> None:
    texts = [f"{number:04}" for number in range(1000)]

    taken = sample(texts, max_characters=400)

    assert sum(map(len, taken)) == 400
    assert (taken[0], taken[-1]) == ("0000", "0990")


def test_of_a_few_long_texts_the_beginnings_are_read() -> None:
    taken = sample(["a" * 900, "b" * 10, "c" * 900], max_characters=300)

    assert sum(map(len, taken)) <= 300
