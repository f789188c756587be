"""Two lines in a script: its words arrive once, whoever forks; alone it runs as if they were not there."""

from __future__ import annotations

import gzip
import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from app.services.ingest_snapshots import parse
from tests.waiting import wait_for
from trainer.protocol.events import Stream
from trainer.protocol.run_folder import Heartbeat, RunPaths, RunSpec, segments
from trainer.protocol.spool_claim import SpoolClaim
from trainer.telemetry.script_snapshots import SnapshotFiles

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.process


def new_run(folder: Path, *, recipe: str = "script") -> RunPaths:
    paths = RunPaths(folder / "run-1")
    RunSpec("run-1", "a run", recipe, "none", {}, 0.0, str(folder)).save(paths)
    paths.attempt(1).mkdir(parents=True)
    return paths


def started(paths: RunPaths | None, program: str, **more: str) -> subprocess.Popen[str]:
    """The program, as a supervisor would start it."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **more}
    if paths is not None:
        environ["SIGNALBOX_RUN_DIR"] = str(paths.root)
    return subprocess.Popen(
        [sys.executable, "-u", "-W", "error", "-c", textwrap.dedent(program)],
        env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def output_of(paths: RunPaths | None, program: str, **more: str) -> str:
    """What the program prints; it ends with code 0 and complains of nothing."""
    out, err = started(paths, program, **more).communicate(timeout=60)
    assert err == ""
    return out


def told(paths: RunPaths, kind: str = "metrics") -> list[dict[str, Any]]:
    lines = b"".join(path.read_bytes() for path in segments(paths.spool(Stream.TRAINER))).splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return [event for event in events if event["type"] == kind]


EVERYTHING = """
    from trainer.telemetry import alert, current_run, finish, init, log
    run = init(project="anything", name="any", config={"lr": 0.1})
    print(run.is_supervised, current_run() is run, run.config["lr"])
    run.log({"train/loss": 0.5, "text": "left out", "deep": {"a": 1, "b": None}}, step=1)
    log({"loss": 0.25, "val_loss": 0.75, "lr": 0.1}, step=2)
    run.log({"train/loss": float("nan")})
    run.log({"train/loss": 9.0}, step=1)
    run.log(None), run.log({object(): object()}), run.log({"x": 1.0}, step="seven")
    run.progress(3, 10, epoch=0.3, num_epochs=1)
    run.phase("evaluating", detail="now"), run.phase("no such phase")
    alert("Look", "here", level="WARN")
    run.checkpoint("no/such/file", 3)
    run.snapshot(3, [{"input": "1+1", "expected_output": "2", "output": "2", "loss": 0.5}])
    print(run.should_stop(), run.should_checkpoint(), run.should_snapshot(), run.summary.get("eval/loss"))
    finish()
