"""What a trainer may inherit: an allow-list, so that no secret of the server reaches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainer.environment.variables import Variable

_EVERYWHERE: Final[dict[str, str]] = {
    "PATH": "finds compilers and system commands",
    "HOME": "caches and settings of the libraries lie there",
    "USER": "some libraries name their cache folders after it",
    "LOGNAME": "some libraries name their cache folders after it",
    "LANG": "language and encoding of system messages",
    "LC_ALL": "language and encoding of system messages",
    "LC_CTYPE": "encoding of file names",
    "TZ": "local times in the output",
    "TMPDIR": "where temporary files go",
    "CUDA_HOME": "finds the CUDA toolkit",
    "CUDA_VISIBLE_DEVICES": "which GPUs this user set aside for training",
    "CUDA_DEVICE_ORDER": "in which order CUDA_VISIBLE_DEVICES counts the GPUs",
    "HF_HOME": "the Hugging Face cache, so that nothing is fetched twice",
    "HF_HUB_OFFLINE": "the user's wish to stay off the network",
    "XDG_CACHE_HOME": "where caches go",
    "XDG_RUNTIME_DIR": "where runtime files go",
}
_LINUX: Final[dict[str, str]] = {
    "LD_LIBRARY_PATH": "finds the accelerator's libraries on machines set up that way",
}
_WINDOWS: Final[dict[str, str]] = {
    "SYSTEMROOT": "Windows needs it to start any process",
    "USERPROFILE": "the home folder: caches and settings of the libraries lie there",
    "TEMP": "where temporary files go",
    "TMP": "where temporary files go",
    "PATHEXT": "which endings make a file a command",
}


def allowed(platform: str) -> dict[str, str]:
    """The names that may be inherited on ``platform`` (a ``sys.platform``), each with its reason."""
    if platform == "win32":
        return {**_EVERYWHERE, **_WINDOWS}
    return {**_EVERYWHERE, **_LINUX} if platform == "linux" else dict(_EVERYWHERE)


def inherited_variables(platform: str, inherited: Mapping[str, str]) -> list[Variable]:
    """What of ``inherited`` gets through."""
    return [
        Variable(name, inherited[name], reason, "inherited")
        for name, reason in allowed(platform).items()
        if name in inherited
    ]
