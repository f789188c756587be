"""Each signal is read with what the dump and the machine say."""

from __future__ import annotations

import pytest

from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.finding import UNKNOWN, Finding

STEPS = "".join(f"step {n}/900 loss {2 - n / 900:.3f}\n" for n in range(0, 500, 100))
OF_TRAINER = '  File "/srv/train.py", line 9 in step\n'
MIB = 1 << 20


def dump(what: str, frames: str = OF_TRAINER) -> str:
    other = 'Thread 0x00007f1 (most recent call first):\n  File "threading.py", line 3 in wait\n\n'
    current = f"Current thread 0x00007f2 (most recent call first):\n{frames}"
    return f"{STEPS}Fatal Python error: {what}\n\n{other}{current}"


def first(**known: object) -> Finding:
    return diagnose(Evidence(**known))[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "number", "name"),
    [
        ("Bus error", 7, "bus_error"),
        ("Floating point exception", 8, "integer_division"),
        ("Illegal instruction", 4, "illegal_instruction"),
        ("Segmentation fault", 11, "faulthandler_hdr"),
        ("Aborted", 6, "faulthandler_hdr"),
    ],
)
def test_a_signal_is_read_with_or_without_its_number(what: str, number: int, name: str) -> None:
    for known in ({"signal": number}, {}, {"exit_code": 1}):
        found = first(log=dump(what), **known)
        assert found.id == name
        assert any(what in line for line in found.lines)


@pytest.mark.parametrize(
    ("number", "name"),
    [(7, "bus_error"), (8, "integer_division"), (4, "illegal_instruction"), (25, "file_too_large")],
)
def test_a_signal_alone_is_enough_where_it_has_one_meaning(number: int, name: str) -> None:
    assert first(log=STEPS, signal=number).id == name
    assert first(log=STEPS, signal=11).id == UNKNOWN


def test_a_bus_error_is_a_want_of_room_where_room_is_wanting() -> None:
    log = dump("Bus error")
    full = first(log=log, signal=7, shm_free_bytes=0, shm_total_bytes=64 * MIB)
    assert (full.id, full.rungs) == ("dl_bus", ("workers",))
    assert full.lines[0] == "/dev/shm: 0 of 64 MiB free"
    assert "/dev/shm" in full.cause
    roomy = {"shm_free_bytes": 900 * MIB, "shm_total_bytes": 1000 * MIB}
    assert first(log=log, signal=7, disk_free_bytes=0, **roomy).id == "disk_full"
    usual = first(log=log, signal=7, disk_free_bytes=10**12, **roomy)
    assert usual.id == "bus_error"
    assert usual.lines[-1] == "/dev/shm afterwards: 900 of 1000 MiB free"
    assert OF_TRAINER.strip() in usual.lines


def test_on_a_mac_a_bus_error_stands_for_any_wild_access() -> None:
    assert first(log=dump("Bus error"), signal=7, platform="darwin").id == "faulthandler_hdr"
    assert first(log=STEPS, signal=7, platform="darwin").id == UNKNOWN


def test_a_stack_overflow_goes_round_and_a_deep_stack_does_not() -> None:
    around = "".join(f'  File "/srv/tree.py", line {40 + n % 2} in visit\n' for n in range(100)) + "  ...\n"
    found = first(log=dump("Segmentation fault", around), signal=11)
    assert found.id == "stack_overflow"
    assert 'File "/srv/tree.py", line 40 in visit' in found.lines
    deep = "".join(f'  File "/srv/model.py", line {n} in forward\n' for n in range(100)) + "  ...\n"
    assert first(log=dump("Segmentation fault", deep), signal=11).id == "faulthandler_hdr"
    short = '  File "/srv/tree.py", line 40 in visit\n' * 30
    assert first(log=dump("Segmentation fault", short), signal=11).id == "faulthandler_hdr"


def test_a_crash_that_was_survived_or_has_a_cause_keeps_its_own_reading() -> None:
    assert first(log=dump("Bus error") + STEPS, signal=15).id == UNKNOWN
    cause = "OMP: Error #15: Initializing libomp.dylib, but found libomp.dylib already initialized.\n"
    assert first(log=STEPS + cause + dump("Bus error").removeprefix(STEPS), signal=7).id == "omp_duplicate"
    raised = "Traceback (most recent call last):\n  File 'a.py', line 1, in f\nKeyError: 'x'\n"
    assert first(log=STEPS + raised, signal=7).id == UNKNOWN


@pytest.mark.parametrize(
    "line",
    ["OSError: [Errno 27] File too large: 'ckpt.pt'", "File size limit exceeded (core dumped)"],
)
def test_a_file_beyond_its_limit_is_named(line: str) -> None:
    assert first(log=f"{STEPS}{line}\n", exit_code=1).id == "file_too_large"
