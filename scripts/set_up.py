"""Sets up ``.venv``: the packages, and with ``--dev`` a Chromium for the browser tests.

Started by ``scripts/setup.sh`` with a Python that Signalbox runs on; only the
standard library may be imported here.  Quick when nothing has changed: a
stamp in ``.venv`` holds the hash of what was installed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"


class SetupError(Exception):
    """Setting up cannot go on; the message is the one line a person needs."""


def main(arguments: list[str]) -> int:
    """Set everything up; returns the exit code."""
    is_dev = "--dev" in arguments
    try:
        check_platform()
        make_venv()
        install("requirements-dev.txt" if is_dev else "requirements.txt")
    except SetupError as exc:
        print(f"setup: {exc}", file=sys.stderr)
        return 1
    if is_dev:
        subprocess.run([PYTHON, "-m", "scripts.chromium"], cwd=ROOT, check=False)
    return 0


def check_platform() -> None:
    """Refuse machines for which there is no PyTorch to install.

    Raises:
        SetupError: neither Linux (x86-64, arm64) nor macOS on Apple silicon.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) not in {
        ("Linux", "x86_64"),
        ("Linux", "aarch64"),
        ("Darwin", "arm64"),
    }:
        raise SetupError(
            f"Signalbox runs on Linux (x86-64, arm64) and macOS (arm64), not on {system} {machine}"
        )


def make_venv() -> None:
    """Create ``.venv``, or replace one whose interpreter is gone.

    Raises:
        SetupError: this Python cannot make virtual environments.
    """
    if _runs(PYTHON):
        return
    if any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip")):
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        raise SetupError(
            f"this Python lacks its venv module; install it with 'apt install {package}' and repeat"
        )
    print(f"setup: creating .venv with Python {platform.python_version()}", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=False).returncode != 0:
        raise SetupError(f"could not create {VENV}; the lines above say why")


def install(requirements: str) -> None:
    """Install ``requirements`` into ``.venv`` unless the stamp says that they are there.

    Raises:
        SetupError: neither uv nor pip could install them.
    """
    stamp, wanted = VENV / f".installed-{requirements}", _fingerprint()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print(f"setup: installing {requirements}", flush=True)
    if not (_install_with_uv(requirements) or _install_with_pip(requirements)):
        raise SetupError(f"could not install {requirements}; the lines above say why")
    stamp.write_text(wanted)


def _install_with_uv(requirements: str) -> bool:
    """Ten times as fast as pip. uv does not read pip's configuration, so it is told what pip would do."""
    has_uv = subprocess.run([str(PYTHON), "-m", "pip", "install", "-qq", "uv"], check=False).returncode == 0
    if not has_uv:
        return False
    options, environment = _uv_options(_pip_configuration())
    command = [str(PYTHON), "-m", "uv", "pip", "install", *_quietly(), "--python", str(PYTHON), *options]
    command += ["-r", requirements]
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0:
        return True
    print("setup: uv could not, trying pip", flush=True)
    return False


def _install_with_pip(requirements: str) -> bool:
    command = [str(PYTHON), "-m", "pip", "install", *_quietly(), "-r", requirements]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _quietly() -> list[str]:
    """A person sees the progress of what may be gigabytes; a log file need not hold it."""
    return [] if sys.stdout.isatty() else ["--quiet"]


def _uv_options(pip: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """uv's arguments and environment for pip's configuration ``pip``."""
    options = ["--index-strategy", "unsafe-best-match"]  # like pip: the best version of all indexes
    for name in ("index-url", "extra-index-url", "find-links"):
        for location in pip.get(name, "").split():
            options += [f"--{name}", location]
    if pip.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        options.append("--no-index")
    environment = dict(os.environ)
    if "cert" in pip:
        environment.setdefault("SSL_CERT_FILE", pip["cert"])
    return options, environment


def _pip_configuration() -> dict[str, str]:
    """What pip's files and PIP_* variables set for an installation, the variables last."""
    command = [str(PYTHON), "-m", "pip", "config", "list"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    entries: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section in entries:
            entries[section][name] = str(ast.literal_eval(value))
    return entries["global"] | entries["install"] | entries[":env:"]


def _fingerprint() -> str:
    """Changes with any requirement and with the interpreter."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(ROOT.glob("requirements*.txt")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _runs(python: Path) -> bool:
    """Whether ``python`` is there and has a working pip."""
    try:
        return (
            subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode
            == 0
        )
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
