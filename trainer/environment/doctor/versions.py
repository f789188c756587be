"""Installed versions that are known to fail, alone or together."""

from __future__ import annotations

import platform as python_platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from trainer.environment.doctor.check import Check, Verdict, worst
from trainer.environment.doctor.surroundings import Surroundings

REQUIREMENTS: Final = Path(__file__).resolve().parents[3] / "requirements.txt"
WATCHED: Final = ("torch", "faiss-cpu", "numpy", "datasets", "tensorflow", "pyarrow")
NEEDED: Final = ("torch", "faiss-cpu", "numpy")
TITLE: Final = "Versions known to be bad"

Versions = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Rule:
    """A combination that fails; ``applies`` gets the numbers of the installed packages and the platform."""

    applies: Callable[[Versions, str], bool]
    verdict: Verdict
    found: str
    remedy: str
    source: str


RULES: Final = (
    Rule(
        lambda has, _: _below(has, "faiss-cpu", 1, 9) and _from(has, "numpy", 2),
        Verdict.PROBLEM,
        "faiss-cpu before 1.9.0 is built for NumPy 1 and cannot be imported beside NumPy 2",
        "install faiss-cpu 1.9.0 or later, or numpy below 2",
        "kyamagu/faiss-wheels#104",
    ),
    Rule(
        lambda has, _: _below(has, "torch", 2, 3) and _from(has, "numpy", 2),
        Verdict.PROBLEM,
        "torch before 2.3 is built for NumPy 1: exchanging arrays with NumPy 2 fails",
        "install a newer torch, or numpy below 2",
        "signature numpy_abi",
    ),
    Rule(
        lambda has, where: where == "darwin" and _from(has, "tensorflow", 2, 20) and "pyarrow" in has,
        Verdict.PROBLEM,
        "tensorflow 2.20 or later clashes with pyarrow on macOS: imports hang at [mutex.cc] Lock blocking",
        "uninstall tensorflow, or install one below 2.20; USE_TF=0 keeps it out of trainers",
        "tensorflow/tensorflow#99464",
    ),
    Rule(
        lambda has, _: _from(has, "datasets", 4, 1),
        Verdict.NOTE,
        "datasets 4.1 or later forks a worker even for num_proc=1",
        "leave num_proc at None",
        "huggingface/datasets#7702",
    ),
)


def look(surroundings: Surroundings) -> list[Check]:
    """Read what is installed; nothing is imported."""
    installed = {}
    for name in {*WATCHED, *pinned(REQUIREMENTS)}:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return [judge(installed, pins=pinned(REQUIREMENTS), platform=surroundings.platform)]


def judge(installed: Mapping[str, str], *, pins: Mapping[str, str], platform: str) -> Check:
    """Judge the ``installed`` versions by the rules, and by the set the product was tried with."""
    numbers = {name: _numbers(version) for name, version in installed.items()}
    hits = [rule for rule in RULES if rule.applies(numbers, platform)]
    missing = [name for name in NEEDED if name not in installed]
    other = {
        name: f"{installed[name]} instead of {pin}"
        for name, pin in pins.items()
        if name in installed and _numbers(installed[name]) != _numbers(pin)
    }
    verdicts = [rule.verdict for rule in hits]
    sentences = [rule.found for rule in hits]
    remedies = [rule.remedy for rule in hits]
    if missing:
        verdicts.append(Verdict.PROBLEM)
        sentences.append(f"{', '.join(missing)} is not installed")
        remedies.append("make run installs what is missing")
    if other:
        verdicts.append(Verdict.NOTE)
        sentences.append(f"{len(other)} packages differ from the set that was tried together")
        remedies.append("make run installs that set")
    shown = ", ".join(f"{name} {installed[name]}" for name in WATCHED if name in installed)
    found = (
        "; ".join(sentences)
        if sentences
        else f"None among Python {python_platform.python_version()}, {shown}"
    )
    return Check(
        "versions",
        TITLE,
        worst(verdicts),
        f"{found}.",
        _sentence(remedies),
        {
            "installed": dict(sorted(installed.items())),
            "different": other,
            "sources": [rule.source for rule in hits],
        },
    )


def pinned(path: Path) -> dict[str, str]:
    """Names and exact versions of a requirements file; empty where there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    found = (re.match(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==([^\s#]+)", line) for line in lines)
    return {match.group(1): match.group(2) for match in found if match}


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _numbers(version: str) -> tuple[int, ...]:
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in release.group().split(".")) if release else ()


def _from(has: Versions, name: str, *least: int) -> bool:
    return name in has and has[name] >= least


def _below(has: Versions, name: str, *limit: int) -> bool:
    return name in has and has[name] < limit
