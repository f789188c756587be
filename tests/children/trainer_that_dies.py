"""Trainers that die: ``python -m tests.children.trainer_that_dies DEATH RUN_DIR --attempt N``.

Every death is a real one: the signal comes from the kernel, the error from the
library that raises it in earnest.  Before it, each trainer reports steps 1 to
``LAST_STEP`` and prints a line, so a test can tell that nothing of it is lost.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import mmap
import os
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.children.llvm_openmp import find_llvm_openmp
from trainer.protocol.run_folder import RunPaths
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

Death = Callable[[], None]
LAST_STEP = 5
LAST_WORDS = "these words were printed before the end"


def aborts() -> None:
    """What a failed assertion in native code does."""
    os.abort()


def loads_two_openmps() -> None:
    """The LLVM OpenMP runtime twice in one process, as torch and faiss wheels on macOS bring it."""
    library = find_llvm_openmp()
    assert library is not None
    copy = Path("libomp.so").absolute()
    shutil.copy(library, copy)
    for path in (library, copy):
        ctypes.CDLL(str(path)).omp_get_max_threads()


def segfaults() -> None:
    """Reads address 1."""
    ctypes.string_at(1)


def reads_a_file_that_was_cut_short() -> None:
    """A mapped file of which somebody has taken the end away."""
    with Path("shard.bin").open("w+b") as file:
        file.write(bytes(8192))
        file.flush()
        mapped = mmap.mmap(file.fileno(), 8192)
        file.truncate(0)
        mapped[0]


def overflows_the_stack() -> None:
    """Recursion in native code: a regular expression of two million brackets."""
    ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(4096), b"(" * 2_000_000, 1)


def calls_itself_through_native_code() -> None:
    """Python and C in turn, with the recursion limit out of the way: the stack is used up for real."""
    sys.setrecursionlimit(10_000_000)

    def again(_: object) -> int:
        return len(sorted([0], key=again))

    again(0)


def divides_by_zero() -> None:
    """An integer division by zero in native code."""
    ctypes.CDLL(None).div(1, 0)


def runs_an_unknown_instruction() -> None:
    """Code for a processor that does not exist: x86's ud2, which is an unknown one on others too."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\x0f\x0b" * 8)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def is_killed() -> None:
    """SIGKILL by somebody."""
    os.kill(os.getpid(), signal.SIGKILL)


def is_terminated() -> None:
    """SIGTERM by a scheduler, to a program that does not listen."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def is_interrupted() -> None:
    """Ctrl-C for a program that does not listen."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def eats_all_memory() -> None:
    """Touches pages until the kernel has enough of it; only for a control group with a limit."""
    eaten = []
    while True:
        eaten.append(b"x" * (16 << 20))


def asks_for_too_much_memory() -> None:
    """An allocation beyond its limit of address space."""
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    bytearray(2**40)


def fills_the_disk() -> None:
    """A device on which there is no space left."""
    with Path("/dev/full").open("wb", buffering=0) as checkpoint:
        checkpoint.write(bytes(1 << 20))


def saves_to_a_full_disk() -> None:
    """The same with torch, whose own writer puts the error in words of its own."""
    torch = importlib.import_module("torch")
    torch.save({"weight": torch.zeros(1 << 18)}, "/dev/full")


def writes_a_file_beyond_its_limit() -> None:
    """A file size limit, which Python reports as an error because it ignores SIGXFSZ."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    with Path("checkpoint.bin").open("wb", buffering=0) as checkpoint:
        checkpoint.write(bytes(1 << 20))
        checkpoint.write(b"more")


def opens_too_many_files() -> None:
    """Open files until there are no more to be had."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with contextlib.ExitStack() as stack:
        while True:
            stack.enter_context(Path("/dev/null").open("rb"))


def recurses() -> None:
    """A function that calls itself."""
    recurses()


def is_used_wrongly() -> None:
    """A flag that its argparse does not know."""
    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument("--batch-size", type=int)
    parser.parse_args(["--nearmiss-bank", "bank.npz"])


def lacks_a_package() -> None:
    """An import of what is not installed."""
    importlib.import_module("no_such_package")


def raises_because_of_another_error() -> None:
    """A chain of two exceptions."""
    try:
        dict[str, int]()["vectors"]
    except KeyError as exc:
        raise RuntimeError("the batch could not be made") from exc


def loses_a_worker() -> None:
    """A real DataLoader whose worker is killed while it fetches a batch."""
    data_loader = importlib.import_module("torch.utils.data").DataLoader
    list(data_loader(_KillsItsReader(), num_workers=1, multiprocessing_context="fork"))


class _KillsItsReader:
    """A dataset that kills whoever reads its second row."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, row: int) -> int:
        if row == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return row


def leaves_without_a_word() -> None:
    """Exit code 0, and nothing said."""
    os._exit(0)


def hides_an_error_behind_code_0() -> None:
    """What a script does that prints its exception and leaves all the same."""
    try:
        asks_for_too_much_memory()
    except MemoryError:
        traceback.print_exc()
        sys.exit(0)


def tells_of_ctrl_c_with_a_code() -> None:
    """Ctrl-C that a library turned into an exit code."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        traceback.print_exc()
        sys.exit(130)


DEATHS: dict[str, Death] = {
    death.__name__: death
    for death in (
        aborts,
        loads_two_openmps,
        segfaults,
        reads_a_file_that_was_cut_short,
        overflows_the_stack,
        calls_itself_through_native_code,
        divides_by_zero,
        writes_a_file_beyond_its_limit,
        runs_an_unknown_instruction,
        is_killed,
        is_terminated,
        is_interrupted,
        eats_all_memory,
        asks_for_too_much_memory,
        fills_the_disk,
        saves_to_a_full_disk,
        opens_too_many_files,
        recurses,
        is_used_wrongly,
        lacks_a_package,
        raises_because_of_another_error,
        loses_a_worker,
        leaves_without_a_word,
        hides_an_error_behind_code_0,
        tells_of_ctrl_c_with_a_code,
    )
}


def main() -> None:
    """Be the trainer that dies so."""
    death, run_dir, attempt = sys.argv[1], sys.argv[2], int(sys.argv[4])
    paths = RunPaths(Path(run_dir))
    reporter = Reporter(paths, attempt=attempt)
    Controls(paths)
    for step in range(1, LAST_STEP + 1):
        reporter.metrics(step, {"train/loss": 1.0 / step})
        reporter.progress(step, total_steps=1000, epoch=0.5, num_epochs=1)
    sys.stdout.write(f"{LAST_WORDS}\n")
    DEATHS[death]()


if __name__ == "__main__":
    main()
