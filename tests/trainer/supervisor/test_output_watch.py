"""A script that knows nothing of its supervisor has steps, metrics and an end, read from what it prints."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.supervisor.supervised import ROOT, STARTED, events, finish, new_run, wait_until
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import ExitRecord, RunPaths, RunSpec
from trainer.protocol.spool_claim import SpoolClaim
from trainer.supervisor.output_watch import MOST_BEHIND_BYTES, OutputWatch, output_watch
from trainer.telemetry.output.settings import OutputSettings


def run_of_a_script(folder: Path, program: str) -> tuple[RunPaths, Path]:
    """A run folder whose recipe is ``script``, and the script."""
    paths = new_run(folder)
    replace(RunSpec.load(paths), recipe="script").save(paths)
    script = folder / "train.py"
    script.write_text(textwrap.dedent(program))
    return paths, script


def supervised(paths: RunPaths, script: Path) -> ExitRecord:
    """One whole run of the script under a real supervisor."""
    command = [sys.executable, "-m", "tests.children.supervisor_of_script", str(paths.root), str(script)]
    supervisor = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=ROOT)
    STARTED.append(supervisor)
    return finish(supervisor, paths)


def metrics_of(paths: RunPaths) -> list[tuple[int, dict[str, Any]]]:
    told = events(paths, Stream.TRAINER)
    return [(event["step"], event["values"]) for event in told if event["type"] == "metrics"]


@pytest.mark.process
def test_an_unchanged_script_that_prints_its_loss_has_steps_metrics_and_an_end(tmp_path: Path) -> None:
    program = """
        print("using device cpu, batch_size: 32, lr: 0.001")
        for step in range(1, 6):
            print(f"step {step}/5 loss: {1.0 / step:.4f}")
        print("val_loss=0.125")
    """
    paths, script = run_of_a_script(tmp_path, program)
    record = supervised(paths, script)
    assert (record.state, record.exit_code, record.step) == ("finished", 0, 5)
    assert metrics_of(paths) == [
        (1, {"train/loss": 1.0}), (2, {"train/loss": 0.5}), (3, {"train/loss": 0.3333}),
        (4, {"train/loss": 0.25}), (5, {"train/loss": 0.2}), (5, {"eval/loss": 0.125}),
    ]  # fmt: skip
    assert record.metrics["last"]["train/loss"] == 0.2
    assert events(paths, Stream.TRAINER)[-1]["type"] == "finished"


@pytest.mark.process
@pytest.mark.parametrize("opens", ["run = current_run()", ""])
def test_a_step_that_is_printed_before_the_first_report_of_it_counts_once(tmp_path: Path, opens: str) -> None:
    program = f"""
        import time
        from trainer.telemetry import current_run
        {opens}
        for step in range(1, 4):
            print(f"step {{step}} loss {{1.0 / step:.2f}}", flush=True)
            time.sleep(0.4)
            current_run().log({{"train/loss": 1.0 / step}}, step=step)
    """
    paths, script = run_of_a_script(tmp_path, program)
    record = supervised(paths, script)
    assert record.state == "finished"
    assert metrics_of(paths) == [(step, {"train/loss": 1.0 / step}) for step in (1, 2, 3)]


@pytest.mark.process
def test_one_that_only_asks_whether_to_stop_is_read_all_the_same(tmp_path: Path) -> None:
    program = """
        from trainer.telemetry import current_run
        run = current_run()
        for step in range(1, 4):
            print(f"step {step} loss {1.0 / step:.2f}")
            run.should_stop()
    """
    paths, script = run_of_a_script(tmp_path, program)
    supervised(paths, script)
    assert [step for step, _ in metrics_of(paths)] == [1, 2, 3]


def written(paths: RunPaths, text: bytes) -> None:
    paths.attempt(1).mkdir(parents=True, exist_ok=True)
    with paths.output(1).open("ab") as file:
        file.write(text)


def watch_of(paths: RunPaths, settings: OutputSettings | None = None) -> OutputWatch:
    return OutputWatch(paths, attempt=1, from_step=0, settings=settings or OutputSettings())


def test_reading_ends_with_the_first_report_of_the_script_itself(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    watch = watch_of(paths)
    written(paths, b"step 1 loss 0.5\n")
    watch.look()
    assert metrics_of(paths) == []  # the script may be about to say it itself

    def looked() -> object:
        watch.look()
        return metrics_of(paths)

    wait_until(looked)
    assert [step for step, _ in metrics_of(paths)] == [1]
    other = SpoolClaim(paths, attempt=1)
    assert other.take()
    other.mark()
    written(paths, b"step 2 loss 0.4\n")
    watch.look()
    assert not watch.is_reading
    assert [step for step, _ in metrics_of(paths)] == [1]
    other.close()
    watch.close()


def test_output_that_grows_is_a_sign_of_life_also_when_nothing_is_read(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    watch = watch_of(paths, OutputSettings(reads=False))
    before = watch.heard_at
    time.sleep(0.001)
    written(paths, b"step 1 loss 0.5\n")
    watch.look()
    assert watch.heard_at > before
    assert events(paths, Stream.TRAINER) == []
    watch.close()


def test_a_flood_is_not_followed_to_its_last_byte_and_that_is_told(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    watch = watch_of(paths)
    written(paths, b"nothing of interest here\n" * (3 * MOST_BEHIND_BYTES // 25) + b"step 7 loss 0.5\n")
    watch.look()
    watch.look(last=True)
    assert watch.skipped_bytes > 0
    told = events(paths, Stream.TRAINER)
    assert [event["title"] for event in told if event["type"] == "alert"] == ["Output was left unread"]
    assert metrics_of(paths) == [(7, {"train/loss": 0.5})]
    watch.close()


def test_letters_cut_by_the_end_of_a_read_survive(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    watch = watch_of(paths)
    bar = "Epoch 0:  50%|█████     | 5/10 [00:01<00:01,  4.2it/s, loss=0.25]\n".encode()
    written(paths, bar[:18])
    watch.look()
    written(paths, bar[18:])
    watch.look(last=True)
    assert metrics_of(paths) == [(5, {"train/loss": 0.25})]
    watch.close()


def test_settings_of_a_run_are_kept_in_its_folder_and_bad_ones_do_not_stop_it(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    spec = RunSpec("r", "r", "script", "none", {}, 0.0, str(tmp_path))
    OutputSettings(reads=False).save(paths)
    watch = output_watch(paths, spec, attempt=1, from_step=0)
    assert watch is not None
    assert not watch.is_reading
    (paths.root / "output.json").write_text('{"reads": "yes"}')
    watch = output_watch(paths, spec, attempt=1, from_step=0)
    assert watch is not None
    assert watch.is_reading
    assert output_watch(paths, replace(spec, recipe="two_tower"), attempt=1, from_step=0) is None
