"""Probes that people add are asked by the training itself, at its own steps and cost, and disturb nothing."""

from __future__ import annotations

import copy
import gzip
import json
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from app.services.ingest_snapshots import parse
from tests.children import tiny_task
from tests.trainer.engine.runs import events, series
from trainer.engine.checkpoint_probing import CheckpointProber
from trainer.engine.loop import train
from trainer.engine.manifests import manifests
from trainer.engine.process import train_run
from trainer.engine.run_snapshots import RunSnapshots
from trainer.engine.task import ProbeAnswers
from trainer.protocol.events import snapshot_name
from trainer.protocol.probe_files import AddedProbe, ProbeRowError, lines_of, probes_path, refused_by
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.telemetry.controls import Controls
from trainer.telemetry.reporter import Reporter

PARAMS: dict[str, Any] = {"num_epochs": 2, "snapshot_budget": 1e9, "checkpoint_every": 5, "eval_every": 6}
FIRST, SECOND, ODD = (
    AddedProbe("one", "3 9 27", "1"),
    AddedProbe("two", "60 61 62", "3", "large"),
    AddedProbe("odd", "1 2 3", "no class"),
)
Between = Callable[[int], None]


@pytest.fixture(autouse=True)
def _keep_signal_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


class AskableTask(tiny_task.TinyTask):
    """Takes texts of word numbers, each with its class; ``between`` is called before each micro-batch."""

    def __init__(self, *, between: Between = lambda number: None, **settings: Any) -> None:
        super().__init__(**settings)
        self.added: Sequence[AddedProbe] = ()
        self._between, self._number = between, 0

    def loss(self, micro_batch: Any) -> Any:
        self._number += 1
        self._between(self._number)
        return super().loss(micro_batch)

    def refused_probes(self, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
        return refused_by(check_class, probes)

    def with_probes(self, probes: Sequence[AddedProbe]) -> AskableTask:
        for row, probe in enumerate(probes, start=1):
            check_class(probe, row)
        other = copy.copy(self)
        other.added = list(probes)
        torch.rand(3)  # must not change what comes after
        return other

    def probes(self) -> list[dict[str, Any]]:
        if not self.added:
            return super().probes()
        return [{**probe.to_json(), "gold": probe.expected_output} for probe in self.added]

    def probe(self) -> ProbeAnswers:
        if not self.added:
            return super().probe()
        torch.rand(3)
        words = torch.tensor([[int(word) for word in probe.input.split()] for probe in self.added])
        answers = self.head(self.bag(words)).argmax(1).tolist()
        right = [
            float(answer == int(probe.expected_output))
            for answer, probe in zip(answers, self.added, strict=True)
        ]
        return ProbeAnswers(
            {"loss": [1.0] * len(answers), "correct": right},
            [{"top": [[f"class-{answer}", 1.0]]} for answer in answers],
            {f"class-{answer}": {"title": f"Class {answer}", "text": "words"} for answer in answers},
        )


def check_class(probe: AddedProbe, row: int) -> None:
    if probe.expected_output not in ("0", "1", "2", "3"):
        raise ProbeRowError(row, f"{probe.expected_output!r} is no class", field="expected_output")


def run(root: Path, *, attempt: int = 1, between: Between = lambda number: None, **params: Any) -> RunPaths:
    """Train an askable task in this process."""
    paths = RunPaths(root)
    if not paths.spec.exists():
        tiny_task.create_run(root, **{**PARAMS, **params})

    def entry(spec: RunSpec, paths: RunPaths, reporter: Reporter, controls: Controls) -> None:
        _, config = tiny_task.build(spec)
        torch.manual_seed(config.seed)
        task = AskableTask(seed=config.seed, between=between)
        train(task, config, spec=spec, paths=paths, reporter=reporter, controls=controls)

    train_run(paths, attempt=attempt, entry=entry)
    return paths


def add(root: Path, *probes: AddedProbe) -> None:
    root.mkdir(parents=True, exist_ok=True)
    probes_path(RunPaths(root)).write_bytes(lines_of(probes))


def added(paths: RunPaths) -> dict[int, dict[str, Any]]:
    """The snapshots of added probes by step."""
    found = {}
    for path in (paths.snapshots / "added").glob("step_*.json.gz"):
        content = json.loads(gzip.decompress(path.read_bytes()))
        assert path.name == snapshot_name(content["step"])
        found[content["step"]] = content
    return found


def asked(content: dict[str, Any]) -> list[str]:
    return [example["example_id"] for example in content["probes"]["examples"]]


def complaints(paths: RunPaths) -> list[str]:
    return [one["text"] for one in events(paths, "alert") if one["title"] == "Added probes are left out"]


def test_added_probes_are_asked_at_the_steps_of_the_own_ones_under_their_own_name(tmp_path: Path) -> None:
    add(tmp_path / "run", FIRST, SECOND)
    paths = run(tmp_path / "run")
    found = added(paths)
    assert sorted(found) == [0, 10, 25, 26]
    for content in found.values():
        assert (content["dataset"], asked(content)) == ("rows (added probes)", ["one", "two"])
        assert content["model_version"] == f"run@{content['step']}"
    for step in found:
        record = parse((paths.snapshots / "added" / snapshot_name(step)).read_bytes())
        assert len(record.outputs) == 2
    files = [event["file"] for event in events(paths, "snapshot")]
    assert files == [
        name for step in sorted(found) for name in (snapshot_name(step), f"added/{snapshot_name(step)}")
    ]
    sent = [document for content in found.values() for document in content["documents"]]
    assert len(sent) == len(set(sent))


def test_a_training_is_the_same_bit_for_bit_with_and_without_them(tmp_path: Path) -> None:
    add(tmp_path / "with", FIRST, SECOND)
    plain, watched = run(tmp_path / "plain"), run(tmp_path / "with")
    for name in ("train/loss", "train/grad_norm", "eval/loss"):
        assert series(plain, name) == series(watched, name)
    assert not added(plain)


def test_what_both_sets_cost_counts_as_one_snapshot(tmp_path: Path) -> None:
    add(tmp_path / "run", FIRST)
    paths = tiny_task.create_run(tmp_path / "run", **PARAMS)
    reporter = Reporter(paths, attempt=1)
    task = AskableTask(seed=1)
    snapshots = RunSnapshots(task, spec=RunSpec.load(paths), paths=paths, reporter=reporter)
    cost_s = snapshots.take(step=0, epoch=0.0)
    reporter.close()
    announced = [event["cost_s"] for event in events(paths, "snapshot")]
    assert len(announced) == 2
    assert cost_s >= sum(announced)
    assert snapshots.are_taken(0)
    add(tmp_path / "run", SECOND)
    assert not snapshots.are_taken(0), "somebody has added a probe since"


def test_where_the_own_probes_are_left_out_the_added_ones_are_too(tmp_path: Path) -> None:
    add(tmp_path / "run", FIRST)
    paths = run(tmp_path / "run", snapshot_budget=0.0)
    own = {event["step"] for event in events(paths, "snapshot") if "/" not in event["file"]}
    assert own == set(added(paths)) == {0, 26}
    assert [event["step"] for event in events(paths, "snapshot_skipped")] == [10, 25]


def test_a_probe_added_to_a_living_run_is_asked_from_the_next_snapshot_on(tmp_path: Path) -> None:
    root = tmp_path / "run"

    def between(number: int) -> None:
        if number == 4:
            add(root, FIRST)
        if number == 15:
            add(root, FIRST, SECOND)

    found = added(run(root, between=between))
    assert {step: asked(content) for step, content in found.items()} == {
        10: ["one"], 25: ["one", "two"], 26: ["one", "two"],
    }  # fmt: skip
    assert found[25]["documents"], "a new set must bring its documents along"


def test_probes_that_are_taken_away_are_not_asked_any_more(tmp_path: Path) -> None:
    root = tmp_path / "run"
    add(root, FIRST)
    found = added(run(root, between=lambda number: add(root) if number == 4 else None))
    assert list(found) == [0]


def test_a_row_that_cannot_be_asked_is_told_once_and_left_out(tmp_path: Path) -> None:
    add(tmp_path / "run", ODD, FIRST)
    paths = run(tmp_path / "run")
    assert [asked(content) for content in added(paths).values()] == [["one"]] * 4
    (words,) = complaints(paths)
    assert (
        "1 of 2 cannot be asked: row 1: expected_output 'no class' is no class. The others are asked" in words
    )
    assert events(paths, "finished")


def test_a_file_that_cannot_be_read_ends_no_training(tmp_path: Path) -> None:
    add(tmp_path / "run")
    probes_path(RunPaths(tmp_path / "run")).write_text("nonsense")
    paths = run(tmp_path / "run")
    assert not added(paths)
    (words,) = complaints(paths)
    assert "probes.jsonl: row 1: is not JSON" in words
    assert events(paths, "finished")[0]["step"] == 26


def test_a_task_that_takes_none_says_so(tmp_path: Path) -> None:
    paths = tiny_task.create_run(tmp_path / "run", **PARAMS)
    add(tmp_path / "run", FIRST)
    train_run(paths, attempt=1, entry=tiny_task.entry)
    assert complaints(paths) == ["Models of this recipe take no added probes."]
    assert events(paths, "finished")


class Killed(Exception):
    """The trainer's end, in this process."""


def test_a_resumed_run_has_no_holes_no_duplicates_and_the_same_answers(tmp_path: Path) -> None:
    for name in ("whole", "broken"):
        add(tmp_path / name, ODD, FIRST, SECOND)
    whole = run(tmp_path / "whole")

    def between(number: int) -> None:
        if number == 14:  # after the snapshot at 10 and the checkpoint behind it
            raise Killed

    with pytest.raises(Killed):
        run(tmp_path / "broken", between=between)
    broken = run(tmp_path / "broken", attempt=2)
    assert series(broken, "train/loss") == series(whole, "train/loss")
    expected, found = added(whole), added(broken)
    assert sorted(found) == sorted(expected)
    for step, content in found.items():
        for part in ("columns", "outputs", "probe_set", "documents"):
            assert content[part] == expected[step][part], (step, part)
    steps = [event["step"] for event in events(broken, "snapshot") if event["file"].startswith("added/")]
    assert steps == sorted(expected)
    assert len(complaints(broken)) == 1, "what people know already is not told again"


def test_a_back_fill_knows_what_the_training_has_asked(tmp_path: Path) -> None:
    add(tmp_path / "run", FIRST, SECOND)
    paths = run(tmp_path / "run")
    prober = CheckpointProber(
        RunSpec.load(paths),
        rebuild=lambda spec, tell: AskableTask(seed=spec.params["seed"]),
        into=RunPaths(tmp_path / "later"),
        attempt=1,
        device="cpu",
        added=[FIRST, SECOND],
        tell=lambda detail, fraction: None,
    )
    last = manifests(paths)[-1]
    assert prober.open(paths.checkpoints / last.file)["probe_set"] == added(paths)[last.step]["probe_set"]
