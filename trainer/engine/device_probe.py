"""Which devices torch can really use here, asked in a process of its own before a run."""

from __future__ import annotations

from typing import Any

import torch

from trainer.engine.devices import DeviceUnavailable, describe, pick
from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.surroundings import Surroundings

NAMES = ("auto", "cpu", "cuda", "mps")


def look(surroundings: Surroundings) -> list[Check]:
    """Pick every device by name; the details say what became of each."""
    devices: dict[str, dict[str, Any]] = {}
    for name in NAMES:
        try:
            device = pick(name)
            torch.ones(2, device=device).sum().item()  # a driver that is there may still refuse
            devices[name] = {"type": device.type, "words": describe(device), "trouble": ""}
            if device.type == "cuda":
                devices[name]["num_gpus"] = torch.cuda.device_count()
                devices[name]["free_bytes"], devices[name]["whole_bytes"] = torch.cuda.mem_get_info(device)
        except (DeviceUnavailable, RuntimeError) as exc:
            devices[name] = {"type": "", "words": "", "trouble": str(exc).splitlines()[0]}
    found = f"auto takes {devices['auto']['words'] or 'none'}."
    return [Check("device", "Device", Verdict.OK, found, "", {"devices": devices})]
