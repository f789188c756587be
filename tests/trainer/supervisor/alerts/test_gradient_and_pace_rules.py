"""Rules about gradients and throughput."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from tests.trainer.supervisor.alerts.rig import Watched


@pytest.mark.parametrize("at_once", [1, 20])
def test_gradients_ten_times_above_all_before_explode(tmp_path: Path, at_once: int) -> None:
    noise = random.Random(1)
    run = Watched(tmp_path)
    run.train(
        600,
        at_once=at_once,
        train__grad_norm=lambda step: math.exp(noise.gauss(0.0, 0.4)) * (30.0 if 300 <= step < 400 else 1.0),
    )
    assert run.said == [("raised", "gradients-exploding"), ("resolved", "gradients-exploding")]
    assert 300 <= run.told[0]["step"] <= 320


def test_single_outliers_are_what_clipping_is_for(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(600, train__grad_norm=lambda step: 100.0 if step % 40 == 0 else 1.0)
    assert run.said == []


def test_mixed_precision_may_skip_a_few_steps_but_not_all(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(200, train__grad_norm=lambda step: math.inf if step <= 12 or step % 50 == 0 else 1.0)
    assert run.said == []
    run.train(40, first=201, train__grad_norm=lambda step: math.nan)
    assert run.said == [("raised", "gradients-exploding")]
    assert (run.told[0]["title"], run.told[0]["level"]) == ("The gradients are not finite", "error")
    run.train(40, first=241, train__grad_norm=lambda step: 1.0)
    assert run.said[-1] == ("resolved", "gradients-exploding")


def test_gradients_that_vanish_before_anything_was_learnt_are_told(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(
        300,
        train__grad_norm=lambda step: 1.4 if step < 20 else 2e-4 if step < 200 else 0.5,
        train__loss=lambda step: 5.5,
    )
    assert run.said == [("raised", "gradients-vanishing"), ("resolved", "gradients-vanishing")]


def test_the_small_gradients_of_a_good_model_are_welcome(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(
        1000,
        train__grad_norm=lambda step: 2.0 * math.exp(-step / 50),
        train__loss=lambda step: 0.01 + 5.0 * math.exp(-step / 50),
    )
    assert run.said == []


@pytest.mark.parametrize("seed", range(3))
def test_a_training_at_half_its_pace_is_slow_until_it_is_fast_again(tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed)
    run = Watched(tmp_path)
    run.train(
        400,
        at_once=1,
        train__examples_per_s=lambda step: (
            math.exp(noise.gauss(0.0, 0.1)) * (3500.0 if 200 <= step < 300 else 8000.0)
        ),
    )
    assert run.said == [("raised", "throughput"), ("resolved", "throughput")]
    assert "(4" in run.told[0]["text"]


def test_slow_measurements_between_fast_ones_are_noise(tmp_path: Path) -> None:
    run = Watched(tmp_path)
    run.train(400, at_once=1, train__examples_per_s=lambda step: 3000.0 if step % 2 else 8000.0)
    assert run.said == []
