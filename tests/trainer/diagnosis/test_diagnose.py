"""Rules that hold whatever the signatures are."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from trainer.diagnosis.catalogue import signatures
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.diagnosis.finding import UNKNOWN
from trainer.diagnosis.log_text import HEAD_BYTES, TAIL_BYTES, decode, read_log, read_stream

STEPS = "".join(f"step {n}/900 loss {2 - n / 900:.3f}\n" for n in range(0, 500, 100))
OOM = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"


def ids(**known: object) -> list[str]:
    return [finding.id for finding in diagnose(Evidence(**known))]  # type: ignore[arg-type]


def test_a_kill_is_an_out_of_memory_only_with_evidence() -> None:
    assert ids(log=STEPS + "Killed\n", signal=9) == [UNKNOWN]
    assert ids(log=STEPS + "Killed\n", signal=9, num_oom_kills=1) == ["oom_killer"]
    assert ids(log=STEPS + "Out of memory: Killed process 42 (python)\n", signal=9) == ["oom_killer"]
    assert ids(log=STEPS, signal=11, num_oom_kills=1) == [UNKNOWN]


def test_a_kill_somewhere_on_the_machine_is_no_proof_unless_the_trainer_held_much() -> None:
    known = {"log": STEPS, "signal": 9, "num_oom_kills": 1, "oom_kills_are_own": False}
    limit = 16 * 2**30
    assert ids(**known) == [UNKNOWN]
    assert ids(**known, last_rss_bytes=2**30, memory_limit_bytes=limit) == [UNKNOWN]
    assert ids(**known, last_rss_bytes=12 * 2**30, memory_limit_bytes=limit) == ["oom_killer"]
    (finding,) = diagnose(Evidence(**known, last_rss_bytes=2**30, memory_limit_bytes=limit))  # type: ignore[arg-type]
    assert "held at most 1.0 GiB: somebody else may have ended it" in finding.cause


def test_what_a_person_wanted_is_no_failure() -> None:
    for known in ({"signal": 9}, {"signal": 15}, {"exit_code": 1}):
        assert ids(log=STEPS + OOM, stop_requested=True, **known) == []
    assert ids(log=STEPS, signal=2) == []


def test_success_without_a_step_or_with_a_nan_end_is_a_finding() -> None:
    assert ids(exit_code=0, steps_done=0) == ["zero_step_run"]
    assert ids(exit_code=0, steps_done=500, last_loss_is_finite=False) == ["nan_loss"]
    assert ids(log=STEPS, exit_code=0, steps_done=500, last_loss_is_finite=True) == []


def test_a_symptom_never_outranks_a_cause() -> None:
    symptom = "UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects\n"
    header = "Fatal Python error: Aborted\n"
    cause = "OMP: Error #15: Initializing libomp.dylib, but found libomp.dylib already initialized.\n"
    assert ids(log=symptom + header + cause, signal=6)[0] == "omp_duplicate"
    assert ids(log=cause + header + symptom, signal=6)[0] == "omp_duplicate"


def test_what_was_survived_explains_nothing() -> None:
    again = STEPS.replace("step", "epoch 2 step")
    assert ids(log=OOM + again, exit_code=3) == [UNKNOWN]
    assert ids(log=again + OOM, exit_code=3) == ["cuda_oom"]


def test_unknown_tells_the_last_exception_and_its_first_cause() -> None:
    log = (
        "Traceback (most recent call last):\n  File 'a.py', line 1, in f\nKeyError: 'warmup'\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n  File 'a.py', line 2, in g\nConfigError: no schedule\n"
    )
    (finding,) = diagnose(Evidence(log="loading failed for shard 3\n" + log, exit_code=1))
    assert finding.id == UNKNOWN
    assert "ConfigError: no schedule, first caused by KeyError: 'warmup'" in finding.cause
    assert finding.lines == ("loading failed for shard 3", "KeyError: 'warmup'", "ConfigError: no schedule")


@pytest.mark.parametrize(
    ("status", "platform", "code", "number"),
    [
        (0, "linux", 0, None),
        (1, "linux", 1, None),
        (-11, "linux", None, 11),
        (139, "linux", None, 11),
        (138, "darwin", None, 7),
        (-10, "darwin", None, 7),
        (3221225477, "windows", None, 11),
        (-1073741819, "windows", None, 11),
        (137, "windows", 137, None),
        (255, "linux", 255, None),
        (None, "linux", None, None),
    ],
)
def test_one_number_tells_code_or_signal(
    status: int | None, platform: str, code: int | None, number: int | None
) -> None:
    assert exit_of(status, platform=platform) == (code, number)


def test_huge_logs_are_read_at_both_ends_and_bad_encodings_survive(tmp_path: Path) -> None:
    log = tmp_path / "huge.log"
    log.write_bytes(b"first line\n" + b"\xff\xfe rubbish \x00\n" * 400_000 + OOM.encode())
    text = read_log(log)
    assert text.startswith("first line")
    assert len(text) <= HEAD_BYTES + TAIL_BYTES + 1
    assert read_stream(io.BytesIO(log.read_bytes())) == text
    assert ids(log=text, exit_code=1) == ["cuda_oom"]
    assert ids(log=decode(OOM.encode("utf-16")), exit_code=1) == ["cuda_oom"]


def test_every_signature_says_what_helps_and_where_it_is_known_from() -> None:
    for signature in signatures().values():
        assert signature.cause.endswith("."), signature.id
        assert signature.remedy.endswith("."), signature.id
        assert signature.source, signature.id
