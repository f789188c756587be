"""A file is sound when training could read and split it; what is told are its counts and its hash."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trainer.datasets.checking import check
from trainer.datasets.records import DatasetError

ROOT = Path(__file__).resolve().parents[3]


def told(detail: str, fraction: float) -> None:
    """Nobody listens."""


def test_counts_and_hash_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.CSV"
    path.write_text("query,document,group\na,b,x\nc,d,x\ne,f,y\n")
    found = check(path, told)
    assert (found.kind, found.num_pairs, found.num_groups) == ("pairs", 3, 2)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.num_bytes == path.stat().st_size


def test_counts_of_vectors(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    np.savez(path, query_vectors=vectors, document_vectors=vectors)
    found = check(path, told)
    assert (found.kind, found.num_pairs, found.num_groups) == ("vectors", 4, 4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.jsonl",
            '{"query": "A  b", "document": "x"}\n{"query": "a B", "document": "y"}\n',
            "single group",
        ),
        ("a.exe", "x", "unknown ending"),
        ("a.csv", "", "is empty"),
    ],
)
def test_what_training_would_refuse_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DatasetError, match=message) as caught:
        check(path, told)
    assert str(path) in str(caught.value)


@pytest.mark.process
def test_the_command_answers_in_json_and_keeps_its_bounds(tmp_path: Path) -> None:
    path = tmp_path / "-a b.jsonl"
    path.write_text("".join(json.dumps({"query": f"q{n}", "document": f"d{n}"}) + "\n" for n in range(9)))
    command = [sys.executable, "-m", "trainer", "datasets", "check", "--json"]
    done = subprocess.run([*command, "--", str(path)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)["num_pairs"]) == (0, 9)
    with (tmp_path / "big.jsonl").open("w") as file:
        file.writelines(
            json.dumps({"query": f"q{n}" * 200, "document": f"d{n}" * 200}) + "\n" for n in range(60_000)
        )
    bounded = [*command, "--max-memory-gib", "0.25", "--", str(tmp_path / "big.jsonl")]
    done = subprocess.run(bounded, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "memory" in json.loads(done.stdout)["error"]


def test_only_kinds_that_are_asked_for_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    vectors = np.ones((4, 3), dtype=np.float32) + np.eye(4, 3, dtype=np.float32)
    np.savez(path, query_vectors=vectors, document_vectors=vectors)
    with pytest.raises(DatasetError, match=r"has an unknown ending; known are .jsonl"):
        check(path, told, kind_names=["pairs"])
