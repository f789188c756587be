"""Trainers that misbehave: ``python -m tests.children.trainer_that HABIT RUN_DIR --attempt N``.

They report with the real Reporter and obey the real Controls, so all but
their one habit is as in a real trainer.
"""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.children.jumping_clock import let_the_clock_jump
from trainer.protocol.events import Command, Phase, snapshot_name
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

Habit = Callable[[RunPaths, Reporter, Controls], None]
FOREVER_S = 600.0


def steps(reporter: Reporter, first: int, last: int) -> None:
    """Report steps ``first`` to ``last`` as training does."""
    for step in range(first, last + 1):
        reporter.metrics(step, {"train/loss": 1.0 / step, "train/learning_rate": 0.1})
        reporter.progress(step, total_steps=last, epoch=0.5, num_epochs=1)


def finishes(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Nothing wrong with this one: 200 steps, a snapshot, a last word."""
    reporter.phase(Phase.TRAINING, step=0)
    sys.stdout.write("hello from the trainer\n")
    steps(reporter, 1, 200)
    paths.snapshots.mkdir(exist_ok=True)
    content = gzip.compress(json.dumps({"step": 200}).encode())
    temporary = paths.snapshots / "half"
    temporary.write_bytes(content)
    temporary.replace(paths.snapshots / snapshot_name(200))
    reporter.snapshot(200, snapshot_name(200), {"accuracy": 0.5}, 0.01)
    reporter.finished(200, reason="completed", metrics={"last": {"train/loss": 0.005}, "best": {}})


def says_what_it_inherited(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Writes its environment, session, stdin and working directory to a file."""
    facts = {
        "environ": dict(os.environ),
        "leads_session": os.getsid(0) == os.getpid(),
        "stdin": str(Path("/proc/self/fd/0").readlink()),
        "cwd": str(Path.cwd()),
        "argv": sys.argv,
    }
    (paths.root / "facts.json").write_text(json.dumps(facts))
    steps(reporter, 1, 1)
    reporter.finished(1, reason="completed", metrics={"last": {}, "best": {}})


def trains_until_stopped(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Steps on until somebody asks it to stop; then saves and leaves."""
    step = 0
    while not controls.should_stop:
        step += 1
        reporter.metrics(step, {"train/loss": 1.0 / step})
        for command in controls.poll() - {Command.STOP}:
            reporter.alert("info", "obeyed", command.value, step)
        time.sleep(0.005)
    reporter.phase(Phase.SAVING, step=step)
    reporter.finished(step, reason="stopped", metrics={"last": {}, "best": {}})


def reports_fast(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """As many events as the machine can, some of them sparse, until stopped."""
    step = 0
    while not controls.should_stop:
        for _ in range(50):
            step += 1
            reporter.metrics(step, {"train/loss": float(step)})
        reporter.phase(Phase.EVALUATING, step=step)
        sys.stdout.write(f"step {step}\n")
        time.sleep(0.01)
    reporter.finished(step, reason="stopped", metrics={"last": {}, "best": {}})


def ignores_sigterm(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Deaf to polite requests."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    steps(reporter, 1, 3)
    time.sleep(FOREVER_S)


def suspends_itself(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Stopped by SIGSTOP: cannot hear SIGTERM until somebody continues it."""
    steps(reporter, 1, 3)
    os.kill(os.getpid(), signal.SIGSTOP)
    while not controls.should_stop:
        time.sleep(0.01)
    reporter.finished(3, reason="stopped", metrics={"last": {}, "best": {}})


def leaves_children(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Children in its session, outside it, without the run's mark, orphaned; then a good end."""
    pids = [
        start_sleeper(),
        start_sleeper(start_new_session=True),
        start_sleeper(start_new_session=True, env={}),
        start_orphan(),
    ]
    (paths.root / "pids.json").write_text(json.dumps(pids))
    steps(reporter, 1, 3)
    reporter.finished(3, reason="completed", metrics={"last": {}, "best": {}})


def keeps_children(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Like the one before, but it stays, and is deaf."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pids = [start_sleeper(start_new_session=True, env={}), start_orphan(), os.getpid()]
    (paths.root / "pids.json").write_text(json.dumps(pids))
    steps(reporter, 1, 3)
    time.sleep(FOREVER_S)


def start_sleeper(**options: object) -> int:
    """A child that sleeps; its pid."""
    process = subprocess.Popen(["/bin/sleep", str(FOREVER_S)], **options)  # type: ignore[call-overload]
    process.returncode = 0  # left alone on purpose
    return int(process.pid)


def start_orphan() -> int:
    """A sleeper whose parent has gone already: forked twice, in a session of its own."""
    code = (
        "import subprocess, sys; "
        f"print(subprocess.Popen(['/bin/sleep', '{FOREVER_S}'], start_new_session=True, stdout=2).pid)"
    )
    return int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)


def exits_zero_midway(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Leaves with code 0 and without a word."""
    steps(reporter, 1, 5)
    os._exit(0)


def leaves_before_its_first_step(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Leaves with code 0 while it loads, without a word."""
    reporter.phase(Phase.LOADING, step=0)
    os._exit(0)


def finishes_without_a_step(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Says it has finished, but nothing was trained."""
    reporter.finished(0, reason="completed", metrics={"last": {}, "best": {}})


def breaks_after_finishing(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """A last word, and then exit code 3."""
    steps(reporter, 1, 5)
    reporter.finished(5, reason="completed", metrics={"last": {}, "best": {}})
    sys.exit(3)


def raises(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """A Python exception."""
    steps(reporter, 1, 5)
    raise ValueError("the loss went through the roof")


def ends_in_nan(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """A good end but for the numbers."""
    steps(reporter, 1, 5)
    reporter.metrics(6, {"train/loss": float("nan")})
    reporter.finished(6, reason="completed", metrics={"last": {}, "best": {}})


def runs_out_of_memory(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Asks for more than its address space."""
    steps(reporter, 1, 5)
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    bytearray(2**40)


def aborts_for_two_openmps(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """The runtime's own words, and its abort."""
    steps(reporter, 1, 5)
    words = "OMP: Error #15: Initializing libomp.so, but found libomp.so.5 already initialized.\n"
    sys.stderr.write(words)
    os.abort()


def segfaults(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Reads address 1."""
    steps(reporter, 1, 5)
    ctypes.string_at(1)


def kills_itself(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """SIGKILL, as the kernel's OOM killer sends it."""
    steps(reporter, 1, 5)
    os.kill(os.getpid(), signal.SIGKILL)


def is_killed_while_evaluating(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """SIGKILL after the epoch, where a log would end in mid-epoch."""
    steps(reporter, 1, 5)
    reporter.phase(Phase.EVALUATING, step=5)
    os.kill(os.getpid(), signal.SIGKILL)


def spews(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """A line of 100 MB, then a flood of lines, then what matters."""
    steps(reporter, 1, 3)
    sys.stdout.write("x" * 100_000_000 + "\n")
    for number in range(600_000):
        sys.stdout.write(f"line {number}\n")
    sys.stdout.write("the last line matters\n")
    reporter.finished(3, reason="completed", metrics={"last": {}, "best": {}})


def fills_its_folder_and_frees_it(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """No space for most of steps 6 to 200; there is again for the rest."""
    steps(reporter, 1, 5)
    ballast = paths.root / "ballast"
    fill(ballast)
    steps(reporter, 6, 200)
    ballast.unlink()
    steps(reporter, 201, 205)
    reporter.finished(205, reason="completed", metrics={"last": {}, "best": {}})


def fills_its_folder_and_dies(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """No space is left when it ends."""
    steps(reporter, 1, 5)
    fill(paths.root / "ballast")
    os._exit(1)


def takes_the_last_room_and_dies(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """The same, and somebody has taken what the supervisor had kept for itself."""
    (paths.root / ".reserve").unlink()
    fills_its_folder_and_dies(paths, reporter, controls)


def fill(ballast: Path) -> None:
    """Leave not one byte of room on the disk."""
    for num_bytes in (4096, 1):
        with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(num_bytes))


def lives_through_clock_jumps(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Its wall clock and its supervisor's jump by hours in both directions."""
    let_the_clock_jump()
    reporter.phase(Phase.TRAINING, step=0)
    for step in range(1, 41):
        steps(reporter, step, step)
        time.sleep(0.05)
    reporter.finished(40, reason="completed", metrics={"last": {}, "best": {}})


def writes_rubbish(paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
    """Lines in its own spool that nobody can read."""
    steps(reporter, 1, 3)
    with (paths.root / "spool" / "trainer" / "000001.jsonl").open("ab") as spool:
        spool.write(b"\x00\xff not json\n[1, 2]\n{}\n")
    steps(reporter, 4, 6)
    reporter.finished(6, reason="completed", metrics={"last": {}, "best": {}})


HABITS: dict[str, Habit] = {
    habit.__name__: habit
    for habit in (
        finishes,
        says_what_it_inherited,
        trains_until_stopped,
        reports_fast,
        ignores_sigterm,
        suspends_itself,
        leaves_children,
        keeps_children,
        exits_zero_midway,
        leaves_before_its_first_step,
        finishes_without_a_step,
        breaks_after_finishing,
        raises,
        ends_in_nan,
        runs_out_of_memory,
        aborts_for_two_openmps,
        segfaults,
        kills_itself,
        is_killed_while_evaluating,
        spews,
        fills_its_folder_and_frees_it,
        fills_its_folder_and_dies,
        takes_the_last_room_and_dies,
        lives_through_clock_jumps,
        writes_rubbish,
    )
}


def main() -> None:
    """Be the trainer with this habit."""
    habit, run_dir, attempt = sys.argv[1], sys.argv[2], int(sys.argv[4])
    paths = RunPaths(Path(run_dir))
    reporter = Reporter(paths, attempt=attempt)
    controls = Controls(paths)
    with contextlib.closing(reporter):
        HABITS[habit](paths, reporter, controls)


if __name__ == "__main__":
    main()
