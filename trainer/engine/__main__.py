"""The trainer process: ``python -m trainer.engine RUN_DIR --attempt N``.

Exit code 0: finished, or stopped with a checkpoint. 1: an exception, its
traceback on standard error. SIGUSR1 writes all threads' stacks into the
attempt's ``stacks.txt``; the handler is set before torch is loaded, and needs
neither memory nor the interpreter lock.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from trainer.engine.place import here
from trainer.engine.process import Entry, train_run
from trainer.engine.rank_output import join_the_others, stacks_of
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.stack_dumps import answer_with_stacks


def main(entry: Entry | None = None) -> None:
    """Parse the command line and train; ``entry`` is what trains, without one the recipe says it."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.engine", description="Trains one attempt of a run."
    )
    parser.add_argument("run_dir", type=Path, help="the run's folder, with its spec.json")
    parser.add_argument("--attempt", type=int, default=1, help="number of this launch, from 1")
    arguments = parser.parse_args()
    if arguments.attempt < 1:
        parser.error("--attempt counts from 1")
    paths = RunPaths(arguments.run_dir.absolute())
    if not paths.spec.exists():
        parser.error(f"{paths.root} is not a run folder: it has no spec.json")
    place = here()
    if not place.is_alone:
        join_the_others(place, paths, arguments.attempt)
    answer_with_stacks(paths, attempt=arguments.attempt, into=stacks_of(place, paths, arguments.attempt))
    logging.basicConfig(stream=sys.stdout, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("trainer").setLevel(logging.INFO)  # libraries may only warn
    train_run(paths, attempt=arguments.attempt, entry=entry)


if __name__ == "__main__":
    main()
