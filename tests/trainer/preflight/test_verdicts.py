"""What each general check says of which figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.preflight.questions import outlook, question
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight import amount, device, disk, duration, intervals, leak, memory, repetitions, steps
from trainer.preflight.outlook import Examples, Outlook, Pace, Survey
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec

OK, NOTE, WARNING, PROBLEM = Verdict.OK, Verdict.NOTE, Verdict.WARNING, Verdict.PROBLEM
GIB = 2**30


@pytest.mark.parametrize(
    ("fields", "verdict", "words"),
    [
        ({}, OK, "360 optimizer steps, 36 per epoch, of 500 examples each"),
        ({"is_estimated": True}, OK, "About 360"),
        ({"num_train": 499}, PROBLEM, "A batch of 500 examples is larger than all 499 to train on"),
        ({"num_train": 1, "batch_size": 1, "total_steps": 0}, PROBLEM, "not one optimizer step"),
        ({"num_train": 999}, WARNING, "499 of 999 examples are left out of every epoch"),
        ({"accumulate": 64}, WARNING, "one step takes more batches than an epoch has"),
    ],
)
def test_a_run_without_whole_batches_is_red(fields: dict[str, Any], verdict: Verdict, words: str) -> None:
    check = steps.judge(outlook(**fields))
    assert check.verdict is verdict, check.found
    assert words in check.found


@pytest.mark.parametrize(
    ("fields", "verdict", "words"),
    [
        ({}, OK, "10 evaluations and 10 checkpoints on the way"),
        ({"warmup_steps": 360}, WARNING, "the learning rate never gets to its value"),
        ({"eval_every": 361}, WARNING, "there is one, at the end"),
        ({"checkpoint_every": 361}, WARNING, "a death before the end loses all"),
        ({"checkpoint_every": 361, "total_steps": 36}, OK, "1 evaluation and 0 checkpoints"),
    ],
)
def test_intervals_must_fall_within_the_run(fields: dict[str, Any], verdict: Verdict, words: str) -> None:
    check = intervals.judge(outlook(**fields))
    assert check.verdict is verdict, check.found
    assert words in check.found


def test_138_pairs_are_too_few_and_so_are_ten_to_measure_with() -> None:
    few = amount.judge(train=138, held_out=10)
    assert few.verdict is WARNING
    assert "Only 138" in few.found
    assert "each is worth 10 %" in few.found
    assert amount.judge(train=20_000, held_out=2000).verdict is OK


def examples(rows: list[tuple[str, str, str]], *, held_out: int) -> Examples:
    ids, inputs, outputs = (list(column) for column in zip(*rows, strict=True))
    numbers = np.arange(len(rows))
    return Examples(ids, inputs, outputs, numbers[held_out:], numbers[:held_out], ("query", "document"))


def distinct(count: int) -> list[tuple[str, str, str]]:
    return [(str(n), f"question {n}", f"answer {n}") for n in range(count)]


def test_the_same_id_or_query_on_both_sides_is_a_leak_whatever_its_punctuation() -> None:
    fine = distinct(1000)
    assert leak.judge(examples(fine, held_out=100)).verdict is OK
    same_id = leak.judge(examples([*fine, ("7", "else", "else")], held_out=100))
    assert (same_id.verdict, same_id.details["same_id"]) == (PROBLEM, 1)
    again = [(f"x{n}", f"Question {n}!", "b") for n in range(5)]
    shouted = leak.judge(examples([*fine, *again], held_out=100))
    assert shouted.verdict is PROBLEM
    assert "5 of 100 held-out examples are also trained on" in shouted.found
    assert leak.judge(examples([*fine, *again[:1]], held_out=200)).verdict is WARNING
    assert leak.judge(examples([*fine, *again[:1]], held_out=900)).verdict is NOTE


def test_long_texts_that_differ_in_the_middle_only_are_not_taken_for_one() -> None:
    preamble = "You are asked to do something. " * 5
    rows = [(str(n), f"{preamble}{n}", "a") for n in range(200)]
    assert leak.judge(examples(rows, held_out=20)).verdict is OK


def test_repetitions_are_counted_and_a_constant_answer_is_red() -> None:
    fine = distinct(100)
    assert repetitions.judge(examples(fine, held_out=10)).verdict is OK
    twice = repetitions.judge(examples([*fine, ("again", "question 5", "answer 5")], held_out=10))
    assert (twice.verdict, twice.details["repeated"]) == (NOTE, 1)
    often = repetitions.judge(
        examples([*fine, *((f"again {n}", "question 5", "answer 5") for n in range(9))], held_out=10)
    )
    assert often.verdict is WARNING
    assert often.details["most_repeated"][0]["times"] == 10
    constant = [(str(n), f"question {n}", "same") for n in range(9)]
    assert repetitions.judge(examples(constant, held_out=3)).verdict is PROBLEM


@pytest.mark.parametrize(("free", "verdict"), [(100 * GIB, OK), (GIB // 2, WARNING), (GIB // 5, PROBLEM)])
def test_two_checkpoints_must_fit_the_disk(free: int, verdict: Verdict) -> None:
    check = disk.judge(outlook(), folder=Path("/somewhere"), free=free)
    assert check.verdict is verdict, check.found
    assert "about 100 MiB" in check.found or verdict is WARNING


def test_a_folder_that_cannot_be_written_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    (check,) = disk.look(question(tmp_path, "x"), Survey((), outlook()))
    assert check.verdict is PROBLEM


def test_memory_beyond_the_limit_is_red_and_a_tight_one_amber() -> None:
    def judged(room: int, whole: int) -> Check:
        return memory.judge(outlook(), room=room, whole=whole, whose="container")

    assert judged(8 * GIB, 16 * GIB).verdict is OK
    assert judged(GIB, 16 * GIB).verdict is WARNING
    red = judged(GIB // 4, GIB // 2)
    assert red.verdict is PROBLEM
    assert "the kernel would kill it" in red.found


def test_time_comes_from_the_smoke_run_then_from_a_run_like_it_then_from_arithmetic(tmp_path: Path) -> None:
    asked = question(tmp_path, "python_docs")
    (reckoned,) = duration.look(asked, Survey((), outlook()))
    assert "Roughly" in reckoned.found
    (unknown,) = duration.look(asked, Survey((), outlook(step_flop=0.0)))
    assert unknown.verdict is NOTE

    paths = RunPaths(asked.runs_dir / "run-7")
    params = {**asked.params, "num_epochs": 99, "learning_rate": 0.5}
    RunSpec("run-7", "r", "two_tower", "python_docs", params, 0.0, "d").save(paths)
    ended = ExitRecord("run-7", 1, "finished", "", 0, None, False, 100, 0.0, duration.START_S + 50.0)
    ended.save(paths)
    (like,) = duration.look(asked, Survey((), outlook()))
    assert "run run-7, which was like this one" in like.found
    assert like.details["seconds"] == pytest.approx(duration.START_S + 0.5 * 360)
    other = question(tmp_path, "python_docs", dim=64)
    assert duration.earlier_run(other) is None

    measured = outlook(pace=Pace(load_s=4.0, step_s=10.0, evaluate_s=1.0, save_s=0.5))
    (exact,) = duration.look(asked, Survey((), measured))
    assert exact.details["seconds"] == pytest.approx(4 + 3600 + 11 + 5.5)
    long = duration.of_pace(replace(measured, total_steps=10**6), Pace(0, 1.0, 0, 0))
    assert long.verdict is WARNING
    assert "12 days" in long.found


def test_an_outlook_survives_its_way_between_processes() -> None:
    one = outlook(pace=Pace(1.0, 2.0, 3.0, 4.0))
    assert Outlook.from_json(json.loads(json.dumps(one.to_json()))) == one


def told(**devices: dict[str, Any]) -> Check:
    return Check("device", "Device", OK, "", "", {"devices": devices})


def test_an_absent_device_is_red_and_the_cpu_needs_no_torch(tmp_path: Path) -> None:
    bare = replace(question(tmp_path, "x", device="cuda"), root=tmp_path, platform="linux")
    assert not device.could_accelerate(bare)
    assert device.judge(bare, outlook(), None).verdict is PROBLEM
    for name in ("auto", "cpu"):
        plain = replace(question(tmp_path, "x", device=name), root=tmp_path, platform="linux")
        assert not device.could_accelerate(plain)
        assert device.judge(plain, outlook(), None).verdict is OK
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()
    assert device.could_accelerate(bare, torch_version="2.13.0+cu130")
    assert not device.could_accelerate(bare, torch_version="2.13.0+cpu")
    assert not device.could_accelerate(replace(bare, profile="safe"), torch_version="2.13.0")


def test_a_gru_on_mps_is_amber_also_when_auto_would_take_it(tmp_path: Path) -> None:
    mps = told(auto={"type": "mps", "words": "mps", "trouble": ""}, mps={"type": "mps", "words": "mps"})
    for name in ("auto", "mps"):
        mac = replace(question(tmp_path, "x", device=name), platform="darwin")
        assert device.could_accelerate(mac)
        check = device.judge(mac, outlook(is_recurrent=True), mps)
        assert (check.verdict, check.remedy) == (WARNING, "Set device to cpu.")
        assert device.judge(mac, outlook(), mps).verdict is OK


def test_a_gpu_that_torch_cannot_use_or_that_is_full_is_told(tmp_path: Path) -> None:
    asked = question(tmp_path, "x", device="cuda")
    refused = told(cuda={"type": "", "words": "", "trouble": "device 'cuda': no usable GPU or driver found"})
    check = device.judge(asked, outlook(), refused)
    assert check.verdict is PROBLEM
    assert "no usable GPU" in check.found
    full = told(cuda={"type": "cuda", "words": "cuda (H200)", "trouble": "", "free_bytes": 1000})
    assert device.judge(asked, outlook(), full).verdict is WARNING
    crashed = Check("device_probe", "Device", PROBLEM, "The probe died of SIGSEGV")
    assert device.judge(asked, outlook(), crashed).found == "The probe died of SIGSEGV"
