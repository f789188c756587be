"""Whether the device asked for is there, and sound for the model.

torch is asked only where an accelerator could be: starting it costs seconds.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.environment.doctor.registry import Probe
from trainer.environment.doctor.runner import Examination
from trainer.environment.doctor.sizes import size
from trainer.environment.doctor.surroundings import Surroundings
from trainer.preflight.outlook import Outlook
from trainer.preflight.question import Question
from trainer.protocol.rank_files import nproc_of

TITLE: Final = "Device"
LIMIT_S: Final = 28.0
_DRIVERS: Final = ("dev/nvidiactl", "dev/nvidia0", "dev/kfd", "dev/dxg")
RECURRENT_ON_MPS: Final = (
    "GRU and LSTM on MPS are known to train on wrong or NaN gradients and to leak memory, without an error "
    "(pytorch#94691, #145374, #177116)"
)


def could_accelerate(question: Question, *, torch_version: str | None = None) -> bool:
    """Whether torch must be asked: a device other than the CPU may be meant, and may be there."""
    if question.device == "cpu" or question.profile == "safe":
        return False
    if question.platform == "darwin":
        return question.device in ("auto", "mps")
    version = _torch_version() if torch_version is None else torch_version
    has_driver = any((question.root / name).exists() for name in _DRIVERS) or question.platform == "win32"
    return has_driver and "+cpu" not in version


def ask_torch(question: Question) -> Check:
    """What torch says of all devices, asked in the hardened environment of the one wanted."""
    probe = Probe(
        "trainer.engine.device_probe", TITLE, limit_s=LIMIT_S, is_heavy=True, device=question.device
    )
    (check,) = Examination(Surroundings(question.runs_dir.parent)).look(probe)
    return check


def judge(question: Question, outlook: Outlook | None, told: Check | None) -> Check:
    """Judge the device by what torch has ``told``; None when it was not asked."""
    name = question.device
    if told is not None and told.verdict is Verdict.PROBLEM:
        return Check("device", TITLE, told.verdict, told.found, told.remedy, told.details)
    known: dict[str, Any] = told.details["devices"] if told is not None else {}
    kind = known[name]["type"] if told is not None else {"auto": "cpu", "cpu": "cpu"}.get(name, "")
    if not kind or (question.profile == "safe" and name not in ("auto", "cpu")):
        trouble = known.get(name, {}).get("trouble") or _absent(question)
        return Check(
            "device", TITLE, Verdict.PROBLEM, f"{trouble}.", "Choose auto or cpu, or see the doctor.", known
        )
    if (crowd := _crowd(question, kind, known.get(name, {}))) is not None:
        return Check("device", TITLE, Verdict.PROBLEM, *crowd, known)
    if kind == "mps" and outlook is not None and outlook.is_recurrent:
        what = "auto takes mps, and this" if name == "auto" else "This"
        found = f"{what} model is recurrent: {RECURRENT_ON_MPS}."
        return Check("device", TITLE, Verdict.WARNING, found, "Set device to cpu.", known)
    words = known[name]["words"] if told is not None else "cpu"
    found = f"{'auto takes ' if name == 'auto' else ''}{words}."
    if kind == "cuda" and (tight := _tight(known[name], outlook)):
        return Check("device", TITLE, Verdict.WARNING, f"{found} {tight}", "Lower batch_size.", known)
    return Check("device", TITLE, Verdict.OK, f"{found[0].upper()}{found[1:]}", "", known)


def _crowd(question: Question, kind: str, device: dict[str, Any]) -> tuple[str, str] | None:
    """What is wrong with so many processes on this device, and the remedy; None when nothing is."""
    nproc = nproc_of(question.params)
    if nproc > 1 and kind == "mps":
        return f"An Apple GPU cannot be shared by {nproc} processes.", "Set nproc to 1, or device to cpu."
    num_gpus = int(device.get("num_gpus", 1))
    if kind == "cuda" and nproc > num_gpus:
        there = "is one" if num_gpus == 1 else f"are {num_gpus}"
        found = f"{nproc} processes need a GPU each, and there {there}."
        return found, f"Set nproc to {num_gpus}, or device to cpu."
    return None


def _tight(device: dict[str, Any], outlook: Outlook | None) -> str:
    """A sentence when weights and activations may not fit the GPU; the dataset stays outside of it."""
    free = int(device.get("free_bytes", 0))
    need = 0 if outlook is None else outlook.device_bytes
    return f"Its {size(free)} of free memory may be too little for about {size(need)}." if need > free else ""


def _absent(question: Question) -> str:
    if question.profile == "safe":
        return f"Device {question.device!r} was asked for, and the profile 'safe' trains on the CPU only"
    if question.device == "mps":
        return "Device 'mps' needs an Apple GPU and macOS; this system has none"
    built = ", and this torch is built for the CPU only" if "+cpu" in _torch_version() else ""
    return f"Device {question.device!r}: there is no driver of a GPU here{built}"


def _torch_version() -> str:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""
