from typing import Any

import pytest

from trainer.recipes.questions import PLAIN_TEXT, QuestionError, QuestionField, checked
from trainer.recipes.registry import recipes

FIELDS = (
    QuestionField("query", "Find", type="line", most_characters=20),
    QuestionField("count", "Documents", type="int", default=10, minimum=1, maximum=100),
    QuestionField("warmth", "Temperature", type="float", default=0.5, minimum=0.0, maximum=2.0),
    QuestionField("is_greedy", "Greedy", type="bool", default=True),
    QuestionField("among", "Among", type="choice", default="a", choices=("a", "b")),
)


def test_a_question_is_completed_and_typed() -> None:
    assert checked(FIELDS, {"query": "x"}) == {
        "query": "x", "count": 10, "warmth": 0.5, "is_greedy": True, "among": "a",
    }  # fmt: skip
    typed = checked(FIELDS, {"query": "x", "count": "7", "warmth": 1, "is_greedy": "no", "among": "b"})
    assert typed == {"query": "x", "count": 7, "warmth": 1.0, "is_greedy": False, "among": "b"}
    assert isinstance(typed["warmth"], float)


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({}, "query", "must be given"),
        ({"query": " \n"}, "query", "is empty"),
        ({"query": 5}, "query", "must be a text"),
        ({"query": "x" * 21}, "query", "has 21 characters; at most 20"),
        ({"query": "a\ud800"}, "query", "half a character"),
        ({"query": "a\0"}, "query", "zero byte"),
        ({"query": "x", "more": 1}, "more", "no such part; it has query, count"),
        ({"query": "x", "count": 0}, "count", "at least 1, got 0"),
        ({"query": "x", "count": 101}, "count", "at most 100"),
        ({"query": "x", "count": 1.5}, "count", "whole number"),
        ({"query": "x", "count": True}, "count", "must be a number"),
        ({"query": "x", "count": [1]}, "count", "must be a number"),
        ({"query": "x", "count": "many"}, "count", "must be a number, got 'many'"),
        ({"query": "x", "count": 10**400}, "count", "must be a number"),
        ({"query": "x", "warmth": float("nan")}, "warmth", "must be a number"),
        ({"query": "x", "warmth": "inf"}, "warmth", "must be a number"),
        ({"query": "x", "is_greedy": "perhaps"}, "is_greedy", "true or false"),
        ({"query": "x", "among": "c"}, "among", "one of a, b"),
        ({"query": "x", "among": ["a"]}, "among", "one of a, b"),
    ],
)
def test_what_is_wrong_with_a_question_is_named(given: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(QuestionError, match=message) as caught:
        checked(FIELDS, given)
    assert caught.value.field == field


def test_every_recipe_that_can_be_asked_declares_what_a_box_can_take() -> None:
    askable = [recipe for recipe in recipes().values() if recipe.answerer]
    assert "two_tower" in [recipe.name for recipe in askable]
    for recipe in askable:
        first, *others = recipe.question or PLAIN_TEXT
        assert first.type in ("text", "line")
        assert first.default is None
        assert all(other.default is not None for other in others), "one box is enough to ask"
