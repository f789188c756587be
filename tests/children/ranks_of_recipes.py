"""Trains one run after the other in this process: ``ranks_of_recipes FOLDER``, a run folder each below it.

Started by torchrun it is one rank of each; several runs share one start, which takes seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from trainer.engine.process import train_run
from trainer.protocol.run_folder import RunPaths

if __name__ == "__main__":
    torch.set_num_threads(1)
    for root in sorted(Path(sys.argv[1]).iterdir()):
        if (root / "spec.json").exists():
            train_run(RunPaths(root), attempt=1)
