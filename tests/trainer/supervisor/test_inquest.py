"""A failed attempt leaves its finding in the exit record and in the supervisor's stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.supervisor.supervised import events, new_run, supervise
from trainer.protocol.events import Stream

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("habit", "name", "words"),
    [
        ("raises", "unknown", "ValueError: the loss went through the roof"),
        ("segfaults", "faulthandler_hdr", "Fatal Python error: Segmentation fault"),
        ("finishes_without_a_step", "zero_step_run", "steps done: 0"),
        ("ends_in_nan", "nan_loss", "the last loss is no number"),
        ("runs_out_of_memory", "cpu_alloc", "MemoryError"),
        ("aborts_for_two_openmps", "omp_duplicate", "OMP: Error #15"),
    ],
)
def test_the_finding_is_told_before_the_state(tmp_path: Path, habit: str, name: str, words: str) -> None:
    paths = new_run(tmp_path, policy={"max_attempts": 1})
    record = supervise(paths, habit)
    assert (record.state, record.findings[0]["id"]) == ("failed", name)
    assert any(words in line for line in record.findings[0]["lines"])
    told = [event for event in events(paths, Stream.SUPERVISOR) if event["type"] in ("finding", "state")]
    assert [event["type"] for event in told[-2:]] == ["finding", "state"]
    assert {**record.findings[0]}.items() <= told[-2].items()


def test_what_ended_well_has_no_finding(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    assert supervise(paths, "finishes").findings == []
    assert [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "finding"] == []
