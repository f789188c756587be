"""Runs every benchmark, one after the other: ``python -m benchmarks``, or ``make bench``."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def names() -> list[str]:
    """The modules that can be run; the others are their tools."""
    return sorted(
        path.stem
        for path in FOLDER.glob("*.py")
        if path.stem != "__main__" and "def main(" in path.read_text(encoding="utf-8")
    )


def main() -> int:
    """Run them all and keep what each prints; the number of those that failed is the exit code."""
    failed = 0
    for name in names():
        print(f"== {name}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}"],
            cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        print(done.stdout, flush=True)
        if done.returncode == 0:
            result = FOLDER / "results" / f"{name}-{time.strftime('%Y-%m-%d')}.md"
            result.write_text(done.stdout, encoding="utf-8")
        failed += done.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
