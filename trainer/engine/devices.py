"""Which device a run trains on."""

from __future__ import annotations

import os

import torch

from trainer.engine.place import here
from trainer.environment.build import AUTO_DEVICE


class DeviceUnavailable(ValueError):
    """The device asked for is not there; the message says what to choose instead."""


def pick(name: str) -> torch.device:
    """The device called ``name`` (see :func:`_pick`); of several GPUs the one of this process's rank.

    Raises:
        DeviceUnavailable: the name is unknown, or the device is not usable here by so many processes.
    """
    device, place = _pick(name), here()
    if place.is_alone or device.type == "cpu":
        return device
    if device.type == "mps":
        raise DeviceUnavailable(
            f"an Apple GPU cannot be shared by {place.count} processes; choose device 'cpu', or nproc 1"
        )
    found = torch.cuda.device_count()
    if place.count > found:
        raise DeviceUnavailable(too_few_gpus(place.count, found))
    return torch.device("cuda", place.local_rank)


def too_few_gpus(wanted: int, found: int) -> str:
    """What is said where there are fewer GPUs than processes."""
    gpus = "one GPU" if found == 1 else f"{found} GPUs"
    return f"{wanted} processes need a GPU each, and there is {gpus}; choose nproc {found}, or device 'cpu'"


def _pick(name: str) -> torch.device:
    """The device called ``auto``, ``cpu``, ``cuda`` or ``mps``; ``auto`` takes the fastest there is.

    Profile ``safe`` lets ``auto`` stand for the CPU, see :mod:`trainer.environment.build`.

    Raises:
        DeviceUnavailable: the name is unknown or the device is not usable here.
    """
    if name == "auto":
        return torch.device(_fastest())
    if name == "cpu":
        return torch.device("cpu")
    if name == "cuda":
        if torch.version.cuda is None and torch.version.hip is None:
            raise DeviceUnavailable(
                "device 'cuda': this torch is built for the CPU only; choose 'auto' or install a CUDA build"
            )
        if not torch.cuda.is_available():
            raise DeviceUnavailable("device 'cuda': no usable GPU or driver found; choose 'auto' or 'cpu'")
        return torch.device("cuda")
    if name == "mps":
        if not torch.backends.mps.is_available():
            raise DeviceUnavailable("device 'mps': needs an Apple GPU and macOS 14; choose 'auto' or 'cpu'")
        return torch.device("mps")
    raise DeviceUnavailable(f"device {name!r} is unknown; choose auto, cpu, cuda or mps")


def describe(device: torch.device) -> str:
    """The device in words, e.g. ``cuda (NVIDIA H200)`` or ``cpu (2 threads)``."""
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    if device.type == "cpu":
        num_threads = torch.get_num_threads()
        return f"cpu ({num_threads} thread{'s' if num_threads != 1 else ''})"
    return device.type


def _fastest() -> str:
    if os.environ.get(AUTO_DEVICE) == "cpu":
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
