"""What may be loaded, and what may happen, while modules are imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT, modules_of

HEAVY = ("torch", "faiss", "transformers", "tokenizers", "pandas", "scipy", "sklearn")

IMPORT_ALL = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps(sorted(set(json.loads(sys.argv[2])) & set(sys.modules))))
"""


def loaded_by(modules: list[str]) -> str:
    """Import ``modules`` in a fresh interpreter; answer the heavy packages that came with them."""
    command = [sys.executable, "-W", "error", "-c", IMPORT_ALL, json.dumps(modules), json.dumps(HEAVY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.process
def test_the_web_process_loads_no_training_library() -> None:
    assert loaded_by([*modules_of("app"), "wsgi"]) == "[]"


@pytest.mark.process
@pytest.mark.parametrize(
    "package",
    [
        *("protocol", "recipes", "environment", "supervisor", "telemetry", "diagnosis", "cli"),
        *("preflight", "verify"),
    ],
)
def test_light_parts_of_the_trainer_load_no_training_library(package: str) -> None:
    modules = modules_of(f"trainer/{package}")
    if modules:
        assert loaded_by(modules) == "[]"


@pytest.mark.process
def test_importing_everything_starts_no_thread_and_opens_no_database() -> None:
    script = (
        "import importlib, json, sys, threading, gc, sqlite3\n"
        "for name in json.loads(sys.argv[1]): importlib.import_module(name)\n"
        "print(threading.active_count(), sum(isinstance(o, sqlite3.Connection) for o in gc.get_objects()))\n"
    )
    command = [sys.executable, "-c", script, json.dumps([*modules_of("app"), "wsgi"])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["1", "0"]
