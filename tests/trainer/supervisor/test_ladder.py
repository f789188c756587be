"""Which attempt follows which death: a table of histories, without a single process."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from trainer.diagnosis.catalogue import signatures
from trainer.diagnosis.finding import Finding
from trainer.protocol.attempt_plan import AttemptPlan
from trainer.protocol.rungs import Rung
from trainer.recipes.declaration import Remedy
from trainer.recipes.registry import recipes, validate
from trainer.supervisor import ladder
from trainer.supervisor.hang_finding import HangFacts, hang_finding
from trainer.supervisor.hangs import Hang
from trainer.supervisor.ladder import GiveUp, Ground, PastAttempt, Retry, decide


def halved(params: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"batch_size": params["batch_size"] // 2} if params["batch_size"] > 1 else None


def elsewhere(params: Mapping[str, Any]) -> dict[str, Any] | None:
    return None if params["search"] == "own" else {"search": "own"}


def no_evaluation(params: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"eval_every": 10**7}


def on_cpu(params: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"device": "cpu"}


def broken(params: Mapping[str, Any]) -> dict[str, Any] | None:
    raise KeyError("max_features")


GROUND = Ground(
    params={"batch_size": 64, "search": "shared", "device": "auto"},
    remedies={
        Rung.HALVE_BATCH: Remedy("half the batch", halved),
        Rung.MINING_PROCESS: Remedy("mine elsewhere", elsewhere),
        Rung.EVALUATION_OFF: Remedy("no evaluation", no_evaluation),
        Rung.SHORTER: Remedy("shorter", broken, changes_numbers=True),
        Rung.CPU: Remedy("train on the CPU", on_cpu, changes_numbers=True),
    },
    open_files=(1024, 8192),
)


def finding(name: str, *rungs: Rung) -> Finding:
    known = signatures().get(name)
    named = rungs or (known.rungs if known is not None else ())
    cause = known.cause if known is not None else "No known signature fits."
    return Finding(name, cause, "", 0.9, rungs=tuple(rung.value for rung in named))


def died(name: str = "unknown", *rungs: Rung, step: int = 50, **more: Any) -> PastAttempt:
    return PastAttempt(
        AttemptPlan(1),
        "failed",
        "the trainer was ended by SIGSEGV",
        step=step,
        findings=(finding(name, *rungs),),
        **more,
    )


def hung(code: str | None, phase: str = "training", hang: Hang = Hang.DEADLOCKED) -> PastAttempt:
    facts = HangFacts(hang, phase, code, f"{hang}: no progress for 130 s in phase {phase}")
    past = replace(died(), findings=(hang_finding(facts),), is_stall=True)
    return replace(past, reason=f"ended by its policy, because it was {facts.words}")


def climb(*deaths: PastAttempt, ground: Ground = GROUND, most: int = 12) -> list[str]:
    """The rungs taken while one death follows the other; the last of them repeats."""
    history: list[PastAttempt] = []
    plan = AttemptPlan(1)
    taken: list[str] = []
    for number in range(most):
        history.append(replace(deaths[min(number, len(deaths) - 1)], plan=plan))
        answer = decide(history, ground)
        if isinstance(answer, GiveUp):
            return taken
        plan = answer.plan
        assert plan.newest is not None
        taken.append(plan.newest.rung)
    return taken


KILLED: dict[str, Any] = {"signal": int(signal.SIGKILL)}
SEGFAULT: dict[str, Any] = {"signal": int(signal.SIGSEGV)}


@pytest.mark.parametrize(
    ("death", "rungs"),
    [
        (died("unknown", **KILLED), ["restart"]),
        (died("unknown", **SEGFAULT), ["restart"]),
        (died("faulthandler_hdr", signal=int(signal.SIGABRT)), ["restart"]),
        (died("faulthandler_hdr", signal=int(signal.SIGFPE)), []),
        (died("unknown"), []),  # a Python exception nobody knows
        (died("dataset_refused"), []),
        (died("nan_loss"), []),
        (died("zero_step_run"), []),
        (died("missing_module"), []),
        (died("cli_usage"), []),
        (died("illegal_instruction", signal=int(signal.SIGILL)), []),
        (died("disk_full"), []),
        (died("heap_corruption"), ["threads", "mining_process"]),
        (died("omp_segv"), ["threads", "mining_process"]),
        (died("omp_duplicate"), ["mining_process"]),
        (died("oom_killer", **KILLED), ["halve_batch"]),  # no workers here; 'shorter' is broken
        (died("cuda_oom"), ["halve_batch", "cpu"]),
        (died("cuda_oom", device="cpu (2 threads)"), ["halve_batch"]),
        (died("cuda_illegal_memory"), ["restart", "cpu"]),
        (died("fd_limit"), ["open_files"]),
        (died("dl_killed"), ["restart"]),
        (died("nccl_timeout"), ["restart"]),
        (died("ckpt_corrupt", checkpoints=(40, 30)), ["previous_checkpoint"]),
        (died("ckpt_corrupt", checkpoints=(40,)), []),
        (hung("OpenMP"), ["threads", "mining_process"]),
        (hung("DataLoader"), ["restart"]),  # this recipe has no workers
        (hung("generate"), ["evaluation_off", "restart"]),
        (hung("user code", "evaluating", Hang.SILENT_PHASE), ["evaluation_off", "restart"]),
        (hung("user code", "mining", Hang.BUSY_STUCK), ["mining_process", "restart"]),
        (hung("lock"), ["restart"]),
        (hung(None, hang=Hang.STOPPED), ["restart"]),
    ],
    ids=lambda value: value.root if isinstance(value, PastAttempt) else "-".join(value) or "never",
)
def test_a_death_that_repeats_at_its_step_takes_each_rung_once(death: PastAttempt, rungs: list[str]) -> None:
    ground = replace(GROUND, retries_stalls=True)
    assert climb(death, ground=ground) == rungs


def test_openmp_is_let_live_twice_only_on_macos_and_only_behind_the_mining_process() -> None:
    ground = replace(GROUND, platform="darwin", max_attempts=10)
    assert climb(died("omp_duplicate"), ground=ground) == ["mining_process", "duplicate_openmp"]
    assert climb(died("heap_corruption"), ground=ground) == ["threads", "mining_process"]
    without_mining = replace(ground, remedies={})
    assert climb(died("omp_duplicate"), ground=without_mining) == []
    last = climb_plan(died("omp_duplicate"), ground=ground)
    assert last.environment == {"KMP_DUPLICATE_LIB_OK": "TRUE"}
    assert [(taken.rung, taken.is_unsafe) for taken in last.rungs] == [
        ("mining_process", False),
        ("duplicate_openmp", True),
    ]


def climb_plan(death: PastAttempt, *, ground: Ground) -> AttemptPlan:
    history, plan = [replace(death, plan=AttemptPlan(1))], AttemptPlan(1)
    while isinstance(answer := decide(history, ground), Retry):
        plan = answer.plan
        history.append(replace(death, plan=plan))
    return plan


def test_every_way_to_end_without_a_failure_is_an_end() -> None:
    for past in (
        replace(died("unknown", **SEGFAULT), state="finished"),
        replace(died("unknown", **SEGFAULT), state="stopped"),  # by a signal from outside
        replace(died("unknown", **SEGFAULT), is_wish=True),
        replace(died("unknown", **SEGFAULT), is_gone=False),
    ):
        assert isinstance(decide([past], GROUND), GiveUp)
    assert isinstance(decide([died("unknown", **SEGFAULT)], replace(GROUND, max_attempts=1)), GiveUp)
    assert isinstance(decide([hung("lock")], GROUND), GiveUp)  # on_stall is not 'retry'


def test_the_recipe_is_asked_only_where_it_could_help() -> None:
    assert not ladder.asks_recipe(died("unknown", **SEGFAULT))
    assert not ladder.asks_recipe(died("dataset_refused"))
    assert not ladder.asks_recipe(replace(died("cuda_oom"), is_wish=True))
    assert ladder.asks_recipe(died("cuda_oom"))


def test_launches_without_progress_are_counted_and_end_it_in_words() -> None:
    deaths = [died("unknown", step=step, **SEGFAULT) for step in (50, 47, 52)]
    assert climb(*deaths) == ["restart", "restart"]
    history = [replace(past, plan=AttemptPlan(number)) for number, past in enumerate(deaths, 1)]
    answer = decide(history, GROUND)
    assert answer == GiveUp(
        "3 launches without progress, and the run's policy allows no more", is_exhausted=True
    )


def test_the_same_death_again_is_said_to_be_the_same() -> None:
    first = died("unknown", **SEGFAULT)
    answer = decide([first], GROUND)
    assert isinstance(answer, Retry)
    again = decide([first, replace(first, plan=answer.plan, step=51)], GROUND)  # one step is no difference
    assert isinstance(again, GiveUp)
    assert again.reason == "it died the same way after 'the same again', and no other remedy is left"


def test_a_newer_checkpoint_gives_new_launches_and_so_do_clearly_more_steps() -> None:
    def at(step: int, *checkpoints: int, from_step: int = 0) -> PastAttempt:
        return replace(died(step=step, **SEGFAULT), checkpoints=checkpoints, from_step=from_step)

    count = ladder.launches_without_progress
    assert count([at(50)]) == 1
    assert count([at(50), at(55), at(52)]) == 3
    assert count([at(50), at(70)]) == 1
    assert count([at(1000), at(1050)]) == 2  # five percent more are no progress
    assert count([at(50, 40), at(45, 40, from_step=40)]) == 2
    assert count([at(50, 40), at(52, 50, 40, from_step=40)]) == 1
    assert count([at(50, 40), at(52, 40, from_step=30)]) == 2  # the way back up again is none either


def test_rungs_add_up_and_what_helps_only_once_does_not_stay() -> None:
    first = died("unknown", step=5, **KILLED)
    restarted = decide([first], GROUND)
    assert isinstance(restarted, Retry)
    second = replace(died("heap_corruption", step=9), plan=restarted.plan)
    threaded = decide([first, second], GROUND)
    assert isinstance(threaded, Retry)
    third = replace(died("cuda_oom", step=40), plan=threaded.plan, environment=threaded.plan.environment)
    halved_too = decide([first, second, third], GROUND)
    assert isinstance(halved_too, Retry)
    plan = halved_too.plan
    assert [(taken.rung, taken.attempt) for taken in plan.rungs] == [("threads", 3), ("halve_batch", 4)]
    assert plan.params == {"batch_size": 32}
    assert plan.environment["OMP_NUM_THREADS"] == "1"
    assert plan.because == {
        "id": "cuda_oom",
        "cause": signatures()["cuda_oom"].cause,
        "step": 40,
        "attempt": 3,
    }


def test_the_pause_doubles_and_is_never_longer_than_a_minute() -> None:
    ground = replace(GROUND, max_attempts=20)
    history, waits = [], []
    plan = AttemptPlan(1)
    for number in range(9):
        history.append(replace(died(step=100 - 5 * number, **SEGFAULT), plan=plan))
        answer = decide(history, ground)
        assert isinstance(answer, Retry)
        plan = answer.plan
        waits.append(answer.wait_s)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert isinstance(shortened := decide(history[:1], ground, first_wait_s=0.01), Retry)
    assert shortened.wait_s == 0.01


def test_the_state_says_number_pause_remedy_and_cause_in_one_sentence() -> None:
    answer = decide([died("cuda_oom")], GROUND)
    assert isinstance(answer, Retry)
    assert answer.words == (
        "attempt 2 of 3 in 1 s: half the batch, because the GPU's memory is used up, by this run or by"
        " another process; the message says how much by which"
    )
    crash = decide([died("unknown", **SEGFAULT)], GROUND)
    assert isinstance(crash, Retry)
    assert crash.words == "attempt 2 of 3 in 1 s: the same again, because the trainer was ended by SIGSEGV"
    later = replace(died("cuda_oom"), plan=AttemptPlan(7))
    assert isinstance(seventh := decide([later], GROUND), Retry)
    assert seventh.words.startswith("attempt 8 (2 of 3 without progress) in 1 s: half the batch")


def test_one_thread_is_no_remedy_where_there_is_one_already() -> None:
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_MAX_THREADS")
    safe = dict.fromkeys(names, "1") | {"OMP_WAIT_POLICY": "PASSIVE"}
    assert climb(died("heap_corruption", environment=safe)) == ["mining_process"]


def test_no_more_files_are_asked_for_than_the_machine_allows() -> None:
    assert climb(died("fd_limit"), ground=replace(GROUND, open_files=(4096, 4096))) == []
    answer = decide([died("fd_limit")], replace(GROUND, open_files=(4096, -1), platform="darwin"))
    assert isinstance(answer, Retry)
    assert answer.plan.rungs[0].changes == {"RLIMIT_NOFILE": [4096, 10_240]}


@pytest.mark.parametrize(
    ("policy", "most"),
    [({}, 3), ({"max_attempts": 1}, 1), ({"max_attempts": 7}, 7), ({"max_attempts": "x"}, 3)],
)
def test_a_policy_without_a_number_allows_three_launches(policy: dict[str, Any], most: int) -> None:
    assert ladder.max_attempts(policy) == most


def test_the_deaths_that_a_restart_may_cure_are_known_to_the_diagnosis() -> None:
    known = signatures().keys() | {"unknown"}
    assert known >= ladder._RESTART_MAY_CURE | ladder._CRASHES | ladder._NEVER


def test_what_the_recipes_declare_changes_only_parameters_they_have() -> None:
    for recipe in recipes().values():
        params = validate(recipe, {})
        for remedy in recipe.remedies.values():
            changed = remedy.change(params)
            assert changed is None or validate(recipe, {**params, **changed})
