"""Whether CUDA can be used, and computes what the CPU computes."""

from __future__ import annotations

import importlib
import shutil
from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.gradients import compare
from trainer.environment.doctor.surroundings import Surroundings

TITLE: Final = "Gradients on CUDA"
DEVICE_FILES: Final = ("nvidiactl", "nvidia0", "dxg", "nvhost-ctrl", "nvmap")


def look(surroundings: Surroundings) -> list[Check]:
    """Nothing is loaded where there is no sign of an NVIDIA device."""
    if not has_nvidia(surroundings):
        found = "This machine shows no NVIDIA device: runs do not use CUDA."
        return [Check("gradients_cuda", TITLE, Verdict.OK, found)]
    torch = importlib.import_module("torch")
    if torch.version.cuda is None:
        found = f"There is an NVIDIA device, but torch {torch.__version__} is built without CUDA."
        remedy = "Install the CUDA build of torch to train on it."
        return [Check("gradients_cuda", TITLE, Verdict.WARNING, found, remedy)]
    if not torch.cuda.is_available():
        build = f"torch {torch.__version__} (CUDA {torch.version.cuda})"
        found = f"There is an NVIDIA device, but {build} cannot use it."
        remedy = (
            "Run nvidia-smi: a driver upgraded under a running kernel needs a reboot, an old one an upgrade; "
            "an empty CUDA_VISIBLE_DEVICES hides the device."
        )
        return [Check("gradients_cuda", TITLE, Verdict.WARNING, found, remedy)]
    return [compare("cuda")]


def has_nvidia(surroundings: Surroundings) -> bool:
    """Whether device files or the driver's own tool are there."""
    dev = surroundings.root / "dev"
    return any((dev / name).exists() for name in DEVICE_FILES) or shutil.which("nvidia-smi") is not None
