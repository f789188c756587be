"""A run takes the probes of its file along when it is first launched, and only then."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from trainer.protocol.errors import ProtocolError
from trainer.protocol.launch_probes import take_probes_along
from trainer.protocol.probe_files import probes_path, read_probes
from trainer.protocol.run_folder import RunPaths, RunSpec

ROW = '{"input": "a", "expected_output": "b"}\n'


def spec_of(folder: Path, *, dataset: str = "", probe_file: str = "p.jsonl") -> RunSpec:
    return RunSpec(
        run_id="run", name="run", recipe="two_tower", dataset=dataset or str(folder / "pairs.jsonl"),
        params={"probe_file": probe_file}, created_at=time.time(), datasets_dir=str(folder / "datasets"),
    )  # fmt: skip


def test_the_rows_lie_in_the_folder_before_the_spec_does(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text("\n" + ROW + '{"input": "c", "expected_output": "d", "group": "g"}')
    paths, spec = RunPaths(tmp_path / "run"), spec_of(tmp_path)
    take_probes_along(spec, paths)
    assert [one.example_id for one in read_probes(probes_path(paths))] == ["added_0001", "added_0002"]
    assert probes_path(paths).stat().st_mode & 0o777 == 0o600
    spec.save(paths)
    probes_path(paths).write_text("")  # somebody has removed them all
    take_probes_along(spec, paths)
    assert read_probes(probes_path(paths)) == []


def test_a_run_that_names_no_file_has_none(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path / "run")
    take_probes_along(spec_of(tmp_path, probe_file=""), paths)
    assert not probes_path(paths).exists()


def test_of_a_built_in_dataset_the_file_lies_among_the_datasets(tmp_path: Path) -> None:
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "p.jsonl").write_text(ROW)
    paths = RunPaths(tmp_path / "run")
    take_probes_along(spec_of(tmp_path, dataset="python_docs"), paths)
    assert len(read_probes(probes_path(paths))) == 1


def test_what_is_wrong_is_told_with_file_and_row(tmp_path: Path) -> None:
    path, paths = tmp_path / "p.jsonl", RunPaths(tmp_path / "run")
    for content, says in (
        (None, r"probe_file: .*p\.jsonl: No such file"),
        ("", r"probe_file: .*p\.jsonl: holds no probe"),
        (ROW + '{"input": "a"}', r"p\.jsonl: row 2: expected_output is missing"),
        (ROW + "nonsense", r"p\.jsonl: row 2: is not JSON"),
    ):
        if content is not None:
            path.write_text(content)
        with pytest.raises(ProtocolError, match=says):
            take_probes_along(spec_of(tmp_path), paths)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ProtocolError, match="is not a regular file"):
        take_probes_along(spec_of(tmp_path), paths)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "p.jsonl").write_text(ROW)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere" / "p.jsonl")
    take_probes_along(spec_of(tmp_path), paths)  # below the dataset's folder still
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(ProtocolError, match="leads out of the dataset's folder"):
        take_probes_along(spec_of(tmp_path), RunPaths(tmp_path / "another"))
