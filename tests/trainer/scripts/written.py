"""Registered scripts for tests."""

from __future__ import annotations

from pathlib import Path

PRINTS = "import sys\nprint(sys.argv[1:])\n"
PLAIN = 'entry = "train.py"\n'


def write_script(scripts: Path, name: str = "mine", *, toml: str = PLAIN, program: str = PRINTS) -> Path:
    """Register a script as a person would; returns its folder."""
    folder = scripts / name
    folder.mkdir(parents=True, mode=0o755)
    scripts.chmod(0o755)
    (folder / "script.toml").write_text(toml, encoding="utf-8")
    (folder / "train.py").write_text(program, encoding="utf-8")
    for file in folder.iterdir():
        file.chmod(0o644)
    return folder
