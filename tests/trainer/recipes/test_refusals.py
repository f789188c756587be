"""A value that is refused is told in the words of a form, not in pydantic's."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainer.recipes.refusals import SHOWN_CHARACTERS, refusal


class Form(BaseModel):
    """Something to fill in."""

    model_config = ConfigDict(extra="forbid")
    is_on: bool
    steps: int = Field(5, ge=1)


@pytest.mark.parametrize(
    ("filled", "words"),
    [
        ({"is_on": "never"}, "must be true or false, got 'never'"),
        ({"is_on": None}, "must be true or false, got None"),
        ({}, "is required"),
        ({"is_on": True, "other": 1}, "there is no such key"),
        ({"is_on": True, "steps": 0}, "should be greater than or equal to 1, got 0"),
    ],
)
def test_what_was_wrong_is_said_with_the_value(filled: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(filled)
    assert refusal(caught.value.errors()[0]) == words


def test_a_long_value_is_cut() -> None:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate({"is_on": "x" * 1_000})
    said = refusal(caught.value.errors()[0])
    assert said.endswith("xxx…")
    assert len(said) < 2 * SHOWN_CHARACTERS
