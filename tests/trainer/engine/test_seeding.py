"""All generators are seeded, stored and put back together."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from trainer.engine.devices import DeviceUnavailable, describe, pick
from trainer.engine.seeding import preserved_rng, rng_state, seed_everything, set_rng_state


def draw() -> tuple[float, ...]:
    return (
        random.random(),
        random.gauss(0.0, 1.0),
        float(np.random.rand()),
        float(np.random.randn()),
        torch.rand(()).item(),
    )


def test_a_seed_repeats_every_generator() -> None:
    seed_everything(5)
    first = draw()
    seed_everything(5)
    assert draw() == first
    seed_everything(6)
    assert draw() != first


def test_a_stored_state_survives_a_safe_load_and_goes_on_where_it_was(tmp_path: Path) -> None:
    seed_everything(5)
    draw()  # leaves half of a pair of normal numbers behind in two of the generators
    torch.save(rng_state(), tmp_path / "state.pt")
    expected = draw()
    set_rng_state(torch.load(tmp_path / "state.pt", weights_only=True))
    assert draw() == expected


def test_what_is_drawn_inside_changes_nothing_outside() -> None:
    seed_everything(5)
    expected = draw()
    seed_everything(5)
    with preserved_rng():
        draw()
    assert draw() == expected


def test_the_device_is_what_was_asked_for_or_a_clear_refusal() -> None:
    assert pick("cpu") == torch.device("cpu")
    assert pick("auto").type in ("cpu", "cuda", "mps")
    assert describe(torch.device("cpu")).startswith("cpu (")
    with pytest.raises(DeviceUnavailable, match="'abacus' is unknown; choose auto, cpu, cuda or mps"):
        pick("abacus")
    if not torch.cuda.is_available():
        with pytest.raises(DeviceUnavailable, match=r"device 'cuda': .*choose 'auto'"):
            pick("cuda")
