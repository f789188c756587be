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
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from trainer.environment.variables import Variable

PROFILES: Final = ("auto", "safe", "classic")

_INHERITED: Final[dict[str, str]] = {
    "PATH": "finds compilers and system commands",
    "HOME": "caches and settings of the libraries lie there",
    "USER": "some libraries name their cache folders after it",
    "LOGNAME": "some libraries name their cache folders after it",
    "LANG": "language and encoding of system messages",
    "LC_ALL": "language and encoding of system messages",
    "LC_CTYPE": "encoding of file names",
    "TZ": "local times in the output",
    "TMPDIR": "where temporary files go",
    "LD_LIBRARY_PATH": "finds the accelerator's libraries on machines set up that way",
    "CUDA_HOME": "finds the CUDA toolkit",
    "CUDA_VISIBLE_DEVICES": "which GPUs this user set aside for training",
    "HF_HOME": "the Hugging Face cache, so that nothing is fetched twice",
    "HF_HUB_OFFLINE": "the user's wish to stay off the network",
    "XDG_CACHE_HOME": "where caches go",
    "XDG_RUNTIME_DIR": "where runtime files go",
    "SYSTEMROOT": "Windows needs it to start any process",
}
_THREAD_NAMES: Final = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
)
_CLASSIC_WARNING: Final = "profile 'classic', the original recipe to the letter: "


def build(
    *,
    platform: str = sys.platform,
    device: str = "auto",
    profile: str = "auto",
    num_concurrent: int = 1,
    physical_cores: int = 1,
    inherited: Mapping[str, str] | None = None,
    run_dir: str | None = None,
    faiss_shares_process: bool = False,
) -> list[Variable]:
    """Return every variable the trainer will see, each with its reason.

    Args:
        platform: ``sys.platform`` of the machine that trains.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``, as asked for by the recipe's parameters.
        profile: ``auto``, ``safe`` or ``classic``.
        num_concurrent: how many runs share the machine, >= 1; the cores are divided among them.
        physical_cores: cores this process may use, >= 1.
        inherited: the environment to pick allowed names from; nothing else of it gets through.
        run_dir: the run folder, set when a process is really started.
        faiss_shares_process: whether torch and faiss will be loaded into one process; see
            :func:`trainer.recipes.search_process.loads_faiss_beside_torch`.
    Raises:
        ValueError: the profile is unknown, or a count is below 1.
    """
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    if num_concurrent < 1 or physical_cores < 1:
        raise ValueError("num_concurrent and physical_cores must be at least 1")
    variables = _always() + _from_outside(inherited or {}) + _identity(run_dir)
    variables += _threads(platform, profile, num_concurrent, physical_cores)
    variables += _for_platform(platform, profile, faiss_shares_process)
    variables += _for_device(platform, device, profile)
    return sorted(_last_wins(variables), key=lambda variable: variable.name)


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


def _from_outside(inherited: Mapping[str, str]) -> list[Variable]:
    return [
        Variable(name, inherited[name], reason, "inherited")
        for name, reason in _INHERITED.items()
        if name in inherited
    ]


def _identity(run_dir: str | None) -> list[Variable]:
    if run_dir is None:
        return []
    return [
        Variable("SIGNALBOX_RUN_DIR", run_dir, "marks every process of the run: none is left over", "always")
    ]


def _threads(platform: str, profile: str, num_concurrent: int, physical_cores: int) -> list[Variable]:
    if profile == "classic":
        unequal = _CLASSIC_WARNING + "OMP 4 with MKL 1 means one thread where torch uses MKL"
        return [
            Variable("OMP_NUM_THREADS", "4", unequal, "profile"),
            Variable("MKL_NUM_THREADS", "1", unequal, "profile"),
        ]
    if profile == "safe":
        count, reason = 1, "profile 'safe': one thread cannot deadlock with another"
    else:
        count = max(1, physical_cores // num_concurrent)
        reason = (
            f"{physical_cores} cores / {num_concurrent} runs at a time; equal everywhere, or the lowest rules"
        )
    source = "profile" if profile == "safe" else "threads"
    names = _THREAD_NAMES + (("VECLIB_MAXIMUM_THREADS",) if platform == "darwin" else ())
    waiting = "waiting threads sleep instead of spinning: several times faster when cores are shared"
    return [Variable(name, str(count), reason, source) for name in names] + [
        Variable("OMP_WAIT_POLICY", "PASSIVE", waiting, source)
    ]


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


def _for_device(platform: str, device: str, profile: str) -> list[Variable]:
    if profile == "classic":
        reason = _CLASSIC_WARNING + "no memory limit on MPS: the whole system may fail"
        return [Variable("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0", reason, "profile")]
    if profile == "safe":
        reason = "profile 'safe': no accelerator"
        return [Variable("CUDA_VISIBLE_DEVICES", "", reason, "profile")]
    variables = []
    if platform == "darwin" and device in ("auto", "mps"):
        reason = "operators MPS lacks run on the CPU instead of failing; must be set before torch loads"
        variables.append(Variable("PYTORCH_ENABLE_MPS_FALLBACK", "1", reason, "device"))
    if platform == "linux" and device in ("auto", "cuda"):
        reason = "less fragmentation of GPU memory; without effect on a CPU"
        variables.append(Variable("PYTORCH_ALLOC_CONF", "expandable_segments:True", reason, "device"))
    if device == "cpu":
        reason = "the run asked for the CPU: no CUDA context, no GPU memory taken"
        variables.append(Variable("CUDA_VISIBLE_DEVICES", "", reason, "device"))
    return variables


def _last_wins(variables: list[Variable]) -> list[Variable]:
    return list({variable.name: variable for variable in variables}.values())
