"""Forward and backward of a linear and a recurrent tower on a device, against the CPU in double precision.

Some backends return wrong gradients without an error (recurrent layers on MPS are the known case), so a
device is believed only when its numbers agree.  torch is loaded by name: this module must be importable
without it.
"""

from __future__ import annotations

import importlib
import math
from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict

TOLERANCE: Final = {"cpu": 1e-4, "cuda": 2e-2, "mps": 2e-2}  # relative error of the whole gradient
SEED: Final = 7
BATCH, LENGTH, WIDTH = 16, 12, 32


def compare(device: str) -> Check:
    """Judge ``device`` (``cpu``, ``cuda`` or ``mps``); torch must be able to use it."""
    torch = importlib.import_module("torch")
    errors = {name: _tower_error(torch, name, device) for name in ("linear", "gru")}
    where = torch.cuda.get_device_name() if device == "cuda" else device.upper()
    facts = {"torch": str(torch.__version__), "device": where}
    return judge(errors, device=device, facts=facts)


def judge(errors: dict[str, float], *, device: str, facts: dict[str, Any]) -> Check:
    """Judge the relative errors per tower; NaN counts as wrong."""
    limit = TOLERANCE[device]
    wrong = [name for name, error in errors.items() if not error <= limit]
    shown = {name: error if math.isfinite(error) else str(error) for name, error in errors.items()}
    details = {**facts, "relative_errors": shown, "tolerance": limit}
    name, title = f"gradients_{device}", f"Gradients on {'the CPU' if device == 'cpu' else device.upper()}"
    if not wrong:
        found = (
            f"Linear and recurrent towers give the right gradients on {facts['device']} "
            f"(largest relative error {max(errors.values()):.1g})."
        )
        return Check(name, title, Verdict.OK, found, "", details)
    found = (
        f"The gradients of the {' and '.join(wrong)} tower on {facts['device']} are wrong: "
        "training there would not fail, it would learn nonsense."
    )
    remedy = (
        "Reinstall torch: its CPU build does not fit this processor."
        if device == "cpu"
        else "Set the run's device to cpu"
        + (" or choose a tower without recurrent layers" if wrong == ["gru"] else "")
        + ", and try another version of torch."
    )
    return Check(name, title, Verdict.PROBLEM, found, remedy, details)


def _tower_error(torch: Any, name: str, device: str) -> float:
    expected = _gradient(torch, name, "cpu", torch.float64)
    actual = _gradient(torch, name, device, torch.float32)
    return float((actual - expected).norm() / expected.norm())


def _gradient(torch: Any, name: str, device: str, dtype: Any) -> Any:
    """Loss and all gradients of one batch as one vector of doubles on the CPU."""
    torch.manual_seed(SEED)
    nn = torch.nn
    tower = nn.GRU(WIDTH, WIDTH, batch_first=True) if name == "gru" else nn.Linear(WIDTH, WIDTH)
    left, right = torch.randn(BATCH, LENGTH, WIDTH), torch.randn(BATCH, WIDTH)
    tower = tower.to(device=device, dtype=dtype)
    left, right = left.to(device=device, dtype=dtype), right.to(device=device, dtype=dtype)
    out = tower(left)
    vectors = (out[0] if name == "gru" else torch.tanh(out)).mean(dim=1)
    scores = nn.functional.normalize(vectors, dim=1) @ nn.functional.normalize(right, dim=1).T
    loss = nn.functional.cross_entropy(scores / 0.1, torch.arange(BATCH, device=device))
    loss.backward()
    parts = [loss.detach().reshape(1), *(one.grad.reshape(-1) for one in tower.parameters())]
    return torch.cat([part.detach().to("cpu").double() for part in parts])
