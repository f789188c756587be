"""Search in a process of its own: the same answers, and no way of its dying or hanging that goes unsaid."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.waiting import wait_for
from trainer.retrieval.own_process import OwnSearch, SearchProcessError
from trainer.telemetry.controls import StopRequested

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = np.eye(32, 8, dtype=np.float32)

# A faiss that is found before the real one, and misbehaves for real.
FAKE = """
import os, sys, time
class IndexFlatIP:
    def __init__(self, length): pass
    def add(self, documents): pass
    def search(self, queries, k):
        {search}
"""


@pytest.fixture
def search(tmp_path: Path) -> Iterator[OwnSearch]:
    with closing(OwnSearch(folder=tmp_path)) as search:
        yield search


@pytest.fixture
def misbehaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes every search do what the code given says."""

    def misbehave(code: str) -> None:
        (tmp_path / "fake").mkdir()
        (tmp_path / "fake" / "faiss.py").write_text(FAKE.format(search=code))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))

    return misbehave


def ask(search: OwnSearch) -> None:
    with search.pool(DOCUMENTS) as pool:
        pool.search(DOCUMENTS[:4], k=2)


def ask_when_it_got(search: OwnSearch, number: signal.Signals) -> None:
    """Search a pool whose process was sent a signal after it had been handed over."""
    with search.pool(DOCUMENTS) as pool:
        assert search.pid is not None
        os.kill(search.pid, number)
        pool.search(DOCUMENTS[:4], k=2)


def pid_in(words: str) -> int:
    """The id of the process that a message is about."""
    return int(words.partition("pid ")[2].partition(")")[0])


def is_gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def test_both_homes_find_the_same_bit_for_bit() -> None:
    command = [sys.executable, "-m", "tests.children.search_in_both_homes"]
    for threads in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == []


def test_the_process_is_started_once_and_has_the_environment_but_not_torch(
    search: OwnSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGNALBOX_RUN_DIR", "/runs/one")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert search.pid is None
    ask(search)
    process = psutil.Process(search.pid)
    ask(search)
    assert search.pid == process.pid
    environ = process.environ()
    assert (environ["SIGNALBOX_RUN_DIR"], environ["OMP_NUM_THREADS"]) == ("/runs/one", "1")
    mapped = [one.path for one in process.memory_maps()]
    assert any("faiss" in path for path in mapped)
    assert not any("torch" in path for path in mapped)
    assert list(tmp_path.iterdir()) == [], "the files handed over have no names"
    search.close()
    assert is_gone(process.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_killed_process_is_named_with_its_signal_and_the_next_pool_starts_another(
    search: OwnSearch, number: signal.Signals
) -> None:
    with pytest.raises(SearchProcessError) as caught:
        ask_when_it_got(search, number)
    words = str(caught.value)
    assert f"was killed by signal {number.value} ({number.name}) while searching 32 documents" in words
    assert ("Fatal Python error: Segmentation fault" in words) == (number is signal.SIGSEGV)
    ask(search)


def test_a_process_that_exits_is_named_with_its_status_and_last_words(
    search: OwnSearch, misbehaving: Callable[[str], None]
) -> None:
    misbehaving(
        "print('OMP: Error #15: Initializing libomp', file=sys.stderr); sys.stderr.flush(); os._exit(3)"
    )
    with pytest.raises(SearchProcessError, match=r"(?s)exit status 3 while .*OMP: Error #15") as caught:
        ask(search)
    assert "docs/search-process.md" in str(caught.value)
    assert search.pid is None


def test_a_library_that_cannot_be_loaded_is_said_with_its_traceback(
    search: OwnSearch, misbehaving: Callable[[str], None]
) -> None:
    misbehaving("syntax error here")
    with pytest.raises(SearchProcessError, match=r"(?s)exit status 1 while .*SyntaxError"):
        ask(search)


def test_an_error_of_the_search_is_passed_on_in_words(
    search: OwnSearch, misbehaving: Callable[[str], None]
) -> None:
    misbehaving("raise MemoryError('std::bad_alloc')")
    with pytest.raises(SearchProcessError, match=r"failed while searching .*MemoryError: std::bad_alloc"):
        ask(search)


def test_what_a_library_prints_is_no_answer(search: OwnSearch, misbehaving: Callable[[str], None]) -> None:
    misbehaving(
        'print(\'{"done": "nothing"}\', flush=True); import numpy as n;'
        " return n.ones((len(queries), k), n.float32), n.zeros((len(queries), k), n.int64)"
    )
    with search.pool(DOCUMENTS) as pool:
        scores, rows = pool.search(DOCUMENTS[:4], k=2)
    assert (scores == 1).all()
    assert (rows == 0).all()


def test_a_process_without_an_answer_is_ended_and_says_where_it_stood(
    tmp_path: Path, misbehaving: Callable[[str], None]
) -> None:
    misbehaving("time.sleep(3600)")
    with closing(OwnSearch(folder=tmp_path, base_limit_s=1.0)) as search:
        with pytest.raises(SearchProcessError, match=r"(?s)no answer within 1 s while .*in search") as caught:
            ask(search)
        assert is_gone(pid_in(str(caught.value)))


def test_a_suspended_process_is_ended_too(tmp_path: Path) -> None:
    with closing(OwnSearch(folder=tmp_path, base_limit_s=1.0)) as search:
        with pytest.raises(SearchProcessError, match="no answer within") as caught:
            ask_when_it_got(search, signal.SIGSTOP)
        assert is_gone(pid_in(str(caught.value)))


def test_a_stop_does_not_wait_for_the_search(tmp_path: Path, misbehaving: Callable[[str], None]) -> None:
    misbehaving("time.sleep(3600)")
    asked_at: list[float] = []
    pids: list[int] = []

    def stop_if_asked() -> None:
        if own.pid is not None:
            pids.append(own.pid)
        if len(pids) > 15:
            asked_at.append(time.monotonic())
            raise StopRequested("the run was asked to stop")

    with closing(OwnSearch(folder=tmp_path, stop_if_asked=stop_if_asked)) as own:
        with pytest.raises(StopRequested):
            ask(own)
        assert time.monotonic() - asked_at[0] < 2.0
        assert is_gone(pids[-1])
        assert own.pid is None


@pytest.mark.parametrize("doing", ["idle", "searching"])
def test_it_ends_with_its_owner_however_that_dies(doing: str, misbehaving: Callable[[str], None]) -> None:
    if doing == "searching":
        misbehaving("time.sleep(3600)")
    command = [sys.executable, "-m", "tests.children.owner_of_a_search", doing]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        owner.kill()
    wait_for(lambda: is_gone(pid), what="the end of the search process", timeout_s=20)


def test_a_full_disk_is_told_with_the_size_it_wanted(search: OwnSearch) -> None:
    ask(search)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        with (
            pytest.raises(SearchProcessError, match=r"no room to hand 4 MiB .* indexing 16,384 documents"),
            search.pool(np.zeros((16_384, 64), np.float32)),
        ):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_is_no_pool_is_refused_before_anything_is_started(search: OwnSearch) -> None:
    pools: list[Any] = [np.empty((0, 4), np.float32), np.zeros(4, np.float32), np.zeros((2, 4))]
    for pool in pools:
        with pytest.raises(ValueError, match="non-empty float32 matrix"), search.pool(pool):
            pass
    assert search.pid is None
