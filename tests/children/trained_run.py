"""Trains the run of a folder like the trainer does, then tells whether faiss ever came into the process.

``python -m tests.children.trained_run RUN_DIR``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psutil

from trainer.engine.process import train_run
from trainer.protocol.run_folder import RunPaths


def main() -> None:
    """Train, then look."""
    train_run(RunPaths(Path(sys.argv[1])), attempt=1)
    maps = [Path(one.path).name for one in psutil.Process().memory_maps() if "faiss" in one.path]
    sys.stdout.write("\n" + json.dumps({"module": "faiss" in sys.modules, "libraries": maps}) + "\n")


if __name__ == "__main__":
    main()
