"""The source files of the repository, as the architecture tests see them."""

from __future__ import annotations

import ast
import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("app", "trainer", "wsgi.py", "scripts")


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the work tree that git does not ignore; all files where there is no git."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        skipped = {".venv", ".git", "instance", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
        found = (path for path in ROOT.rglob("*") if not skipped & set(path.relative_to(ROOT).parts))
        return tuple(sorted(path for path in found if path.is_file()))
    return tuple(path for name in sorted(set(listing.splitlines())) if (path := ROOT / name).is_file())


def files_with(*suffixes: str, under: tuple[str, ...] = ()) -> list[Path]:
    """Tracked files with one of ``suffixes`` whose first folder (or name) is in ``under``, if given."""
    return [
        path
        for path in tracked_files()
        if path.suffix in suffixes and (not under or path.relative_to(ROOT).parts[0] in under)
    ]


def product_modules() -> list[Path]:
    """The Python files of the product, without tests, benchmarks and migrations."""
    return files_with(".py", under=PRODUCT)


def modules_of(folder: str) -> list[str]:
    """Dotted names of all modules below ``folder``, without the ``__main__`` ones."""
    names = []
    for path in files_with(".py"):
        name = path.relative_to(ROOT)
        if name.is_relative_to(folder) and name.name != "__main__.py":
            names.append(".".join(name.with_suffix("").parts).removesuffix(".__init__"))
    return names


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path, line: int | None = None) -> str:
    """``path`` as a person would open it."""
    name = str(path.relative_to(ROOT))
    return name if line is None else f"{name}:{line}"
