"""The two-tower recipe on files of every kind, and its parameters against them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.preflight.questions import one, pairs, question, verdicts, write
from trainer.engine.manifests import Manifest, write_manifest
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.declaration import preflight_of
from trainer.preflight.outlook import Survey
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.registry import recipes, validate
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower import forecast, survey
from trainer.tasks.two_tower.forecast import Facts
from trainer.tasks.two_tower.model import TwoTowers, text_towers, vector_towers

PREFLIGHT = preflight_of(recipes()["two_tower"].preflight)


def vectors(path: Path, *, count: int = 40, length: int = 24, document: int = 16) -> Path:
    generator = np.random.default_rng(0)
    np.savez(
        path,
        query_vectors=generator.standard_normal((count, 3, length), dtype=np.float32),
        document_vectors=generator.standard_normal((count, document), dtype=np.float32),
    )
    return path


def surveyed(folder: Path, dataset: str | Path, **params: Any) -> tuple[Survey, list[Check]]:
    """The survey, and what the recipe's own suspicions say."""
    asked = question(folder, dataset, **params)
    known = PREFLIGHT.survey(asked)
    if known.outlook is None:
        return known, []
    return known, [check for own in PREFLIGHT.suspicions for check in own.look(asked, known)]


def test_a_sound_file_is_counted_split_and_foreseen(tmp_path: Path) -> None:
    known, own = surveyed(tmp_path, pairs(tmp_path / "p.jsonl"), num_probes=5)
    dataset = one(known.checks, "dataset")
    assert "200 pairs of text in 20 groups (counted)" in dataset.found
    assert dataset.details["first"][0]["query"] == "word0 thing0"
    assert known.outlook is not None
    assert known.outlook.num_train + known.outlook.num_held_out == 200
    assert known.outlook.steps_per_epoch == known.outlook.num_train // 16
    assert verdicts(own) == dict.fromkeys(("model", "negatives", "measures"), Verdict.OK) | {
        "measures": one(own, "measures").verdict
    }


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("p.jsonl", b"", "is empty"),
        ("p.jsonl", b"{}\n", "line 1, column query: is missing"),
        ("p.jsonl", b'{"query": "a", "document": "b"}\n{"query": "a", "document": ""}\n', "line 2, column"),
        ("p.csv", b"question,answer\na,b\n", "column query is missing"),
        ("p.jsonl", b'{"query": "a", "document": "b"}\n', "form a single group"),
        ("p.npz", b"PK nothing", "is not a readable NPZ file"),
        ("p.parquet", b"x", "its name must end in one of .jsonl"),
        ("p.tsv", b"\xff\xfea", "UTF-16"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_place(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    known, _ = surveyed(tmp_path, tmp_path / name)
    (check,) = known.checks
    assert (check.verdict, known.outlook) == (Verdict.PROBLEM, None)
    assert words in check.found
    assert check.remedy


def test_no_file_a_folder_and_a_pipe_are_red_and_a_link_is_followed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name, words in [
        ("gone.jsonl", "No such"),
        (".", "is a folder"),
        ("pipe.jsonl", "not a regular"),
    ]:
        known, _ = surveyed(tmp_path, tmp_path / name)
        assert words in known.checks[0].found
    (tmp_path / "link.jsonl").symlink_to(pairs(tmp_path / "p.jsonl"))
    assert surveyed(tmp_path, tmp_path / "link.jsonl")[0].outlook is not None


def test_of_a_huge_file_only_the_beginning_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "WHOLE_TEXT_BYTES", 10_000)
    monkeypatch.setattr(survey, "HEAD_TEXT_BYTES", 20_000)
    path = pairs(tmp_path / "p.jsonl", count=4000, groups=400)
    with path.open("a") as file:
        file.write("this line is far behind, and no JSON\n")
    known, _ = surveyed(tmp_path, path)
    dataset = one(known.checks, "dataset")
    assert "About 4," in dataset.found or "About 3," in dataset.found
    assert "estimated from the first" in dataset.found
    assert known.outlook is not None
    assert known.outlook.is_estimated
    assert known.examples is not None
    assert len(known.examples.ids) < 500


def test_of_huge_vectors_the_headers_are_read_and_the_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "WHOLE_VECTOR_BYTES", 1000)
    monkeypatch.setattr(survey, "HEAD_ROWS", 10)
    known, _ = surveyed(tmp_path, vectors(tmp_path / "v.npz"), document_tower="linear")
    assert "40 pairs of vectors in 40 groups (counted, the first 10 looked at)" in known.checks[0].found
    assert known.outlook is not None
    assert known.outlook.is_recurrent


