"""Which examples become probes: the same as ever without pins, the pinned ones first with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch

from tests.trainer.tasks.causal_lm.small_corpus import small_params, write_completions
from tests.trainer.tasks.text_classification.small_texts import SMALL, silent, write_texts
from tests.trainer.tasks.two_tower.small_material import text_task
from trainer.datasets.records import DatasetError
from trainer.recipes.registry import recipes, validate
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.causal_lm.probes import choose_probes
from trainer.tasks.causal_lm.train import prepare
from trainer.tasks.probe_choice import choose_in_turn
from trainer.tasks.text_classification.train import Prepared, read_dataset

# Runs that were begun before anything could be pinned go on with these.
OF_OLD = {
    "two_tower": "pair_34 pair_35 pair_46 pair_49 pair_56 pair_57 pair_172 pair_174 pair_175",
    "text_classification": "47 63 97 131 138 169 190 219 227",
    "causal_lm": "18 19 22 24 44 45 46 47 48",
}
SEED_WITH_TWINS_HELD_OUT = 5
IDS = [f"id-{row}" for row in range(60)]


def probes_of(recipe: str, folder: Path, pinned: str = "") -> list[str]:
    """The ids of the nine probes of a small run."""
    if recipe == "two_tower":
        towers, _ = text_task(folder, num_probes=9, pinned_probes=pinned)
        return [str(probe["example_id"]) for probe in towers.probes()]
    if recipe == "causal_lm":
        params = small_params(num_probes=9, pinned_probes=pinned)
        path = write_completions(folder / "c.jsonl")
        material = prepare(str(path), params, datasets_dir=folder, tell=silent).material
        chosen = choose_probes(
            material, count=9, seed=params.seed, max_reference=12, pinned=[pinned] if pinned else []
        )
        return [str(material.conversations.ids[probe.row]) for probe in chosen]
    wanted = validate(recipes()[recipe], {**SMALL, "num_probes": 9, "pinned_probes": pinned})
    settings = TextClassificationParams.model_validate(wanted)
    texts = read_dataset(str(write_texts(folder / "t.csv")), settings, datasets_dir=folder, tell=silent)
    task = Prepared(texts, settings, datasets_dir=folder, tell=silent).task(torch.device("cpu"), silent)
    return [str(probe["example_id"]) for probe in task.probes()]


@pytest.mark.parametrize("recipe", OF_OLD)
def test_without_pins_the_choice_is_what_it_always_was(recipe: str, tmp_path: Path) -> None:
    assert probes_of(recipe, tmp_path) == OF_OLD[recipe].split()


@pytest.mark.parametrize(
    ("recipe", "pinned"),
    [("two_tower", "pair_58"), ("text_classification", "58"), ("causal_lm", "20")],
)
def test_what_is_pinned_is_asked_and_as_few_others_as_possible_change(
    recipe: str, pinned: str, tmp_path: Path
) -> None:
    before = set(OF_OLD[recipe].split())
    assert pinned not in before
    found = probes_of(recipe, tmp_path, pinned)
    assert pinned in found
    assert len(found) == 9
    assert len(before - set(found)) == 1


@pytest.mark.parametrize("recipe", OF_OLD)
def test_what_is_trained_on_cannot_be_pinned(recipe: str, tmp_path: Path) -> None:
    trained = {"two_tower": "pair_0", "text_classification": "1", "causal_lm": "1"}[recipe]
    with pytest.raises(DatasetError, match=rf"'{trained}' is trained on, and an example it trains on"):
        probes_of(recipe, tmp_path, trained)
    with pytest.raises(DatasetError, match="has no example 'nobody'; copy the id"):
        probes_of(recipe, tmp_path, "nobody")


def test_of_pairs_with_one_query_the_pinned_one_is_asked(tmp_path: Path) -> None:
    """Pairs 3 and 4 ask the same; with this seed they are held out."""
    plain, _ = text_task(tmp_path, num_probes=60, seed=SEED_WITH_TWINS_HELD_OUT)
    pinned, _ = text_task(tmp_path, num_probes=60, seed=SEED_WITH_TWINS_HELD_OUT, pinned_probes="pair_4")
    twins = {"pair_3", "pair_4"}
    assert {probe["example_id"] for probe in plain.probes()} & twins == {"pair_3"}
    assert {probe["example_id"] for probe in pinned.probes()} & twins == {"pair_4"}


def test_groups_give_one_in_turn_whatever_the_order_of_the_rows() -> None:
    def group_of(row: int) -> str:
        return "large" if row >= 5 else "small"

    chosen = choose_in_turn(range(60), ids=IDS, group_of=group_of, count=8, seed=1)
    assert Counter(map(group_of, chosen)) == {"large": 4, "small": 4}
    again = choose_in_turn(reversed(range(60)), ids=IDS, group_of=group_of, count=8, seed=1)
    assert again == chosen == sorted(chosen)
    assert choose_in_turn(range(60), ids=IDS, group_of=group_of, count=8, seed=2) != chosen


def test_pins_count_and_are_never_left_out() -> None:
    pinned = [59, 3, 58]
    chosen = choose_in_turn(range(60), ids=IDS, group_of=str, count=5, seed=1, pinned=pinned)
    assert len(chosen) == 5
    assert set(pinned) < set(chosen)
    assert choose_in_turn(range(60), ids=IDS, group_of=str, count=1, seed=1, pinned=pinned) == [3, 58, 59]
