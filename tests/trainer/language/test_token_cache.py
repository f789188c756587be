"""The cache of token ids where the disk does not take it: the run goes on without."""

from __future__ import annotations

import resource
from pathlib import Path

from tests.trainer.tasks.causal_lm.small_corpus import silent, small_params, write_completions
from trainer.tasks.causal_lm.material import Material
from trainer.tasks.causal_lm.train import prepare


def prepared(path: Path, datasets_dir: Path) -> Material:
    return prepare(str(path), small_params(), datasets_dir=datasets_dir, tell=silent).material


def test_a_folder_that_cannot_be_written_is_no_end_of_the_token_cache(tmp_path: Path) -> None:
    path = write_completions(tmp_path / "mine.jsonl")
    file = tmp_path / "file"
    file.write_text("x")
    assert len(prepared(path, file).train) == 64
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "mine.jsonl"]


def test_a_disk_that_fills_up_is_no_end_of_the_token_cache(tmp_path: Path) -> None:
    path = write_completions(tmp_path / "mine.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        material = prepared(path, tmp_path / "datasets")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(material.train) == 64
    assert [one for one in (tmp_path / "datasets").rglob("*") if one.is_file()] == []
