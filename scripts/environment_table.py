"""Print the table of docs/environment.md: every variable a trainer can get, by platform, device and profile.

``python -m scripts.environment_table --write`` renews it in the page.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Final

from trainer.environment.build import PROFILES, build
from trainer.environment.inherited import allowed

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "environment.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
PLATFORMS: Final = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
DEVICES: Final = ("auto", "cpu", "cuda", "mps")
TORCHES: Final = ("2.13.0", "2.9.1")
CORES: Final = 8
MOMENTS: Final = {  # runs at a time, cores that others keep busy, processes of a run
    "one run at a time": (1, 0.0, 1),
    "two runs at a time": (2, 0.0, 1),
    "others at work": (1, float(CORES), 1),
    "a run of two processes": (1, 0.0, 2),
}

Case = tuple[str, str, str, str]  # platform, device, profile, moment
Row = tuple[str, str, str, str, str]  # name, value, reason, set by, known from


def rows() -> dict[Row, set[Case]]:
    """Every variable with its value and reasons, and the cases in which it is set so."""
    found: dict[Row, set[Case]] = {}
    cases = product(PLATFORMS, DEVICES, PROFILES, MOMENTS, TORCHES, (False, True))
    for platform, device, profile, moment, torch_version, shares in cases:
        variables = build(
            platform=platform,
            device=device,
            profile=profile,
            num_concurrent=MOMENTS[moment][0],
            physical_cores=CORES,
            busy_cores=MOMENTS[moment][1],
            nproc=MOMENTS[moment][2],
            inherited=dict.fromkeys(allowed(platform), "as it is"),
            run_dir="the run's folder",
            torch_version=torch_version,
            faiss_shares_process=shares,
        )
        for one in variables:
            value = "this repository" if one.name == "PYTHONPATH" else one.value
            row = (one.name, value, one.reason, one.source, one.reference)
            found.setdefault(row, set()).add((platform, device, profile, moment))
    return found


def table() -> str:
    """The table in Markdown."""
    lines = ["| variable | value | when | why | set by | known from |", "|---|---|---|---|---|---|"]
    for (name, value, reason, source, reference), cases in sorted(rows().items()):
        shown = "empty" if value == "" else value if source == "inherited" else f"`{value}`"
        known = f"[source]({reference})" if reference.startswith("https://") else reference
        lines.append(f"| `{name}` | {shown} | {when(cases)} | {reason} | {source} | {known} |")
    return "\n".join(lines) + "\n"


def when(cases: set[Case]) -> str:
    """The cases in words: one product of choices where they are one, else one per profile or platform."""
    words = _product(cases)
    if words is not None:
        return words
    for axis in (2, 0, 3):
        parts = [
            _product({case for case in cases if case[axis] == choice}) for choice in _choices(cases, axis)
        ]
        if all(part is not None for part in parts):
            return "; ".join(str(part) for part in parts)
    return "; ".join(", ".join(case) for case in sorted(cases))


def _choices(cases: set[Case], axis: int) -> list[str]:
    order = (list(PLATFORMS), list(DEVICES), list(PROFILES), list(MOMENTS))[axis]
    return [choice for choice in order if any(case[axis] == choice for case in cases)]


def _product(cases: set[Case]) -> str | None:
    axes = [_choices(cases, axis) for axis in range(4)]
    if set(product(*axes)) != cases:
        return None
    platforms, devices, profiles, moments = axes
    words = []
    if len(platforms) < len(PLATFORMS):
        words.append(" and ".join(PLATFORMS[platform] for platform in platforms))
    if len(devices) < len(DEVICES):
        words.append("device " + " or ".join(devices))
    if len(profiles) < len(PROFILES):
        words.append("profile " + " or ".join(profiles))
    if len(moments) < len(MOMENTS):
        words.append(" or ".join(moments))
    return ", ".join(words) or "always"


def renewed(page: str) -> str:
    """``page`` with the table as it should be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.stdout.write(table())
