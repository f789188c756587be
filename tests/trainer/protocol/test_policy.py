"""The fields of a policy: declared once, and every check, default and word from that one place."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.protocol.policy import FIELDS, PolicyError, checked_policy, default_of, describe_policy
from trainer.supervisor.limits import TRAINING_FLOOR_S


def test_the_defaults_are_those_of_the_design() -> None:
    assert {field.name: field.default for field in FIELDS} == {
        "max_attempts": 3,
        "on_stall": "report",
        "retry_after_s": 120.0,
        "stall_after_s": 60.0,
    }
    assert default_of("stall_after_s") == TRAINING_FLOOR_S
    checked_policy({field.name: field.default for field in FIELDS})


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"max_attempts": 1},
        {"max_attempts": 20, "on_stall": "retry", "retry_after_s": 1, "stall_after_s": 604_800.0},
        {"on_stall": "stop"},
    ],
)
def test_what_is_allowed_stays_as_it_is(policy: dict[str, Any]) -> None:
    assert checked_policy(policy) == policy
    assert (
        checked_policy(
            {**policy, **dict.fromkeys(field.name for field in FIELDS if field.name not in policy)}
        )
        == policy
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("max_attempts", 0, "1 to 20"),
        ("max_attempts", 21, "1 to 20"),
        ("max_attempts", 2.0, "whole number of attempts"),
        ("max_attempts", True, "whole number"),
        ("max_attempts", "3", "1 to 20"),
        ("on_stall", "pray", "report, stop, retry"),
        ("on_stall", 1, "report, stop, retry"),
        ("retry_after_s", 0.5, "1 to 604800"),
        ("stall_after_s", float("nan"), "seconds"),
        ("stall_after_s", float("inf"), "seconds"),
        ("shell", "rm", "no such field"),
    ],
)
def test_what_is_not_allowed_names_the_field_and_what_is(field: str, value: object, words: str) -> None:
    with pytest.raises(PolicyError, match=words) as caught:
        checked_policy({field: value})
    assert caught.value.field == field


def test_the_form_gets_all_it_needs() -> None:
    for field in describe_policy():
        assert field["label"], field
        assert field["help"].endswith("."), field
        assert bool(field["choices"]) == (field["type"] == "choice"), field
        assert (field["minimum"] is None) == (field["type"] == "choice"), field
