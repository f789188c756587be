"""What is installed is told without loading it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

from trainer.environment.installed import release_of, torch_version


def test_the_version_of_torch_is_the_installed_one_and_torch_is_not_loaded() -> None:
    assert torch_version() == importlib.metadata.version("torch")
    code = (
        "import sys\nfrom trainer.environment.installed import torch_version\n"
        "torch_version()\nprint('torch' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_a_release_is_two_numbers() -> None:
    assert [release_of(version) for version in ("2.13.0+cpu", "2.9", "git", "", None)] == [
        (2, 13),
        (2, 9),
        None,
        None,
        None,
    ]
