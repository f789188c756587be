"""A failed attempt leaves its finding in the exit record and in the supervisor's stream."""

from __future__ import annotations

import errno
import itertools
import json
import os
from pathlib import Path

import pytest

from tests.trainer.supervisor.supervised import events, new_run, supervise
from trainer.diagnosis.never_started import not_started
from trainer.protocol.events import Stream
from trainer.supervisor.inquest import Inquest, last_loss_is_finite
from trainer.supervisor.process import ExitStatus
from trainer.supervisor.tally import Tally
from trainer.supervisor.verdict import judge

OUTPUTS = (
    "",
    "step 1 loss 0.5\nstep 2 loss 0.4\nstep 3 loss 0.3\n",
    'Traceback (most recent call last):\n  File "train.py", line 1, in f\nKeyboardInterrupt\n',
    "\x00\x01\x02\n",
)


@pytest.mark.parametrize("output", OUTPUTS, ids=["nothing", "progress", "ctrl-c", "rubbish"])
def test_whatever_the_end_a_failed_attempt_has_a_finding(tmp_path: Path, output: str) -> None:
    paths = new_run(tmp_path)
    paths.attempt(1).mkdir(parents=True)
    paths.output(1).write_text(output)
    inquest = Inquest(paths, attempt=1)
    statuses = [ExitStatus(code, None) for code in (0, 1, 2, 3, 124, 130, 139, 255)]
    statuses += [ExitStatus(None, number) for number in range(1, 32)]
    words = (None, {"reason": "completed"}, {"reason": "stopped"}, {"reason": "early_stop"})
    num_failed = 0
    for status, finished, step, loss in itertools.product(statuses, words, (0, 5), (None, 0.5, float("nan"))):
        tally = Tally(paths, run="run-1", attempt=1, step=step)
        tally.finished = finished
        tally.latest = {} if loss is None else {"train/loss": loss}
        verdict = judge(
            status,
            finished=finished,
            step=step,
            stop_requested=False,
            last_loss_is_finite=last_loss_is_finite(tally),
        )
        if verdict.state == "failed":
            num_failed += 1
            findings = inquest.findings(status, tally, reason=verdict.reason)
            assert findings, (status, finished, step, loss)
            assert all(finding.cause and finding.remedy for finding in findings)
    assert num_failed > 500


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (errno.ENOENT, "not_started"),
        (errno.EACCES, "not_started"),
        (errno.ENOEXEC, "not_started"),
        (errno.ENOMEM, "not_started"),
        (errno.EAGAIN, "not_started"),
        (errno.ENOSPC, "disk_full"),
        (errno.EMFILE, "fd_limit"),
        (errno.EIO, "disk_error"),
        (None, "not_started"),
    ],
)
def test_what_could_not_be_started_says_why_and_what_helps(number: int | None, name: str) -> None:
    error = OSError("nobody knows") if number is None else OSError(number, os.strerror(number), "/x/python")
    finding = not_started(error)
    assert finding.id == name
    assert finding.cause.endswith(".")
    assert finding.remedy.endswith(".")
    assert str(error) in finding.lines
    json.dumps(finding.to_json())


@pytest.mark.process
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


@pytest.mark.process
def test_what_ended_well_has_no_finding(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    assert supervise(paths, "finishes").findings == []
    assert [event for event in events(paths, Stream.SUPERVISOR) if event["type"] == "finding"] == []
