"""Two processes make the same update as one that accumulates twice as much, whatever the recipe is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.trainer.engine.runs import ROOT, series
from tests.trainer.tasks.causal_lm.small_corpus import SMALL as SMALL_LM
from tests.trainer.tasks.causal_lm.small_corpus import write_completions
from tests.trainer.tasks.text_classification.small_texts import SMALL as SMALL_CLASSIFIER
from tests.trainer.tasks.text_classification.small_texts import write_texts
from trainer.engine.place import Place, here
from trainer.engine.ranks import Alone, RanksDiffer, Several, _checksum, _compare, ranks_of
from trainer.engine.torchrun import first_to_fall
from trainer.protocol.rank_files import LOST_PEER, RankFall, rank_paths
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes, validate

STEPS = 6
SMALL_TOWERS: dict[str, Any] = {
    "batch_size": 8, "dim": 16, "hidden_dim": 16, "num_buckets": 512, "device": "cpu", "num_probes": 4,
    "warmup_steps": 2, "mined_negatives": 1, "mine_from_epoch": 0, "group_negatives": 1,
}  # fmt: skip


def create(root: Path, recipe: str, dataset: Path, params: dict[str, Any]) -> None:
    root.mkdir(parents=True)
    complete = validate(recipes()[recipe], {**params, "max_steps": STEPS, "snapshot_budget": 0.0})
    RunSpec(root.name, root.name, recipe, str(dataset), complete, time.time(), str(root.parent.parent)).save(
        RunPaths(root)
    )


def write_pairs(path: Path) -> Path:
    lines = ["query,document,group"]
    lines += [f"word{i} is {i % 7},text of word{i} and {i % 7},g{i // 6}" for i in range(60)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def create_all(folder: Path, **params: Any) -> Path:
    files = folder.parent
    create(folder / "causal_lm", "causal_lm", files / "lm.jsonl", {**SMALL_LM, **params})
    classifier = {**SMALL_CLASSIFIER, "dropout": 0.0, **params}  # drawn from one sequence by one process
    create(folder / "classification", "text_classification", files / "texts.csv", classifier)
    create(folder / "two_tower", "two_tower", files / "pairs.csv", {**SMALL_TOWERS, **params})
    return folder


@pytest.mark.process
@pytest.mark.timeout(400)
def test_two_ranks_train_every_recipe_as_one_process_with_twice_the_accumulation(tmp_path: Path) -> None:
    write_completions(tmp_path / "lm.jsonl")
    write_texts(tmp_path / "texts.csv", count=90)
    write_pairs(tmp_path / "pairs.csv")
    alone = create_all(tmp_path / "alone", accumulate=4)
    together = create_all(tmp_path / "together", accumulate=2, nproc=2)
    of_recipes = "tests.children.ranks_of_recipes"
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    torchrun = [sys.executable, "-m", "trainer.engine.torchrun", "--nproc", "2", "--module", of_recipes]
    for command in ([sys.executable, "-m", of_recipes, str(alone)], [*torchrun, str(together)]):
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for recipe in ("causal_lm", "classification", "two_tower"):
        expected, found = RunPaths(alone / recipe), RunPaths(together / recipe)
        for name in ("train/loss", "train/grad_norm", "train/chance_loss", "eval/loss"):
            one, two = series(expected, name), series(found, name)
            assert one.keys() == two.keys(), f"{recipe}: {name}"
            assert list(two.values()) == pytest.approx(list(one.values()), rel=2e-4), f"{recipe}: {name}"


def test_a_process_that_torchrun_did_not_start_is_alone(tmp_path: Path) -> None:
    assert here({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}) == Place()
    environ = {"TORCHELASTIC_RUN_ID": "x", "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}
    assert here(environ) == Place(rank=1, count=2, local_rank=1)
    assert isinstance(ranks_of(RunPaths(tmp_path), seed=1, reporter=None, controls=None), Alone)  # type: ignore[arg-type]


@pytest.mark.parametrize(("num", "start"), [(10, 0), (7, 0), (5, 2), (1, 0)])
def test_every_micro_batch_is_worked_on_by_one_rank_in_the_update_it_belongs_to(num: int, start: int) -> None:
    class Stream:
        def micro_batches(self, epoch: int, *, start: int, every: int) -> Any:
            return iter(range(start, num, every))

    class Where:
        epoch, micro_batch = 0, start

    updates: dict[int, list[int]] = {}
    for rank in range(3):
        ranks = Several(Place(rank, 3, rank), RunPaths(Path()), seed=1, reporter=None, controls=None)  # type: ignore[arg-type]
        for number, share in enumerate(ranks.shares(Stream(), Where(), accumulate=2, num=num)):  # type: ignore[arg-type]
            updates.setdefault(number, []).extend(share.micro_batches)
    whole = list(range(start, num))
    assert [sorted(one) for one in updates.values()] == [whole[at : at + 6] for at in range(0, len(whole), 6)]


def test_other_weights_have_another_checksum_and_are_refused_with_the_rank() -> None:
    torch.manual_seed(0)
    weights = [nn.Parameter(torch.randn(5, 3)), nn.Parameter(torch.randn(3).to(torch.bfloat16))]
    before = _checksum(weights)
    with torch.no_grad():
        weights[0][1, 1] += 1e-6
    assert _checksum(weights) != before
    with pytest.raises(RanksDiffer, match="rank 2 differs from rank 0 in its step: 8 instead of 7"):
        _compare(["weights", "step"], [[1, 7], [1, 7], [1, 8]])


@pytest.mark.parametrize(
    ("exits", "fallen"),
    [
        ({0: LOST_PEER, 1: -9}, (1, None, 9)),
        ({0: 1, 1: -9}, (0, 1, None)),
        ({0: -15, 1: -11}, (1, None, 11)),
        ({0: 3, 1: 1}, (1, 1, None)),
        ({0: LOST_PEER}, (0, LOST_PEER, None)),
    ],
)
def test_the_first_cause_is_told_from_what_it_led_to(
    tmp_path: Path, exits: dict[int, int], fallen: tuple[int, int | None, int | None]
) -> None:
    class Failure:
        pid = 5

        def __init__(self, exitcode: int) -> None:
            self.exitcode = exitcode

    paths = RunPaths(tmp_path)
    raised = rank_paths(paths, 1, 1).exception
    raised.parent.mkdir(parents=True)
    raised.write_text('{"t": 5.0}')
    failures: Any = {rank: Failure(code) for rank, code in exits.items()}
    found = first_to_fall(failures, paths, attempt=1, count=2)
    assert (found.rank, found.code, found.signal) == fallen
    found.save(paths, 1)
    assert RankFall.load(paths, 1) == found
