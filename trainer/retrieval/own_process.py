"""Searching in a process of its own: started once, kept warm, and never waited for in vain.

The process is a fresh interpreter, never a fork, and inherits the trainer's
environment: its thread counts, and the run's mark by which the supervisor
finds every process of a run.  It ends with the trainer however that dies,
because its standard input does.  A request has a time limit that grows with
its work.  A stop that is asked for meanwhile ends the process at once.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from trainer.retrieval.exchange import emptied, mapped, write_arrays
from trainer.retrieval.index_settings import FLAT, Index, IndexSettings
from trainer.retrieval.portions import grow
from trainer.retrieval.ranking import Floats, Ints, Tell

BASE_LIMIT_S: Final = 120.0
SLOWEST_FLOPS: Final = 2e8  # per second; a single old core does ten times as much
SLOWEST_BYTES: Final = 2e6  # per second, to hand over a pool
_LOOK_EVERY_S: Final = 0.1
_ABSENT_S: Final = 1.0
_DYING_S: Final = 2.0
_TAIL_BYTES: Final = 16_384
_TAIL_LINES: Final = 30
_ROOT: Final = Path(__file__).resolve().parents[2]
REMEDY: Final = (
    "docs/search-process.md tells what can be done; search_process=shared searches in the trainer."
)


class SearchProcessError(RuntimeError):
    """The search process died, did not answer in time, or could not do what it was asked for."""


class OwnSearch:
    """Implements :class:`trainer.retrieval.search.Search` with a process of its own."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        stop_if_asked: Callable[[], None] | None = None,
        base_limit_s: float = BASE_LIMIT_S,
    ) -> None:
        """Nothing is started yet.

        Args:
            folder: on which disk vectors are handed over; None for the system's temporary folder.
            stop_if_asked: called about ten times a second while the process works; what it raises ends
                the process and is passed on.
            base_limit_s: what the smallest request may take, seconds; larger ones may take longer.
        """
        self._folder = folder
        self._stop_if_asked = stop_if_asked or _nobody_asks
        self.base_limit_s = base_limit_s
        self._worker: _Worker | None = None

    @property
    def pid(self) -> int | None:
        """The process's id while there is one."""
        return None if self._worker is None else self._worker.process.pid

    @contextmanager
    def pool(
        self, documents_MD: Floats, settings: IndexSettings = FLAT, *, tell: Tell | None = None
    ) -> Iterator[Index]:
        """A pool of documents in the search process; there is one at a time.

        Raises:
            ValueError: the pool is empty or not a float32 matrix.
            SearchProcessError: the process died or did not answer.
        """
        if documents_MD.ndim != 2 or documents_MD.dtype != np.float32 or len(documents_MD) == 0:
            raise ValueError(
                f"a pool must be a non-empty float32 matrix, got {documents_MD.dtype} {documents_MD.shape}"
            )
        num_rows, length = documents_MD.shape
        pool = _RemotePool(self, num_rows, length=length, settings=settings)
        if settings.kind == "flat":
            pool.hand_over("index", documents_MD)
        else:
            pool.make()
            grow(pool, documents_MD, settings, tell=tell)
        try:
            yield pool
        except BaseException:
            self.close()
            raise
        if self._worker is not None:
            self.ask({"do": "forget"}, limit_s=self.base_limit_s, what="letting the pool go")

    def found(self, shape: tuple[int, int], dtype: type[np.generic], *, offset: int = 0) -> NDArray[Any]:
        """A copy of what the last request has found."""
        descriptor = self._running().found.fileno()
        return np.array(mapped(descriptor, shape, dtype, offset=offset))

    def close(self) -> None:
        """End the process and give its files back; the next pool starts another."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def ask(self, request: dict[str, Any], *, limit_s: float, what: str, given: Floats | None = None) -> None:
        """Send one request and wait for its answer; after any trouble there is no process any more.

        Raises:
            SearchProcessError: the process died, did not answer in time, or says that it failed.
        """
        try:
            if self._worker is None:
                self._worker = _Worker(self._folder)
                self._await({"done": "start"}, limit_s=self.base_limit_s, what="starting")
            worker = self._running()
            if given is not None:
                _hand_over(worker, given, what)
            worker.say(request)
            self._await({"done": request["do"]}, limit_s=limit_s, what=what)
            if given is not None:
                emptied(worker.given.fileno())
        except BaseException:
            self.close()
            raise

    def _await(self, expected: dict[str, Any], *, limit_s: float, what: str) -> None:
        """Wait for the answer; time in which this process itself had no turn does not count."""
        worker = self._running()
        waited_s, looked_at = 0.0, time.monotonic()
        while (line := worker.heard(_LOOK_EVERY_S)) is None:
            self._stop_if_asked()
            now = time.monotonic()
            waited_s += min(now - looked_at, _ABSENT_S)
            looked_at = now
            if waited_s > limit_s:
                raise SearchProcessError(worker.hung(what, limit_s))
        answer = json.loads(line) if line else None
        if answer is None:
            raise SearchProcessError(worker.died(what))
        if answer != expected:
            raise SearchProcessError(f"the search process failed while {what}: {answer.get('error', answer)}")

    def _running(self) -> _Worker:
        if self._worker is None:
            raise SearchProcessError("the search process has been ended, and its pool with it")
        return self._worker


class _RemotePool:
    """The pool as its users see it; implements :class:`trainer.retrieval.index_settings.Index`."""

    def __init__(self, owner: OwnSearch, num_documents: int, *, length: int, settings: IndexSettings) -> None:
        self._owner = owner
        self._num_documents = num_documents
        self._length = length
        self._settings = settings

    def make(self) -> None:
        """Let the process make an empty index that can be built in portions."""
        shape = {"rows": self._num_documents, "length": self._length}
        request = {"do": "make", **shape, "settings": self._settings.to_json()}
        self._owner.ask(request, limit_s=self._owner.base_limit_s, what="making an index")

    def learn(self, sample_MD: Floats) -> None:
        self.hand_over("learn", sample_MD)

    def add(self, documents_MD: Floats) -> None:
        self.hand_over("add", documents_MD)

    def hand_over(self, do: str, documents_MD: Floats) -> None:
        """Let the process ``index``, ``learn`` from, or ``add`` documents."""
        num_rows, length = documents_MD.shape
        request = {"do": do, "rows": num_rows, "length": length}
        limit_s = self._owner.base_limit_s + documents_MD.nbytes / SLOWEST_BYTES
        limit_s += self._settings.build_flop(self._num_documents, length) / SLOWEST_FLOPS
        what = f"indexing {num_rows:,} documents"
        self._owner.ask(request, given=documents_MD, limit_s=limit_s, what=what)

    def search(self, queries_BD: Floats, *, k: int) -> tuple[Floats, Ints]:
        num_rows = self._query("search", queries_BD, k=k)
        scores_BK: Floats = self._owner.found((num_rows, k), np.float32)
        rows_BK: Ints = self._owner.found((num_rows, k), np.int64, offset=scores_BK.nbytes)
        return scores_BK, rows_BK

    def latencies(self, queries_BD: Floats, *, k: int) -> NDArray[np.float64]:
        num_rows = self._query("time", queries_BD, k=k)
        return self._owner.found((num_rows, 1), np.float64)[:, 0]

    def write(self, path: Path) -> None:
        size = self._settings.index_bytes(self._num_documents, self._length)
        limit_s = self._owner.base_limit_s + size / SLOWEST_BYTES
        request = {"do": "write", "path": str(path)}
        try:
            self._owner.ask(request, limit_s=limit_s, what="writing the index")
        except SearchProcessError as exc:
            if "OSError" in str(exc):
                raise OSError(str(exc)) from exc
            raise

    def _query(self, do: str, queries_BD: Floats, *, k: int) -> int:
        """Send queries to be searched for or timed; how many there are."""
        queries_BD = np.ascontiguousarray(queries_BD, dtype=np.float32)
        num_rows: int = queries_BD.shape[0]
        request = {"do": do, "rows": num_rows, "length": queries_BD.shape[1], "k": k}
        what = f"searching {self._num_documents:,} documents for {num_rows:,} queries"
        limit_s = self._owner.base_limit_s + 2.0 * self._num_documents * queries_BD.size / SLOWEST_FLOPS
        self._owner.ask(request, given=queries_BD, limit_s=limit_s, what=what)
        return num_rows


class _Worker:
    """One started process, with the files it shares with this one."""

    def __init__(self, folder: Path | None) -> None:
        self._open = ExitStack()
        with ExitStack() as stack:
            self.given, self.found, self._complaints = (
                stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in range(3)
            )
            self.process = self._started()
            self._selector = stack.enter_context(selectors.DefaultSelector())
            self._selector.register(_stream(self.process.stdout), selectors.EVENT_READ)
            self._open = stack.pop_all()
        self._received = b""

    def _started(self) -> subprocess.Popen[bytes]:
        descriptors = (self.given.fileno(), self.found.fileno())
        command = [sys.executable, "-u", "-X", "faulthandler", "-P", "-m", "trainer.retrieval.search_process"]
        return subprocess.Popen(
            [*command, *map(str, descriptors), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=_environ(),
            pass_fds=descriptors,
            bufsize=0,
        )

    def say(self, request: dict[str, Any]) -> None:
        """Send one line; it is short and the pipe is empty, so this waits for nobody."""
        try:
            _stream(self.process.stdin).write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            return  # the next look finds that it has died

    def heard(self, timeout_s: float) -> bytes | None:
        """The next answer; None when there is none yet, empty when there will be none."""
        if not self._selector.select(timeout_s):
            return None
        received = os.read(_stream(self.process.stdout).fileno(), 65_536)
        if not received:
            return b""
        self._received += received
        if not self._received.endswith(b"\n"):
            return None
        line, self._received = self._received, b""
        return line

    def died(self, what: str) -> str:
        """What to say of a process that closed its end of the line."""
        try:
            ending = _ending(self.process.wait(_DYING_S))
        except subprocess.TimeoutExpired:
            ending = "stopped listening"
        return (
            f"the search process (pid {self.process.pid}) {ending} while {what}. {REMEDY}{self._last_lines()}"
        )

    def hung(self, what: str, limit_s: float) -> str:
        """End a process that does not answer, and say where it stood: SIGABRT makes it tell."""
        self.process.send_signal(signal.SIGABRT)
        try:
            self.process.wait(_DYING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return (
            f"the search process (pid {self.process.pid}) gave no answer within {limit_s:.0f} s while {what},"
            f" and was ended. {REMEDY}{self._last_lines()}"
        )

    def end(self) -> None:
        """Kill it, collect it, close its files; it holds nothing that could be lost."""
        self.process.kill()
        self.process.wait()
        self._open.close()
        _stream(self.process.stdin).close()
        _stream(self.process.stdout).close()

    def _last_lines(self) -> str:
        descriptor = self._complaints.fileno()
        size = os.fstat(descriptor).st_size
        text = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES)).decode("utf-8", "replace")
        lines = text.splitlines()[-_TAIL_LINES:]
        return " It printed nothing." if not lines else "\n".join([" Its last lines:", *lines])


def _hand_over(worker: _Worker, given: Floats, what: str) -> None:
    try:
        write_arrays(worker.given.fileno(), [given])
    except OSError as exc:
        raise SearchProcessError(
            f"no room to hand {given.nbytes / 2**20:.0f} MiB to the search process while {what}: {exc}."
            " Free some space on the disk of the run's folder."
        ) from exc


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unnamed"
    return f"was killed by signal {-code} ({name})"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("every stream of the search process is a pipe")
    return stream


def _environ() -> dict[str, str]:
    """This process's own environment; the trainer's code is found in it whatever started this process."""
    known = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [known])])}


def _nobody_asks() -> None:
    """Nobody can ask to stop."""
