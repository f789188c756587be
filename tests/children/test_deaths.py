"""Trainers that die in every way we know: the state, the cause, the stack; nothing is lost, nothing is left.

One row of ``ROWS`` is one child.  Each is launched by a real supervisor that
ships to a dashboard over a real websocket.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.children.dashboard import Dashboard
from tests.children.llvm_openmp import WHERE_TO_GET_ONE, find_llvm_openmp
from tests.children.nothing_lost import assert_nothing_is_left, assert_nothing_is_lost
from tests.children.trainer_that_dies import LAST_STEP, LAST_WORDS
from tests.trainer.supervisor.supervised import events, new_run, states, supervise
from trainer.protocol.events import Stream

pytestmark = pytest.mark.process
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="a trick of Linux")
ONCE = {"max_attempts": 1}


@dataclass(frozen=True)
class Row:
    """One death and what must be said of it.

    ``finding`` is the id of the first finding, None where nothing went wrong; ``line`` is part of one of
    its lines; ``printed`` of the output.  ``step`` is how far it came.
    """

    death: str
    finding: str | None
    line: str
    code: int | None = None
    signal: int | None = None
    state: str = "failed"
    printed: str = LAST_WORDS
    step: int = LAST_STEP


ROWS = [
    Row("aborts", "faulthandler_hdr", "Aborted", signal=signal.SIGABRT, printed=" in aborts"),
    pytest.param(
        Row("loads_two_openmps", "omp_duplicate", "OMP: Error #15", signal=signal.SIGABRT),
        marks=pytest.mark.skipif(find_llvm_openmp() is None, reason=WHERE_TO_GET_ONE),
    ),
    Row("segfaults", "faulthandler_hdr", "Segmentation", signal=signal.SIGSEGV, printed=" in segfaults"),
    Row(
        "reads_a_file_that_was_cut_short",
        "bus_error",
        "Bus error",
        signal=signal.SIGBUS,
        printed=" in reads_a_file_that_was_cut_short",
    ),
    pytest.param(
        Row(
            "overflows_the_stack",
            "faulthandler_hdr",
            "Segmentation fault",
            signal=signal.SIGSEGV,
            printed=" in overflows_the_stack",
        ),
        marks=LINUX,
    ),
    pytest.param(
        Row(
            "calls_itself_through_native_code",
            "stack_overflow",
            " in again",
            signal=signal.SIGSEGV,
            printed=" in again",
        ),
        marks=LINUX,
    ),
    pytest.param(
        Row(
            "divides_by_zero",
            "integer_division",
            "Floating point exception",
            signal=signal.SIGFPE,
            printed=" in divides_by_zero",
        ),
        marks=LINUX,
    ),
    pytest.param(
        Row(
            "runs_an_unknown_instruction",
            "illegal_instruction",
            "Illegal instruction",
            signal=signal.SIGILL,
            printed=" in runs_an_unknown_instruction",
        ),
        marks=LINUX,
    ),
    Row("is_killed", "unknown", LAST_WORDS, signal=signal.SIGKILL),  # no proof of want of memory
    Row("is_terminated", None, "", signal=signal.SIGTERM, state="stopped"),
    Row("is_interrupted", None, "", signal=signal.SIGINT, state="stopped"),
    Row("asks_for_too_much_memory", "cpu_alloc", "MemoryError", code=1),
    pytest.param(Row("fills_the_disk", "disk_full", "[Errno 28]", code=1), marks=LINUX),
    pytest.param(Row("saves_to_a_full_disk", "disk_full", "unexpected pos", code=1), marks=LINUX),
    Row("writes_a_file_beyond_its_limit", "file_too_large", "[Errno 27]", code=1),
    Row("opens_too_many_files", "fd_limit", "[Errno 24]", code=1),
    Row("recurses", "stack_overflow", "RecursionError", code=1),
    Row("is_used_wrongly", "cli_usage", "--nearmiss-bank", code=2),
    Row("lacks_a_package", "missing_module", "no_such_package", code=1),
    Row("raises_because_of_another_error", "unknown", "KeyError: 'vectors'", code=1),
    pytest.param(Row("loses_a_worker", "dl_killed", "is killed by signal: Killed", code=1), marks=LINUX),
    Row("leaves_without_a_word", "silent_exit", LAST_WORDS, code=0),
    Row("leaves_before_its_first_step", "silent_exit", "", code=0, printed="", step=0),
    Row("hides_an_error_behind_code_0", "cpu_alloc", "MemoryError", code=0),
    Row("tells_of_ctrl_c_with_a_code", "unknown", "KeyboardInterrupt", code=130),
    Row("finishes_without_a_step", "zero_step_run", "steps done: 0", code=0, printed="", step=0),
    Row("ends_in_nan", "nan_loss", "no number", code=0, printed="", step=6),
    Row("breaks_after_finishing", "unknown", "", code=3, printed=""),
    Row("nothing", "unknown", "No module named", code=1, printed="", step=0),
]


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Address and folder of a dashboard that remembers what it has acknowledged."""
    dashboard = Dashboard(tmp_path / "dashboard")
    yield dashboard.start(), tmp_path / "dashboard"
    dashboard.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.death)
def test_a_death_is_named_and_takes_nothing_with_it(
    tmp_path: Path, dashboard: tuple[str, Path], row: Row
) -> None:
    url, accepted = dashboard
    paths = new_run(tmp_path, url=url, policy=ONCE)
    record = supervise(paths, row.death, drain_s=20.0)
    assert (record.state, record.exit_code, record.exit_signal) == (row.state, row.code, row.signal)
    assert record.step == row.step
    assert [finding["id"] for finding in record.findings[:1]] == ([row.finding] if row.finding else [])
    if row.line:
        assert any(row.line in line for line in record.findings[0]["lines"]), record.findings
    assert record.findings or record.state != "failed", "a failed run without a finding"
    for finding in record.findings:
        assert finding["cause"]
        assert finding["remedy"]
    assert row.printed in paths.output(1).read_text()
    assert states(paths)[-1] == row.state
    assert_nothing_is_lost(paths, accepted)
    assert_nothing_is_left(paths)


def test_the_phase_in_which_it_died_is_part_of_the_answer(tmp_path: Path) -> None:
    record = supervise(new_run(tmp_path, policy=ONCE), "is_killed_while_evaluating")
    assert (record.state, record.exit_signal) == ("failed", signal.SIGKILL)
    assert "evaluating" in record.findings[0]["cause"]


def test_an_interpreter_that_is_not_there_is_a_failed_run_that_says_so(tmp_path: Path) -> None:
    paths = new_run(tmp_path, policy=ONCE)
    record = supervise(paths, "no interpreter")
    assert (record.state, record.exit_code, record.exit_signal) == ("failed", None, None)
    assert "/no/such/python" in record.reason
    assert record.findings[0]["id"] == "not_started"
    assert "/no/such/python" in record.findings[0]["cause"]
    assert "environment" in record.findings[0]["remedy"]
    told = [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "finding"]
    assert [event["id"] for event in told] == ["not_started"]
    assert states(paths)[-1] == "failed"


def test_an_end_with_code_0_and_without_a_word_is_failed_and_says_where_to_look(tmp_path: Path) -> None:
    record = supervise(new_run(tmp_path, policy=ONCE), "leaves_without_a_word")
    assert "never said that it had finished" in record.reason
    assert f"after step {LAST_STEP}" in record.findings[0]["cause"]
    assert "os._exit" in record.findings[0]["remedy"]
