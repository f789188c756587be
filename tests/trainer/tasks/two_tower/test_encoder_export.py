"""The export of a run whose texts an encoder reads: it answers anywhere, without the files of the run."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoModel, AutoTokenizer

from tests.trainer.tasks.two_tower.encoder_material import encoder_run, saved_encoder
from tests.trainer.tasks.two_tower.small_material import train_steps
from tests.trainer.tasks.two_tower.test_export import ROOT, best_of, left_by
from trainer.tasks.two_tower.exported import ExportError, open_export

SEPARATE = {"query_encoder", "document_encoder"}


@pytest.mark.parametrize(
    ("changes", "folders"),
    [
        ({}, SEPARATE),
        ({"share_towers": True}, {"encoder"}),
        ({"model": "saved", "index": "hnsw"}, SEPARATE),
        ({"model": "saved", "encoder": "frozen", "learning_rate": 0.01}, {"encoder"}),
    ],
)
def test_the_folder_answers_as_the_towers_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], folders: set[str]
) -> None:
    if changes.get("model"):
        changes = {**changes, "model": str(saved_encoder(tmp_path / "models" / "small"))}
    task, material = encoder_run(tmp_path, **changes)
    train_steps(task, epochs=2)
    left_by(task, tmp_path / "export")
    shutil.rmtree(tmp_path / "models", ignore_errors=True)
    shutil.rmtree(tmp_path / "datasets")
    export = open_export(tmp_path / "export")
    for row in material.split.held_out[:4].tolist():
        found = export.find(material.query_texts[row], k=3)
        assert [one.id for one in found] == best_of(task, material, row, 3)
    assert (export.about["reads"], export.about["input_dims"]) == ("text", {})
    assert {path.name for path in (tmp_path / "export").iterdir() if path.is_dir()} == folders
    assert all(f"{folder}/model.safetensors" in export.about["files"] for folder in folders)
    assert "begin at random" not in caplog.text, "the layer that is missing is read by nobody"
    with pytest.raises(ValueError, match="reads text, not vectors"):
        export.find(np.zeros(32, np.float32))


def test_its_encoders_are_folders_that_transformers_loads(tmp_path: Path) -> None:
    task, _ = encoder_run(tmp_path)
    train_steps(task, epochs=1)
    left_by(task, tmp_path / "export")
    for side in ("query", "document"):
        folder = tmp_path / "export" / f"{side}_encoder"
        model: Any = AutoModel.from_pretrained(folder)
        encoder = task.modules()[f"{side}_tower"].get_submodule("encoder")
        for name, tensor in encoder.state_dict().items():
            assert tensor.equal(model.state_dict()[name]), name
        assert AutoTokenizer.from_pretrained(folder)("open a file")["input_ids"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("config.json", "config.json"), ("model.safetensors", "model.safetensors"), ("", "encoder: holds no")],
)
def test_a_folder_without_its_encoder_is_refused_with_the_reason(
    tmp_path: Path, name: str, words: str
) -> None:
    task, _ = encoder_run(tmp_path, share_towers=True)
    left_by(task, tmp_path / "export")
    missing = tmp_path / "export" / "encoder" / name
    missing.unlink() if name else shutil.rmtree(missing)
    with pytest.raises(ExportError, match=words):
        open_export(tmp_path / "export")


@pytest.mark.process
def test_the_script_of_the_docs_asks_such_an_export(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "two-tower-measures.md").read_text(encoding="utf-8")
    script = next(
        one for one in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL) if "open_export" in one
    )
    task, material = encoder_run(tmp_path)
    train_steps(task, epochs=1)
    left_by(task, tmp_path / "export")
    row = int(material.split.held_out[0])
    command = [sys.executable, "-c", script, str(tmp_path / "export"), material.query_texts[row]]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=100, check=False, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert best_of(task, material, row, 1)[0] in done.stdout.splitlines()[0]


def test_an_export_of_words_of_an_earlier_version_opens_still(tmp_path: Path) -> None:
    from tests.trainer.tasks.two_tower.small_material import text_task

    task, material = text_task(tmp_path)
    left_by(task, tmp_path / "export")
    about = tmp_path / "export" / "signalbox.json"
    earlier = json.loads(about.read_text())
    del earlier["encoders"]
    about.write_text(json.dumps(earlier))
    row = int(material.split.held_out[0])
    found = open_export(tmp_path / "export").find(material.query_texts[row], k=1)
    assert [found[0].id] == best_of(task, material, row, 1)
