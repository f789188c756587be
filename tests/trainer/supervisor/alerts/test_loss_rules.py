"""Rules about the loss: each is raised by what it is for, says since when, and goes when that is over."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trainer.supervisor.alerts.rig import Watched

NAN = math.nan


def falling(noise: random.Random, *, spread: float = 0.05) -> Callable[[int], float]:
    return lambda step: (1.0 + 4.0 * math.exp(-step / 200)) * (1.0 + noise.gauss(0.0, spread))


@pytest.mark.parametrize(("bad", "word"), [(NAN, "NaN"), (math.inf, "infinite"), (-math.inf, "infinite")])
@pytest.mark.parametrize("at_once", [1, 40])
def test_a_loss_that_is_no_number_is_told_at_once(
    tmp_path: Path, bad: float, word: str, at_once: int
) -> None:
    run = Watched(tmp_path)
    run.train(80, at_once=at_once, train__loss=lambda step: bad if step == 33 else 2.0)
    assert run.said == [("raised", "loss-not-finite"), ("resolved", "loss-not-finite")]
    assert (run.told[0]["step"], run.told[0]["level"]) == (33, "error")
    assert f"train/loss is {word} since step 33; the last sound value was 2" in run.told[0]["text"]


def test_a_loss_that_stays_nan_is_one_alert(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(500, train__loss=lambda step: NAN if step > 30 else 2.0)
    assert run.said == [("raised", "loss-not-finite")]


def test_a_nan_in_the_evaluation_counts_until_the_next_sound_one(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.report([10], eval__loss=[NAN])
    run.report([20], eval__loss=[2.0])
    assert run.said == [("raised", "loss-not-finite"), ("resolved", "loss-not-finite")]


def test_a_zero_loss_beside_a_gradient_that_is_no_number_is_a_broken_model(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(
        60,
        train__loss=lambda step: 14577.98 if step < 20 else 0.0,
        train__grad_norm=lambda step: 3.0 if step < 20 else NAN,
    )
    assert ("raised", "loss-zero") in run.said
    assert next(event["step"] for event in run.told if event["category"] == "loss-zero") == 20


@pytest.mark.parametrize(("loss", "norm"), [(0.0, 1.0), (2.0, NAN)])
def test_either_alone_is_not(tmp_path: Path, loss: float, norm: float) -> None:
    run = Watched(tmp_path)
    run.train(15, train__loss=lambda step: loss, train__grad_norm=lambda step: norm)
    assert run.said == []


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("at_once", [1, 25, 400])
def test_a_jump_of_the_loss_is_a_spike_until_it_is_back(tmp_path: Path, seed: int, at_once: int) -> None:
    noise = random.Random(seed)
    curve = falling(noise)
    run = Watched(tmp_path, total_steps=5000)
    run.train(
        900,
        at_once=at_once,
        train__loss=lambda step: curve(step) * (3.0 if 500 <= step < 530 else 1.0),
    )
    expected = [("raised", "loss-spike"), ("resolved", "loss-spike")]
    assert run.said == (expected if at_once < 400 else run.said)
    assert all(495 <= event["step"] <= 560 for event in run.told)


def test_a_single_wild_point_counts_only_when_it_is_beyond_everything(tmp_path: Path) -> None:
    noise = random.Random(3)
    curve = falling(noise)
    run = Watched(tmp_path / "a", total_steps=5000)
    run.train(900, train__loss=lambda step: curve(step) * (2.0 if step % 150 == 0 else 1.0))
    assert run.said == []
    run = Watched(tmp_path / "b", total_steps=5000)
    run.train(900, train__loss=lambda step: curve(step) * (500.0 if step == 600 else 1.0))
    assert run.said == [("raised", "loss-spike"), ("resolved", "loss-spike")]
    assert run.told[0]["step"] == 600


def test_spikes_of_the_evaluation_and_of_the_first_steps_are_none(tmp_path: Path) -> None:
    run = Watched(tmp_path, total_steps=5000)
    run.train(90, train__loss=lambda step: 40.0 if 20 <= step < 30 else 5.0)
    for step in range(100, 600, 50):
        run.report([step], eval__loss=[80.0 if step == 300 else 2.0])
    assert run.said == []


@pytest.mark.parametrize("seed", range(5))
def test_a_loss_that_stops_falling_in_mid_training_is_a_plateau(tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed)
    run = Watched(tmp_path, total_steps=8000)

    def level(step: int) -> float:
        return 3.0 + 4.0 * math.exp(-step / 300) + noise.gauss(0.0, 0.05)

    run.train(5000, at_once=50, train__loss=level, train__learning_rate=lambda step: 1e-3)
    assert run.said == [("raised", "plateau")]
    assert run.told[0]["level"] == "info"
    run.train(1000, first=5001, at_once=50, train__loss=lambda step: level(step) - 0.002 * (step - 5000))
    assert run.said == [("raised", "plateau"), ("resolved", "plateau")]


def test_a_flat_loss_at_chance_is_told_as_that_and_not_as_a_plateau_too(tmp_path: Path) -> None:
    run = Watched(tmp_path, total_steps=4000)
    run.train(
        2500,
        at_once=50,
        train__loss=lambda step: 20.0 if step <= 10 else 4.16,
        train__chance_loss=lambda step: 4.159,
    )
    assert run.said == [("raised", "loss-at-chance")]


def test_a_loss_that_never_leaves_chance_is_told_and_then_leaves_it(tmp_path: Path) -> None:
    noise = random.Random(5)
    run = Watched(tmp_path, total_steps=1000)
    run.train(
        400,
        train__loss=lambda step: (5.55 if step < 200 else 4.0 - step / 200) + noise.gauss(0.0, 0.01),
        train__chance_loss=lambda step: 5.545,
        train__learning_rate=lambda step: 0.1,
    )
    assert run.said == [("raised", "loss-at-chance"), ("resolved", "loss-at-chance")]
    assert 60 <= run.told[0]["step"] < 70


@pytest.mark.parametrize(
    ("recipe", "words", "strange"),
    [
        ("two_tower", "queries and documents of the dataset belong together", "labels"),
        ("text_classification", "labels of the dataset belong to their texts", "quer"),
        ("causal_lm", "holds text the tokenizer knows", "quer"),
        ("script", "the inputs and what is expected of them belong together", "quer"),
    ],
)
def test_what_helps_against_chance_is_said_in_the_words_of_the_recipe(
    tmp_path: Path, recipe: str, words: str, strange: str
) -> None:
    run = Watched(tmp_path, total_steps=400, recipe=recipe)
    run.train(100, train__loss=lambda step: 5.55, train__chance_loss=lambda step: 5.545)
    assert run.said == [("raised", "loss-at-chance")]
    assert words in run.told[0]["text"]
    assert strange not in run.told[0]["text"]


def test_while_the_learning_rate_warms_up_chance_is_no_news(tmp_path: Path) -> None:
    run = Watched(tmp_path, total_steps=1000)
    run.train(
        300,
        train__loss=lambda step: 5.55,
        train__chance_loss=lambda step: 5.545,
        train__learning_rate=lambda step: step * 1e-6,
    )
    assert run.said == []


def test_a_loss_that_falls_while_nothing_is_found_is_told(tmp_path: Path) -> None:
    run = Watched(tmp_path, total_steps=400)
    for epoch in range(1, 21):
        steps = range(20 * epoch - 19, 20 * epoch + 1)
        run.report(steps, train__loss=[3.34 - 0.21 * step / 400 for step in steps])
        found = 0.01 if epoch > 18 else 0.0
        run.report([20 * epoch], eval__recall_at_10=[0.0], eval__recall_at_500=[found])
    assert run.said == [("raised", "recall-zero"), ("resolved", "recall-zero")]
    assert "since step 20, recall was 0 at every depth" in run.told[0]["text"]


def test_recall_0_of_an_untrained_model_is_no_news(tmp_path: Path) -> None:
    run = Watched(tmp_path, total_steps=400)
    for step in range(1, 100, 10):
        run.report(range(step, step + 10), train__loss=[3.34] * 10)
        run.report([step], eval__recall_at_10=[0.0])
    assert run.said == []


@pytest.mark.parametrize(
    ("measure", "course"),
    [
        ("eval/loss", [3.0, 2.5, 2.2, 2.1, 2.15, 2.3, 2.6, 2.9, 3.3, 3.8, 4.2, 4.6, 5.0]),
        ("eval/recall@5", [0.2, 0.45, 0.51, 0.51, 0.5, 0.46, 0.43, 0.41, 0.4, 0.39, 0.38, 0.37, 0.37]),
    ],
)
def test_an_evaluation_that_gets_worse_while_the_loss_falls_is_overfitting(
    tmp_path: Path, measure: str, course: list[float]
) -> None:
    run = Watched(tmp_path, total_steps=2000)
    for epoch, value in enumerate(course):
        steps = range(100 * epoch + 1, 100 * epoch + 101)
        run.report(steps, train__loss=[3.0 * math.exp(-step / 500) for step in steps])
        run.feed([100 * epoch + 100], {measure: [value]})
    assert run.said == [("raised", "overfitting")]
    assert measure in run.told[0]["text"]


def test_an_evaluation_that_gets_worse_with_the_training_is_not(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    for epoch in range(20):
        run.report(range(100 * epoch + 1, 100 * epoch + 101), train__loss=[2.0 + 0.1 * epoch] * 100)
        run.report([100 * epoch + 100], eval__loss=[2.0 + 0.1 * epoch])
    assert ("raised", "overfitting") not in run.said