def test_an_unbuilt_corpus_is_no_fault(tmp_path: Path) -> None:
    known, _ = surveyed(tmp_path, "python_docs")
    assert known.checks[0].verdict is Verdict.NOTE
    assert known.outlook is not None
    assert not (tmp_path / "datasets").exists()


def test_lengths_of_vectors_must_agree_where_nothing_is_in_between(tmp_path: Path) -> None:
    path = vectors(tmp_path / "v.npz")
    _, own = surveyed(tmp_path, path, document_tower="identity", dim=32)
    model = one(own, "model")
    assert (model.verdict, model.remedy) == (
        Verdict.PROBLEM,
        "Set dim to 16, or document_tower to linear.",
    )
    _, own = surveyed(tmp_path, path, document_tower="identity", dim=16)
    assert "num_buckets has no effect" in one(own, "model").found


@pytest.mark.parametrize(
    ("params", "name", "words"),
    [
        ({"num_probes": 500}, "measures", "500 probes were asked for"),
        ({"best_metric": "recall@100"}, "measures", "close to 1 from the start"),
        ({"patience": 50}, "measures", "it never stops early"),
        ({"mined_negatives": 2, "mine_from_epoch": 12}, "negatives", "never"),
        ({"mined_negatives": 2, "mine_depth": 2000}, "negatives", "near or not"),
        (
            {"memory_bank": 100, "symmetric": False, "memory_bank_from_epoch": 0},
            "negatives",
            "moving away from what is old",
        ),
        (
            {"memory_bank": 100, "margin": 0.1, "memory_bank_from_epoch": 0},
            "negatives",
            "moving away from what is old",
        ),
        ({"memory_bank": 100, "memory_bank_from_epoch": 12}, "negatives", "has 12: never"),
    ],
)
def test_parameters_that_do_not_fit_the_dataset_are_amber(
    tmp_path: Path, params: dict[str, Any], name: str, words: str
) -> None:
    _, own = surveyed(tmp_path, pairs(tmp_path / "p.jsonl"), **params)
    check = one(own, name)
    assert check.verdict is Verdict.WARNING
    assert words in check.found
    assert check.remedy


def test_same_group_negatives_need_groups(tmp_path: Path) -> None:
    rows = [{"query": f"q{n}", "document": f"d{n}"} for n in range(50)]
    _, own = surveyed(tmp_path, write(tmp_path / "p.jsonl", rows), group_negatives=1)
    assert "Every pair is a group of its own" in one(own, "negatives").found


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"share_towers": True},
        {"num_layers": 2},
        {"bidirectional": False, "document_tower": "identity"},
        {"query_tower": "mlp", "document_tower": "mlp"},
        {"query_tower": "identity", "dim": 20},
    ],
)
@pytest.mark.parametrize("kind", ["text", "vectors"])
def test_weights_are_counted_exactly(params: dict[str, Any], kind: str) -> None:
    complete = validate(recipes()["two_tower"], {"dim": 16, "hidden_dim": 24, "num_buckets": 512, **params})
    typed, cpu = TwoTowerParams.model_validate(complete), torch.device("cpu")
    shape = None if kind == "text" else (3, 20)
    towers: TwoTowers
    if kind == "text":
        towers = text_towers(typed, cpu)
    else:
        towers = vector_towers(typed, query_dim=20, document_dim=16, device=cpu)
    distinct = {id(one): one.numel() for module in towers.modules().values() for one in module.parameters()}
    facts = Facts(10, 8, 2, 10, 2, 10, query_shape=shape, document_dim=None if shape is None else 16)
    assert forecast.num_weights(facts, complete) == sum(distinct.values())


def test_a_smoke_run_of_a_curriculum_mines_in_its_first_epoch() -> None:
    complete = validate(recipes()["two_tower"], {"curriculum": "0-5:none;6-10:8@0.82-0.92;11-:16"})
    smoke = validate(recipes()["two_tower"], PREFLIGHT.smoke(complete, 6))
    plan = forecast.plan_of(smoke)
    assert (plan.first_epoch, plan.most, plan.has_windows) == (0, 16, False)


