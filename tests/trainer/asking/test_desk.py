"""A real model in a real process, asked, killed, and asked again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.waiting import wait_for
from trainer.asking.desk import Desk
from trainer.asking.faults import AskingError, Fault
from trainer.asking.surroundings import AskLimits, environment
from trainer.engine.manifests import manifests
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.run_folder import RunPaths, RunSpec

pytestmark = pytest.mark.process
LIMITS = AskLimits(memory_bytes=4 * 1024**3)
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def desk(trained: RunPaths) -> Iterator[Desk]:
    opened = Desk(trained, limits=LIMITS)
    yield opened
    opened.close()


def ask(desk: Desk, *, wish: str | None = None, **question: Any) -> dict[str, Any]:
    return desk.ask({"query": "function_7", **question}, wish=wish, tell=lambda detail, share: None)


def test_a_search_gives_ranked_documents_and_the_model_stays(desk: Desk) -> None:
    first = ask(desk, count=3)
    assert first["answer"]["kind"] == "ranking"
    scores = [one["score"] for one in first["answer"]["documents"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    pid = desk.pid
    again = ask(desk, count=3)
    assert (desk.pid, again["answer"]) == (pid, first["answer"])
    assert again["open_s"] < 0.1
    everything = ask(desk, count=3, among="all documents")["answer"]
    assert everything["num_candidates"] > first["answer"]["num_candidates"]


def test_another_checkpoint_gives_other_scores_in_the_same_process(desk: Desk, trained: RunPaths) -> None:
    last = ask(desk, wish="last")
    pid = desk.pid
    oldest = ask(desk, wish=str(manifests(trained)[0].step))
    assert desk.pid == pid
    assert (last["checkpoint"]["last"], oldest["checkpoint"]["last"]) == (True, False)
    assert last["answer"]["documents"] != oldest["answer"]["documents"]


def test_after_a_death_the_next_question_starts_another_process(desk: Desk) -> None:
    ask(desk)
    pid = desk.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, what="end of the process")
    assert ask(desk)["answer"]["documents"]
    assert desk.pid != pid


def test_a_wrong_question_costs_nobody_the_model(desk: Desk) -> None:
    ask(desk)
    pid = desk.pid
    for wrong, field in (({"query": ""}, "query"), ({"count": 0}, "count"), ({"depth": 1}, "depth")):
        with pytest.raises(AskingError) as caught:
            ask(desk, **wrong)
        assert (caught.value.kind, caught.value.field) == (Fault.QUESTION, field)
    assert desk.pid == pid


def test_a_dataset_that_is_gone_is_named(run_copy: RunPaths) -> None:
    spec = json.loads(run_copy.spec.read_text())
    spec["dataset"] = str(run_copy.root / "gone.jsonl")
    run_copy.spec.write_text(json.dumps(spec))
    desk = Desk(run_copy, limits=LIMITS)
    with pytest.raises(AskingError, match=r"gone\.jsonl") as caught:
        ask(desk)
    assert caught.value.kind is Fault.OPENING
    assert desk.pid is None


def test_a_dataset_that_has_changed_is_said_beside_the_answer(run_copy: RunPaths, tmp_path: Path) -> None:
    spec = json.loads(run_copy.spec.read_text())
    lines = Path(spec["dataset"]).read_text().splitlines()
    changed = tmp_path / "functions.jsonl"
    changed.write_text("\n".join(lines[:-3]))
    spec["dataset"] = str(changed)
    run_copy.spec.write_text(json.dumps(spec))
    desk = Desk(run_copy, limits=LIMITS)
    assert "has changed" in ask(desk)["answer"]["note"]
    desk.close()


def test_a_recipe_that_cannot_be_asked_says_so(run_copy: RunPaths) -> None:
    spec = json.loads(run_copy.spec.read_text())
    run_copy.spec.write_text(json.dumps({**spec, "recipe": "unheard_of"}))
    with pytest.raises(AskingError, match="knows no recipe 'unheard_of'"):
        Desk(run_copy, limits=LIMITS)


def test_the_environment_is_the_hardened_one_without_the_mark_of_the_run(run_copy: RunPaths) -> None:
    AttemptPlan(attempt=1, environment={"OMP_NUM_THREADS": "3"}).save(run_copy)
    told = environment(RunSpec.load(run_copy), run_copy, device="cpu")
    assert told["OMP_NUM_THREADS"] == "3", "what a rung has set holds here too"
    assert told["OMP_WAIT_POLICY"] == "PASSIVE"
    assert told["CUDA_VISIBLE_DEVICES"] == ""
    assert "SIGNALBOX_RUN_DIR" not in told, "a trainer that starts anew would end the process"


def serving(paths: RunPaths, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "trainer", "ask", str(paths.root), "-", *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def answered(process: subprocess.Popen[str], **request: Any) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        word: dict[str, Any] = json.loads(line)
        if "tell" not in word:
            return word
    raise AssertionError("it ended without an answer")


def test_json_lines_are_answered_until_the_input_ends_and_nothing_is_left(trained: RunPaths) -> None:
    with serving(trained) as process:
        word = answered(process, id=7, question={"query": "x"})
        assert word["id"] == 7
        assert word["result"]["answer"]["documents"]
        assert "error" in answered(process, id=8, question={}, checkpoint="last")
        assert "must be" in answered(process, question="x")["error"]["message"]
        (model,) = psutil.Process(process.pid).children()
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)
        assert psutil.wait_procs([model], timeout=10)[1] == []


def test_the_model_ends_with_a_desk_that_is_killed(trained: RunPaths) -> None:
    with serving(trained) as process:
        answered(process, id=1, question={"query": "x"})
        (model,) = psutil.Process(process.pid).children()
        process.kill()
        process.wait(timeout=30)
        assert psutil.wait_procs([model], timeout=10)[1] == []


def test_nobody_asking_ends_it(trained: RunPaths) -> None:
    with serving(trained, "--idle-s", "0.5") as process:
        assert process.wait(timeout=30) == 0
