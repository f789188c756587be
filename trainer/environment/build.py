"""The hardened environment of a trainer, built from nothing rather than from what is lying around.

Pure functions: everything they depend on is an argument.  Variables must be
set before the interpreter starts; most are read once, while torch or an OpenMP
runtime is being loaded, so a script that sets them itself is too late.

Profiles: ``auto`` is what we believe in; ``safe`` gives up speed for isolation
(one thread, no accelerator); ``classic`` reproduces the recipe this product
replaces to the letter and carries the warnings it deserves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from trainer.environment.inherited import inherited_variables
from trainer.environment.installed import release_of
from trainer.environment.loader import loader_settings, loader_variables
from trainer.environment.references import reference_of
from trainer.environment.variables import Variable

PROFILES: Final = ("auto", "safe", "classic")
AUTO_DEVICE: Final = "SIGNALBOX_AUTO_DEVICE"

_THREAD_NAMES: Final = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
)
_CLASSIC_WARNING: Final = "profile 'classic', the original recipe to the letter: "
_SPARE_CORES: Final = 0.5  # a moment of somebody else's work is no crowd
_NEW_ALLOCATOR_NAME: Final = (2, 11)  # the first torch known to obey PYTORCH_ALLOC_CONF on CUDA


def build(
    *,
    platform: str = sys.platform,
    device: str = "auto",
    profile: str = "auto",
    num_concurrent: int = 1,
    nproc: int = 1,
    physical_cores: int = 1,
    busy_cores: float = 0.0,
    inherited: Mapping[str, str] | None = None,
    run_dir: str | None = None,
    torch_version: str | None = None,
    overrides: Mapping[str, str] | None = None,
    rung_variables: Mapping[str, str] | None = None,
    faiss_shares_process: bool = False,
) -> list[Variable]:
    """Return every variable the trainer will see, each with its reason.

    Args:
        platform: ``sys.platform`` of the machine that trains.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``, as asked for by the recipe's parameters.
        profile: ``auto``, ``safe`` or ``classic``.
        num_concurrent: how many runs share the machine, >= 1; the cores are divided among them.
        nproc: how many processes train this run together, >= 1; the run's cores are divided among them.
        physical_cores: cores this process may use, >= 1.
        busy_cores: how many cores others are using just now.
        inherited: the environment to pick allowed names from; nothing else of it gets through.
        run_dir: the run folder, set when a process is really started.
        torch_version: of the torch that trains, e.g. ``2.13.0+cpu``; None stands for a recent one.
        overrides: the user's own variables, checked; they replace ours and are marked as theirs.
        rung_variables: variables set by rungs of the fallback ladder; they come last.
        faiss_shares_process: whether torch and faiss will be loaded into one process; see
            :func:`trainer.recipes.search_process.loads_faiss_beside_torch`.
    Raises:
        ValueError: the profile is unknown, or a count is below 1.
    """
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    if num_concurrent < 1 or physical_cores < 1 or nproc < 1:
        raise ValueError("num_concurrent, nproc and physical_cores must be at least 1")
    variables = _always() + inherited_variables(platform, inherited or {}) + _identity(run_dir)
    variables += _threads(platform, profile, num_concurrent, nproc, physical_cores, busy_cores)
    variables += _for_ranks(platform, nproc) + _for_platform(platform, profile, faiss_shares_process)
    variables += _for_device(platform, device, profile, torch_version)
    variables += _for_loading(platform, device, profile, max(1, physical_cores // (num_concurrent * nproc)))
    variables = [replace(variable, reference=reference_of(variable.name)) for variable in variables]
    variables = _last_wins(variables)
    variables = _over(variables, _set_by("yours", "set by you", overrides))
    variables = _over(variables, _set_by("rung", "set by the fallback ladder", rung_variables))
    return sorted(variables, key=lambda variable: variable.name)


def device_conflict(device: str, profile: str, *, nproc: int = 1) -> str | None:
    """Why ``device`` cannot be had with ``profile`` and ``nproc`` processes, in words; None when it can."""
    if nproc > 1 and device == "mps":
        return f"an Apple GPU cannot be shared by {nproc} processes; choose device cpu, or nproc 1"
    if profile == "safe" and device in ("cuda", "mps"):
        return f"profile 'safe' trains on the CPU, but the device asked for is {device}; choose auto or cpu"
    return None


def _always() -> list[Variable]:
    root = str(Path(__file__).resolve().parents[2])
    return [
        Variable("PYTHONUNBUFFERED", "1", "output reaches the log before a crash, not after it", "always"),
        Variable("PYTHONFAULTHANDLER", "1", "a native crash leaves a Python traceback", "always"),
        Variable("PYTHONIOENCODING", "utf-8", "no character of a dataset can break a print", "always"),
        Variable("PYTHONPATH", root, "the trainer is found whatever the working directory is", "always"),
        Variable("TOKENIZERS_PARALLELISM", "false", "its threads deadlock with forked workers", "always"),
        Variable("USE_TF", "0", "keeps TensorFlow's clashing runtimes out of the process", "always"),
    ]


def _identity(run_dir: str | None) -> list[Variable]:
    if run_dir is None:
        return []
    return [
        Variable("SIGNALBOX_RUN_DIR", run_dir, "marks every process of the run: none is left over", "always")
    ]


def _threads(
    platform: str, profile: str, num_concurrent: int, nproc: int, physical_cores: int, busy_cores: float
) -> list[Variable]:
    if profile == "classic":
        unequal = _CLASSIC_WARNING + "OMP 4 with MKL 1 means one thread where torch uses MKL"
        return [
            Variable("OMP_NUM_THREADS", "4", unequal, "profile"),
            Variable("MKL_NUM_THREADS", "1", unequal, "profile"),
        ]
    if profile == "safe":
        count, reason = 1, "profile 'safe': one thread cannot deadlock with another"
    else:
        count = max(1, physical_cores // (num_concurrent * nproc))
        shared = "one run" if num_concurrent == 1 else f"divided by {num_concurrent} runs"
        each = "" if nproc == 1 else f", divided by its {nproc} processes"
        reason = f"{physical_cores} cores, {shared} at a time{each}; equal everywhere, or the lowest rules"
    source = "profile" if profile == "safe" else "threads"
    names = _THREAD_NAMES + (("VECLIB_MAXIMUM_THREADS",) if platform == "darwin" else ())
    numbers = [Variable(name, str(count), reason, source) for name in names]
    return numbers + _waiting(platform, profile, count * nproc, physical_cores - busy_cores)


def _for_ranks(platform: str, nproc: int) -> list[Variable]:
    """What several processes need to find each other, on this machine and nowhere else."""
    if nproc == 1:
        return []
    loopback = "lo0" if platform == "darwin" else "lo"
    reason = "the processes of the run talk over loopback only: no port of theirs is open to the network"
    return [
        Variable(name, loopback, reason, "ranks") for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
    ]


def _waiting(platform: str, profile: str, num_threads: int, free_cores: float) -> list[Variable]:
    """What threads do between two parallel loops, measured by ``benchmarks/thread_waiting.py``."""
    name, sleeps = "OMP_WAIT_POLICY", "waiting threads sleep instead of spinning"
    if profile == "safe":
        return [Variable(name, "PASSIVE", f"profile 'safe': {sleeps}", "profile")]
    if platform != "linux":
        return [Variable(name, "PASSIVE", f"{sleeps}: nobody has to wait for a core they hold", "threads")]
    if num_threads <= free_cores + _SPARE_CORES:
        return []  # each thread has a core of its own: the runtime's short spinning is a fifth faster
    reason = (
        f"{sleeps}: {max(0.0, free_cores):.1f} cores were free for {num_threads} threads at the start, "
        "and then it is about twice as fast"
    )
    return [Variable(name, "PASSIVE", reason, "threads")]


def _for_platform(platform: str, profile: str, faiss_shares_process: bool) -> list[Variable]:
    if profile == "classic":
        reason = (
            _CLASSIC_WARNING + "silences the duplicate-OpenMP abort; the runtime itself warns of crashes and "
            "silently wrong results"
        )
        return [Variable("KMP_DUPLICATE_LIB_OK", "TRUE", reason, "profile")]
    if platform == "darwin" and faiss_shares_process:
        reason = (
            "unsafe, but this run searches inside the trainer, and on macOS torch and faiss each bring their "
            "own OpenMP: without this it aborts, with it results may be silently wrong; faiss is kept to one "
            "thread. search_process=own needs none of it"
        )
        return [Variable("KMP_DUPLICATE_LIB_OK", "TRUE", reason, "platform")]
    return []


def _for_device(platform: str, device: str, profile: str, torch_version: str | None) -> list[Variable]:
    if profile == "classic":
        reason = _CLASSIC_WARNING + "no memory limit on MPS: the whole system may fail"
        return [Variable("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0", reason, "profile")]
    if profile == "safe":
        hidden = "profile 'safe': no accelerator"
        instead = "profile 'safe': device auto means the CPU; hiding CUDA alone would leave MPS"
        return [
            Variable("CUDA_VISIBLE_DEVICES", "", hidden, "profile"),
            Variable(AUTO_DEVICE, "cpu", instead, "profile"),
        ]
    if device == "cpu":
        reason = "the run asked for the CPU: no CUDA context, no GPU memory taken"
        return [Variable("CUDA_VISIBLE_DEVICES", "", reason, "device")]
    variables = []
    if platform == "darwin" and device in ("auto", "mps"):
        reason = "operators MPS lacks run on the CPU instead of failing; must be set before torch loads"
        variables.append(Variable("PYTORCH_ENABLE_MPS_FALLBACK", "1", reason, "device"))
    if platform == "linux" and device in ("auto", "cuda"):
        variables.append(_allocator(torch_version))
    return variables


def _for_loading(platform: str, device: str, profile: str, cores: int) -> list[Variable]:
    settings = loader_settings(platform=platform, device=device, profile=profile, cores=cores)
    return loader_variables(settings, source="loader" if profile == "auto" else "profile")


def _allocator(torch_version: str | None) -> Variable:
    release = release_of(torch_version)
    reason = "less fragmentation of GPU memory; without effect on a CPU"
    if release is not None and release < _NEW_ALLOCATOR_NAME:
        older = f"{reason}; torch {torch_version} may ignore the newer name PYTORCH_ALLOC_CONF"
        return Variable("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", older, "device")
    return Variable("PYTORCH_ALLOC_CONF", "expandable_segments:True", reason, "device")


def _set_by(source: str, reason: str, given: Mapping[str, str] | None) -> list[Variable]:
    return [Variable(name, value, reason, source) for name, value in (given or {}).items()]


def _over(variables: Iterable[Variable], later: Iterable[Variable]) -> list[Variable]:
    """``variables`` with ``later`` in their place; what was replaced stays visible."""
    by_name = {variable.name: variable for variable in variables}
    for variable in later:
        before = by_name.get(variable.name)
        by_name[variable.name] = variable if before is None else replace(variable, replaced=before)
    return list(by_name.values())


def _last_wins(variables: list[Variable]) -> list[Variable]:
    return list({variable.name: variable for variable in variables}.values())
