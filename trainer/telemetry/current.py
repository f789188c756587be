"""What a user's own script says of its training, in two lines::

    from trainer.telemetry import current_run
    run = current_run()
    run.log({"train/loss": loss}, step=i)

Under a supervisor the words go into the run's spool; anywhere else they do
nothing. No call blocks, none raises. The first report makes this process the
one that reports: the supervisor reads the output no more, and other processes
of the script (ranks, workers) stay silent.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any, Final

from trainer.telemetry.run_words import Run, SilentRun

RUN_DIR: Final = "SIGNALBOX_RUN_DIR"


class _Holder:
    """The one run of this process."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self.lock = threading.Lock()


_holder: Final = _Holder()


def current_run() -> Run:
    """The run this process belongs to; one that takes every word and does nothing where there is none."""
    run = _holder.run
    if run is not None:
        return run
    with _holder.lock:
        if _holder.run is None:
            _holder.run = _open(os.environ.get(RUN_DIR, ""))
        return _holder.run


def _open(run_dir: str) -> Run:
    if not run_dir:
        return SilentRun()
    try:
        opened: Run | None = importlib.import_module("trainer.telemetry.script_run").open_run(run_dir)
    except Exception as exc:  # noqa: BLE001 - an old interpreter, or half an installation: told, not raised
        sys.stderr.write(f"signalbox: this run cannot be reported to ({exc}); its output is read instead\n")
        return SilentRun()
    return opened or SilentRun()


def init(*, config: Mapping[str, Any] | None = None, **ignored: Any) -> Run:
    """The current run, as other trackers begin theirs; ``project`` and ``name`` are set elsewhere."""
    run = current_run()
    if config:
        run.config.update(config)
    return run


def log(values: Mapping[str, Any], step: int | None = None) -> None:
    """:meth:`Run.log` of the current run."""
    current_run().log(values, step=step)


def alert(title: str, text: str = "", level: str = "info") -> None:
    """:meth:`Run.alert` of the current run."""
    current_run().alert(title, text, level)


def finish(exit_code: int = 0) -> None:
    """:meth:`Run.finish` of the current run."""
    current_run().finish(exit_code)
