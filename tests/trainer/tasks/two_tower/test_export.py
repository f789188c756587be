"""What a run leaves: the folder answers as the task does, and a folder that cannot is refused."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.small_material import (
    silent,
    text_task,
    train_steps,
    vector_pairs,
    vector_task,
)
from trainer.protocol.run_folder import RunSpec
from trainer.tasks.two_tower import export as export_module
from trainer.tasks.two_tower.exported import Export, ExportError, open_export
from trainer.tasks.two_tower.material import Material
from trainer.tasks.two_tower.task import TwoTowerTask

ROOT = Path(__file__).resolve().parents[4]
SPEC = RunSpec(
    run_id="20260101-a", name="small", recipe="two_tower", dataset="small", params={}, created_at=time.time(),
    datasets_dir="/nowhere",
)  # fmt: skip


def left_by(task: TwoTowerTask, folder: Path) -> Export:
    task.export(folder, run=SPEC, step=7, metrics={"eval/mrr@10": 0.5}, tell=silent)
    return open_export(folder)


def best_of(task: TwoTowerTask, material: Material, row: int, k: int) -> list[str]:
    """The ids of the best documents for pair ``row``, by the towers themselves."""
    towers = task.modules()
    with torch.no_grad():
        for module in towers.values():
            module.eval()
        query = towers["query_tower"](*material.queries.take(np.array([row])))
        documents = towers["document_tower"](*material.documents.take(np.arange(len(material.documents))))
    order = (query @ documents.T)[0].argsort(descending=True)
    return [material.document_ids[place] for place in order[:k].tolist()]


@pytest.mark.parametrize(
    "changes", [{}, {"share_towers": True}, {"index": "hnsw"}, {"index": "ivf", "index_probes": 9}]
)
def test_the_folder_answers_as_the_towers_do(tmp_path: Path, changes: dict[str, Any]) -> None:
    task, material = text_task(tmp_path, **changes)
    train_steps(task, epochs=3)
    export = left_by(task, tmp_path / "run" / "export")
    for row in material.split.held_out[:5].tolist():
        found = export.find(material.query_texts[row], k=4)
        assert [one.id for one in found] == best_of(task, material, row, 4)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert found[0].text in material.document_texts
    about = export.about
    assert (about["run"], about["step"], about["metrics"]) == ("20260101-a", 7, {"eval/mrr@10": 0.5})
    assert about["index"]["recall@10"] == pytest.approx(1.0, abs=0.05)
    assert 0 < about["index"]["p50_ms"] <= about["index"]["p95_ms"]
    assert about["num_documents"] == len(material.document_ids)
    assert set(about["files"]) == {"towers.safetensors", "index.faiss", "documents.jsonl"}
    assert not [path.name for path in (tmp_path / "run").iterdir() if path.name != "export"]


def test_a_model_that_reads_vectors_is_asked_with_vectors(tmp_path: Path) -> None:
    task, material = vector_task(dim=8, document_tower="identity")
    train_steps(task, epochs=2)
    export = left_by(task, tmp_path / "export")
    query = vector_pairs().query_vectors[9]
    assert [one.id for one in export.find(query, k=3)] == best_of(task, material, 9, 3)
    assert len(export.find(query[0], k=500)) == len(material.document_ids)
    with pytest.raises(ValueError, match="reads vectors of length 8, not text"):
        export.find("text")
    with pytest.raises(ValueError, match=r"length 8, got \(3,\)"):
        export.find(np.zeros(3, np.float32))


def test_an_export_can_be_left_away_and_replaces_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    text_task(tmp_path, export=False)[0].export(folder, run=SPEC, step=1, metrics={}, tell=silent)
    assert not folder.exists()
    task, _ = text_task(tmp_path)
    left_by(task, folder)
    (folder / "mine.txt").write_text("x")
    train_steps(task, epochs=1)
    assert left_by(task, folder).about["step"] == 7
    assert not (folder / "mine.txt").exists()


def test_a_full_disk_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "_SPARE_BYTES", 2**62)
    with pytest.raises(OSError, match=r"the export needs \d+ MB and \d+ MB are free"):
        left_by(text_task(tmp_path)[0], tmp_path / "export")
    assert not (tmp_path / "export").exists()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _one_line_less(path: Path) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        ("towers.safetensors", _cut, "is damaged"),
        ("index.faiss", _cut, "cannot be read as an index"),
        ("documents.jsonl", _one_line_less, "do not belong together"),
        ("signalbox.json", _cut, "is damaged"),
        ("index.faiss", Path.unlink, "cannot be read"),
        ("signalbox.json", Path.unlink, "No such file"),
    ],
)
def test_a_damaged_folder_is_refused_with_the_reason(
    tmp_path: Path, name: str, damage: Any, words: str
) -> None:
    folder = tmp_path / "export"
    left_by(text_task(tmp_path)[0], folder)
    damage(folder / name)
    with pytest.raises(ExportError, match=words):
        open_export(folder)


@pytest.mark.process
def test_the_script_of_the_docs_asks_an_export(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "two-tower-measures.md").read_text(encoding="utf-8")
    scripts = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    script = next(one for one in scripts if "open_export" in one)
    assert len(script.strip().splitlines()) <= 10
    task, material = text_task(tmp_path)
    train_steps(task, epochs=3)
    left_by(task, tmp_path / "export")
    shutil.move(tmp_path / "export", tmp_path / "elsewhere")
    row = int(material.split.held_out[0])
    (tmp_path / "ask.py").write_text(script)
    command = [
        sys.executable,
        str(tmp_path / "ask.py"),
        str(tmp_path / "elsewhere"),
        material.query_texts[row],
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert best_of(task, material, row, 1)[0] in done.stdout.splitlines()[0]


@pytest.mark.process
def test_documents_and_index_are_plain_files_that_need_nothing_of_this_program(tmp_path: Path) -> None:
    task, material = text_task(tmp_path)
    left_by(task, tmp_path / "export")
    script = (
        "import faiss, json, sys\n"
        "index = faiss.read_index('export/index.faiss')\n"
        "documents = [json.loads(line) for line in open('export/documents.jsonl', encoding='utf-8')]\n"
        "print(json.dumps([index.ntotal, len(documents), documents[3]['id'], 'trainer' in sys.modules]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    count = len(material.document_ids)
    assert json.loads(done.stdout) == [count, count, material.document_ids[3], False]
