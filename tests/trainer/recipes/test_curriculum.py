"""The curriculum of the original trainers is read exactly, and what is wrong is named with its place."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.recipes.curriculum import CurriculumError, MiningPlan, Stage, mining_plan, parse
from trainer.recipes.registry import ParameterError, recipes, validate

ORIGINAL = "0-5:none;6-10:8@0.82-0.92;11-30:16@0.84-0.96"


def test_the_original_curriculum_is_read_as_it_was_meant() -> None:
    plan = parse(ORIGINAL)
    assert plan == MiningPlan((Stage(0, 5, 0), Stage(6, 10, 8, 0.82, 0.92), Stage(11, 30, 16, 0.84, 0.96)))
    assert [plan.at(epoch) for epoch in (0, 5, 31)] == [None, None, None]
    assert [stage.count for epoch in (6, 10, 11, 30) if (stage := plan.at(epoch))] == [8, 8, 16, 16]
    assert (plan.most, plan.first_epoch, plan.has_windows) == (16, 6, True)


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("4:2", Stage(4, 4, 2)),
        ("4-:2", Stage(4, None, 2)),
        (" 0 - 3 : 2 @ .5 - .75 ", Stage(0, 3, 2, 0.5, 0.75)),
        ("0:1@-0.5-0.5", Stage(0, 0, 1, -0.5, 0.5)),
        ("0:1@-1--0.25", Stage(0, 0, 1, -1.0, -0.25)),
        ("0-:none", Stage(0, None, 0)),
    ],
)
def test_every_form_of_a_stage(text: str, stage: Stage) -> None:
    assert parse(text).stages == (stage,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0-5:none;;6:1", r"stage 2 \(characters 10-10\), '': is empty"),
        ("0-5", "has no colon"),
        ("a:1", "'a' are no epochs"),
        ("5-2:1", "the last epoch 2 comes before the first 5"),
        ("0:", "'' is neither none nor a number"),
        ("0:8@0.9", "'8@0.9' is neither"),
        ("0:0", "0 near misses per pair; allowed are 1 to 128"),
        ("0:129", "129 near misses"),
        (
            "0-5:none;6-10:8@0.92-0.82",
            r"stage 2 \(characters 10-25\), '6-10:8@0.92-0.82': cosines 0.92 to 0.82",
        ),
        ("0:1@0.5-1.5", "within -1 and 1"),
        ("0-5:1;5-9:2", "begins with epoch 5, but those of stage 1 end with epoch 5"),
        ("0-:1;9:2", "those of stage 1 have no end"),
        ("0:1;", "stage 2"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, words: str) -> None:
    with pytest.raises(CurriculumError, match=words):
        parse(text)


def test_without_a_curriculum_the_plain_parameters_make_the_plan() -> None:
    assert mining_plan("", mined_negatives=3, mine_from_epoch=2).stages == (Stage(2, None, 3),)
    assert mining_plan(" ", mined_negatives=0, mine_from_epoch=2).stages == ()


@pytest.mark.parametrize(
    ("params", "field", "words"),
    [
        ({"curriculum": "0-5:nothing"}, "curriculum", "'nothing' is neither none"),
        ({"curriculum": "0:2", "mined_negatives": 1}, "curriculum", "must be empty while mined_negatives"),
        ({"curriculum": "0:60"}, "curriculum", "mine_depth is 50; raise mine_depth"),
        ({"near_miss_file": "a.jsonl"}, "near_miss_file", "set mined_negatives"),
        ({"near_miss_file": "a.csv", "mined_negatives": 1}, "near_miss_file", "must end in .jsonl"),
        ({"near_miss_file": "../a.jsonl", "mined_negatives": 1}, "near_miss_file", "in the dataset's folder"),
        ({"near_miss_file": "/etc/a.jsonl", "mined_negatives": 1}, "near_miss_file", "dataset's folder"),
        ({"near_miss_file": "a.jsonl", "curriculum": "0:2@0-1"}, "near_miss_file", "cannot ask for cosines"),
        ({"p_cache_file": "a.npy"}, "p_cache_file", "set mined_negatives"),
        ({"p_cache_file": "a.npz", "mined_negatives": 1}, "p_cache_file", "must end in .npy"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(
    params: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        validate(recipes()["two_tower"], params)
    assert caught.value.field == field
    assert words in caught.value.message