def test_files_with_near_misses_are_looked_at_before_the_run(tmp_path: Path) -> None:
    path, misses = vectors(tmp_path / "v.npz"), tmp_path / "m.jsonl"
    asked: dict[str, Any] = {"mined_negatives": 1, "near_miss_file": "m.jsonl"}
    _, own = surveyed(tmp_path, path, **asked)
    assert "No such file" in one(own, "near_misses").found
    misses.write_text('{"q_index": 1, "near_miss_indices": [40]}')
    _, own = surveyed(tmp_path, path, **asked)
    assert "line 1, near_miss_indices: row 40 does not exist" in one(own, "near_misses").found
    np.save(tmp_path / "p.npy", np.ones((41, 16)))
    _, own = surveyed(tmp_path, path, **asked, p_cache_file="p.npy")
    check = one(own, "near_misses")
    assert (check.verdict, check.found) == (Verdict.OK, "41 further documents, near misses of 1 queries.")
    np.save(tmp_path / "p.npy", np.ones((41, 15)))
    _, own = surveyed(tmp_path, path, **asked, p_cache_file="p.npy")
    assert "have length 15, those of the documents 16" in one(own, "near_misses").found


def test_an_encoder_that_cannot_be_used_is_red_and_what_it_does_not_read_is_noted(tmp_path: Path) -> None:
    path = pairs(tmp_path / "p.jsonl")
    (tmp_path / "models" / "pickled").mkdir(parents=True)
    for model, words in [("/nothing/there", "no such folder"), ("pickled", "holds no config.json")]:
        _, own = surveyed(tmp_path, path, model=model)
        check = one(own, "model")
        assert (check.verdict, words in check.found) == (Verdict.PROBLEM, True), check.found
        assert check.remedy
    _, own = surveyed(tmp_path, path, model="scratch", ngram=3, num_layers=2, query_tower="mlp")
    assert "ngram, query_tower have no effect" in one(own, "model").found
    _, own = surveyed(tmp_path, vectors(tmp_path / "v.npz"), model="scratch")
    assert "num_buckets, model have no effect: the dataset holds vectors" in one(own, "model").found


def test_a_curriculum_that_begins_after_the_end_is_amber(tmp_path: Path) -> None:
    _, own = surveyed(tmp_path, pairs(tmp_path / "p.jsonl"), curriculum="12-:4")
    assert "never" in one(own, "negatives").found
    assert "let the curriculum begin earlier" in one(own, "negatives").remedy.lower()


def test_a_memory_bank_is_reckoned_with() -> None:
    without = validate(recipes()["two_tower"], {"dim": 16})
    with_bank = without | {"memory_bank": 1000}
    facts = Facts(5000, 4000, 1000, 5000, 1000, 10)
    expected = 1000 * (4 * 16 + 8)
    sizes = [forecast.checkpoint_bytes(facts, some, num_train=4000) for some in (without, with_bank)]
    assert sizes[1] - sizes[0] == expected
    assert forecast.foresee(facts, with_bank).memory_bytes > forecast.foresee(facts, without).memory_bytes


def test_a_smoke_run_mines_at_once_and_is_short() -> None:
    complete = validate(recipes()["two_tower"], {"mined_negatives": 2, "eval_every": 500, "patience": 3})
    smoke = validate(recipes()["two_tower"], PREFLIGHT.smoke(complete, 6))
    assert (smoke["max_steps"], smoke["mine_from_epoch"], smoke["eval_every"]) == (6, 0, 0)


def test_weights_of_another_run_are_looked_for_before_anything_starts(tmp_path: Path) -> None:
    file = pairs(tmp_path / "p.jsonl")
    _, own = surveyed(tmp_path, file, init_from="nobody")
    found = one(own, "model")
    assert found.verdict is Verdict.PROBLEM
    assert "names run nobody" in found.found
    other = RunPaths(tmp_path / "runs" / "other")
    params = {**question(tmp_path, file).params, "dim": 64}
    spec = RunSpec("other", "other", "two_tower", str(file), params, 1.0, str(tmp_path / "datasets"))
    other.checkpoints.mkdir(parents=True)
    spec.save(other)
    write_manifest(other, Manifest("step_000001.pt", 1, "0" * 64, 1, 0, {}, "end", 1.0, True))
    _, own = surveyed(tmp_path, file, init_from="other")
    assert "dim was 64 and is 16" in one(own, "model").found
    _, own = surveyed(tmp_path, file, init_from="other", dim=64)
    assert one(own, "model").verdict is Verdict.OK
