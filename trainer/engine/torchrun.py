"""Several processes that train one run: ``python -m trainer.engine.torchrun --nproc N RUN_DIR --attempt K``.

torchrun (``torch.distributed.run``) starts the ranks, sees the first one fall
and ends the others. Three things it does in a way that a supervised run cannot
use, and these are done here: a SIGTERM is passed on as a wish to stop, so that
the ranks end with a checkpoint however long that takes; its exit status is that
of the rank that fell first, the signal included; and what the ranks write comes
out here, line by line with the rank before it.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

import psutil
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.run import main as torchrun

from trainer.engine.rank_output import RankOutput
from trainer.protocol.errors import ProtocolError
from trainer.protocol.events import Command
from trainer.protocol.files import read_object
from trainer.protocol.rank_files import LOST_PEER, RankFall, rank_paths, ranks_folder
from trainer.protocol.run_folder import RunPaths

_MONITOR_S: Final = 0.1
_PYTHON: Final = (sys.executable, "-u", "-X", "faulthandler", "-P", "-m")
_LAST: Final = (signal.SIGKILL, signal.SIGTERM)  # what torchrun itself ends the other ranks with


def main() -> None:
    """Parse the command line, train, and end as the first rank to fall has ended."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.engine.torchrun",
        description="Trains one attempt of a run in several processes.",
    )
    parser.add_argument("run_dir", type=Path, help="the run's folder, with its spec.json")
    parser.add_argument("--attempt", type=int, default=1, help="number of this launch, from 1")
    parser.add_argument("--nproc", type=int, required=True, help="how many processes")
    parser.add_argument("--module", default="trainer.engine", help="what each of them runs")
    arguments = parser.parse_args()
    paths = RunPaths(arguments.run_dir.absolute())
    fall = train_together(paths, attempt=arguments.attempt, nproc=arguments.nproc, module=arguments.module)
    if fall is not None:
        _end_as(fall)


def train_together(paths: RunPaths, *, attempt: int, nproc: int, module: str) -> RankFall | None:
    """Run ``module`` in ``nproc`` processes until all have ended; who fell first, if anybody."""
    ranks_folder(paths, attempt).mkdir(parents=True, exist_ok=True)
    _pass_stops_on(paths)
    output = RankOutput([rank_paths(paths, attempt, rank).output for rank in range(nproc)])
    output.start()
    try:
        torchrun(_arguments(paths, attempt=attempt, nproc=nproc, module=module))
    except ChildFailedError as exc:
        fall = first_to_fall(exc.failures, paths, attempt=attempt, count=nproc)
        with contextlib.suppress(OSError):  # a full disk: the exit status says nearly as much
            fall.save(paths, attempt)
        return fall
    finally:
        output.stop()
    return None


def first_to_fall(
    failures: dict[int, ProcessFailure], paths: RunPaths, *, attempt: int, count: int
) -> RankFall:
    """The rank with which it began; those that lost it, or were ended for it, come behind.

    torchrun looks ten times a second, and then sees several fall at once; its times are whole seconds.
    """

    def order(item: tuple[int, ProcessFailure]) -> tuple[int, float]:
        rank, failure = item
        if failure.exitcode == LOST_PEER:
            return 3, 0.0
        if failure.exitcode > 0:
            return 0, _raised_at(paths, attempt, rank)
        return (2 if -failure.exitcode in _LAST else 1), 0.0

    rank, failure = min(failures.items(), key=order)
    code, number = (failure.exitcode, None) if failure.exitcode >= 0 else (None, -failure.exitcode)
    return RankFall(rank, count, failure.pid, code, number)


def _raised_at(paths: RunPaths, attempt: int, rank: int) -> float:
    try:
        return float(read_object(rank_paths(paths, attempt, rank).exception)["t"])
    except (ProtocolError, OSError, KeyError):
        return float("inf")  # it left without an exception


def _arguments(paths: RunPaths, *, attempt: int, nproc: int, module: str) -> list[str]:
    trainer = [*_PYTHON, module, str(paths.root), "--attempt", str(attempt)]
    return [
        "--standalone",
        "--local-addr=127.0.0.1",
        f"--nproc-per-node={nproc}",
        "--max-restarts=0",
        f"--monitor-interval={_MONITOR_S}",
        "--signals-to-handle=SIGINT,SIGHUP,SIGQUIT",
        f"--log-dir={ranks_folder(paths, attempt) / 'torchrun'}",
        "--no-python",
        *trainer,
    ]


def _pass_stops_on(paths: RunPaths) -> None:
    """Take SIGTERM as a wish to stop, which rank 0 obeys; torchrun would kill the ranks after 30 s."""
    stop = paths.control / Command.STOP.value

    def on_signal(signum: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            stop.parent.mkdir(parents=True, exist_ok=True)
            stop.touch()
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process().children():  # one that somebody has suspended cannot obey
                with contextlib.suppress(psutil.Error):
                    child.send_signal(signal.SIGCONT)

    signal.signal(signal.SIGTERM, on_signal)


def _end_as(fall: RankFall) -> Any:
    sys.stdout.flush()
    if fall.signal is None:
        os._exit(fall.code or 1)
    faulthandler.disable()  # it is not this process that crashed
    signal.signal(fall.signal, signal.SIG_DFL) if fall.signal != signal.SIGKILL else None
    os.kill(os.getpid(), fall.signal)


if __name__ == "__main__":
    main()