"""


def test_alone_every_word_does_nothing(tmp_path: Path) -> None:
    assert output_of(None, EVERYTHING).split() == ["False", "True", "0.1", "False", "False", "False", "None"]


def test_every_word_arrives_under_a_supervisor(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    assert output_of(paths, EVERYTHING).split() == ["True", "True", "0.1", "False", "False", "False", "0.75"]
    assert [(event["step"], event["values"]) for event in told(paths)] == [
        (1, {"train/loss": 0.5, "deep/a": 1.0}),
        (2, {"train/loss": 0.25, "eval/loss": 0.75, "train/learning_rate": 0.1}),
        (3, {"train/loss": "NaN"}),
    ]
    assert [event["name"] for event in told(paths, "phase")] == ["training", "evaluating"]
    assert told(paths, "progress")[-1]["total_steps"] == 10
    assert told(paths, "alert")[-1]["level"] == "warning"
    assert told(paths, "finished")[-1]["reason"] == "completed"
    (snapshot,) = told(paths, "snapshot")
    assert snapshot["summary"]["accuracy"] == 1.0
    record = parse((paths.snapshots / snapshot["file"]).read_bytes())
    assert (record.task, record.step, record.outputs) == ("script", 3, [{"text": "2"}])
    assert json.loads(gzip.decompress((paths.snapshots / snapshot["file"]).read_bytes()))["attempt"] == 1
    beat = Heartbeat.load(paths.heartbeat)
    assert beat is not None
    assert beat.attempt == 1


def test_an_answer_may_be_called_what_the_api_calls_it(tmp_path: Path) -> None:
    examples = [{"input": "1 + 1", "expected_output": "2", "model_output": "2"}]
    paths = new_run(tmp_path)
    files = SnapshotFiles(paths, dataset="sums", attempt=1)
    name, figures = files.write(3, examples, summary={}, epoch=0.0)
    record = parse((paths.snapshots / name).read_bytes())
    assert (record.outputs, figures["accuracy"]) == ([{"text": "2"}], 1.0)


def test_a_script_may_say_where_its_model_places_the_examples(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    program = """
        from trainer.telemetry import current_run
        run = current_run()
        examples = [{"input": "a", "expected_output": "a", "output": "a"}, {"input": "b", "output": "b"}]
        class Array:
            def tolist(self):
                return [[1.0, 0.5, 1e6], [0, -2, 3]]
        run.snapshot(1, examples, vectors=Array())
        run.snapshot(2, examples, vectors=[[1.0, 2.0]])
        run.snapshot(3, examples, vectors=[[1.0, 2.0], [float("nan"), 1.0]])
        run.snapshot(4, examples, vectors=[[1.0, 2.0], ["x", None]])
    """
    output_of(paths, program)
    files = [event["file"] for event in told(paths, "snapshot")]
    records = [parse((paths.snapshots / name).read_bytes()) for name in files]
    assert [record.step for record in records] == [1, 2, 3, 4]
    first = records[0].vectors
    assert first is not None
    assert struct.unpack("<6e", first.packed) == (1.0, 0.5, 65504.0, 0.0, -2.0, 3.0)
    assert [record.vectors for record in records[1:]] == [None, None, None]
    why = [event["text"] for event in told(paths, "alert")]
    assert "1 vectors and 2 examples" in why[0]
    assert "vector 1 holds a number that is not finite" in why[1]
    assert "cannot be read" in why[2]


def test_a_recipe_of_ours_reports_through_its_own_reporter_only(tmp_path: Path) -> None:
    paths = new_run(tmp_path, recipe="two_tower")
    program = """
        from trainer.telemetry import current_run
        print(current_run().is_supervised)
        current_run().log({"a": 1.0}, step=1)
    """
    assert output_of(paths, program).strip() == "False"
    assert told(paths) == []


def test_of_all_processes_of_a_script_one_reports(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    output_of(
        paths,
        """
        import os, subprocess, sys
        from trainer.telemetry import current_run
        run = current_run()
        run.log({"a": 1.0}, step=1)
        child = os.fork()
        if child == 0:
            run.log({"a": 2.0}, step=2)
            os._exit(0)
        os.waitpid(child, 0)
        code = "from trainer.telemetry import current_run; current_run().log({'a': 3.0}, step=3)"
        subprocess.run([sys.executable, "-c", code], check=True)
        run.log({"a": 4.0}, step=4)
        """,
    )
    assert [event["step"] for event in told(paths)] == [1, 4]


def test_a_child_may_report_where_its_parent_has_not_begun(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    output_of(
        paths,
        """
        import os
        from trainer.telemetry import current_run
        run = current_run()
        child = os.fork()
        if child == 0:
            run.log({"a": 2.0}, step=2)
            os._exit(0)
        os.waitpid(child, 0)
        """,
    )
    assert [event["step"] for event in told(paths)] == [2]


def test_other_ranks_than_the_first_stay_silent(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    program = "from trainer.telemetry import current_run; current_run().log({'a': 1.0}, step=1)"
    output_of(paths, program, RANK="1", LOCAL_RANK="1")
    assert told(paths) == []
    output_of(paths, program, RANK="0", LOCAL_RANK="0")
    assert len(told(paths)) == 1


def test_words_of_many_threads_arrive_whole(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    output_of(
        paths,
        """
        import threading
        from trainer.telemetry import current_run
        def work(number):
            for step in range(1, 201):
                current_run().log({f"a{number}": float(step)}, step=step)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        """,
    )
    assert len(told(paths)) == 1600


def test_an_interpreter_without_the_fast_json_reports_the_same(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    program = (
        "import sys; sys.modules['orjson'] = None\n"
        "from trainer.telemetry import current_run\n"
        "current_run().log({'a': 0.1, 'b': float('inf')}, step=1); current_run().alert('\\u00fc')\n"
    )
    output_of(paths, program)
    assert told(paths)[0]["values"] == {"a": 0.1, "b": "Infinity"}
    assert told(paths, "alert")[0]["title"] == "\u00fc"


def test_an_interpreter_that_cannot_load_the_rest_runs_on(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    program = (
        "import sys; sys.modules['trainer.telemetry.script_run'] = None\n"
        "from trainer.telemetry import current_run\n"
        "current_run().log({'a': 0.1}); print(current_run().should_stop())\n"
    )
    out, err = started(paths, program).communicate(timeout=60)
    assert out.strip() == "False"
    assert "output is read instead" in err


def test_a_script_that_asks_ends_by_itself_when_it_is_to_stop(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    program = """
        import signal, time
        signal.signal(signal.SIGTERM, lambda *_: print("the script's own", flush=True))
        from trainer.telemetry import current_run
        run, step = current_run(), 0
        while not run.should_stop():
            step += 1
            run.log({"a": 1.0}, step=step)
            time.sleep(0.005)
        print("asked")
        run.finish()
    """
    script = started(paths, program)
    try:
        wait_for(lambda: len(told(paths)) > 3, what="report")
        script.send_signal(signal.SIGTERM)
        out, _ = script.communicate(timeout=30)
    finally:
        script.kill()
        script.wait()
    assert out.split("\n")[:2] == ["the script's own", "asked"]
    assert script.returncode == 0
    assert told(paths, "finished")[0]["reason"] == "stopped"


def test_no_word_waits_for_a_stream_that_somebody_holds(tmp_path: Path) -> None:
    paths = new_run(tmp_path)
    claim = SpoolClaim(paths, attempt=1)
    assert claim.take()
    program = """
        import time
        from trainer.telemetry import current_run
        begin = time.monotonic()
        for step in range(1000):
            current_run().log({"a": 1.0}, step=step)
        print(time.monotonic() - begin)
    """
    begin = time.monotonic()
    assert float(output_of(paths, program)) < 5.0
    assert time.monotonic() - begin < 30.0
    assert told(paths) == []
    claim.close()
