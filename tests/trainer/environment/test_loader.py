"""How batches are loaded follows the device, and the variables say it as the arguments do."""

from __future__ import annotations

import pytest

from trainer.environment.loader import LoaderError, loader_settings, loader_variables, read_loader
from trainer.environment.variables import as_environ

CASES = [
    # platform, device, profile, cores, runs -> workers, pinned
    ("linux", "cuda", "auto", 16, 1, 4, True),
    ("linux", "cuda", "auto", 8, 4, 1, True),
    ("linux", "cuda", "auto", 2, 2, 0, True),
    ("linux", "auto", "auto", 16, 1, 0, True),
    ("linux", "cpu", "auto", 16, 1, 0, False),
    ("linux", "cuda", "safe", 16, 1, 0, False),
    ("linux", "cuda", "classic", 16, 1, 0, False),
    ("darwin", "mps", "auto", 16, 1, 0, False),
    ("darwin", "auto", "auto", 16, 1, 0, False),
    ("darwin", "cpu", "auto", 16, 1, 0, False),
    ("darwin", "mps", "classic", 16, 1, 0, False),
    ("win32", "cuda", "auto", 16, 1, 0, True),
    ("win32", "cpu", "auto", 16, 1, 0, False),
]


@pytest.mark.parametrize(("platform", "device", "profile", "cores", "runs", "workers", "pinned"), CASES)
def test_workers_and_pinned_memory_follow_the_device(
    platform: str, device: str, profile: str, cores: int, runs: int, workers: int, pinned: bool
) -> None:
    settings = loader_settings(
        platform=platform, device=device, profile=profile, cores=cores, num_concurrent=runs
    )
    assert (settings.num_workers, settings.pin_memory) == (workers, pinned)
    assert settings.persistent_workers == (workers > 0)
    assert settings.multiprocessing_context == ("spawn" if workers else None)
    assert all(settings.reasons.values())
    read = read_loader(as_environ(loader_variables(settings)))
    assert (read.num_workers, read.pin_memory, read.persistent_workers) == (
        workers,
        pinned,
        settings.persistent_workers,
    )
    assert (read.prefetch_factor, read.multiprocessing_context) == (
        settings.prefetch_factor,
        settings.multiprocessing_context,
    )


def test_without_variables_the_defaults_of_a_dataloader_hold() -> None:
    settings = read_loader({})
    assert (settings.num_workers, settings.pin_memory, settings.prefetch_factor) == (0, False, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NUM_WORKERS", "65"),
        ("NUM_WORKERS", "-1"),
        ("NUM_WORKERS", "many"),
        ("NUM_WORKERS", "１"),  # noqa: RUF001 - a digit, but not one of ours
        ("PIN_MEMORY", "yes"),
        ("PREFETCH_FACTOR", "0"),
        ("CONTEXT", "fork"),
    ],
)
def test_a_wrong_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(LoaderError) as caught:
        read_loader({f"SIGNALBOX_LOADER_{name}": value})
    assert caught.value.name == f"SIGNALBOX_LOADER_{name}"
