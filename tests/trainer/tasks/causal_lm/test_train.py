import gzip
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.trainer.engine.runs import events
from tests.trainer.tasks import small_runs
from tests.trainer.tasks.causal_lm.small_corpus import SMALL, write_completions, write_messages
from tests.trainer.tasks.small_runs import losses
from tests.trainer.warm import launch_engine
from tests.waiting import wait_for
from trainer.engine.process import train_run
from trainer.protocol.run_folder import RunPaths

pytestmark = pytest.mark.process


def prepared(folder: Path, dataset: Path, **params: Any) -> RunPaths:
    return small_runs.prepared("causal_lm", folder, dataset, **{**SMALL, **params})


def finished(paths: RunPaths, attempt: int = 1) -> tuple[list[dict[str, Any]], str]:
    process = launch_engine(paths.root, attempt=attempt)
    output = process.output()
    assert process.returncode == 0, output
    return events(paths), output


def trained(paths: RunPaths) -> list[dict[str, Any]]:
    """What a run in this process reports; most of a small run's time is the start of a process."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        train_run(paths, attempt=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    return events(paths)


def evaluations(found: list[dict[str, Any]]) -> list[dict[str, float]]:
    return [e["values"] for e in found if e["type"] == "metrics" and "eval/loss" in e["values"]]


def test_a_killed_run_goes_on_with_the_very_same_losses_learns_and_leaves_an_export(tmp_path: Path) -> None:
    params = {"checkpoint_every": 4, "eval_every": 10, "num_epochs": 12, "accumulate": 2}
    dataset = write_completions(tmp_path / "c.jsonl")
    whole = trained(prepared(tmp_path / "whole", dataset, **params))
    paths = prepared(tmp_path / "killed", dataset, **params)
    process = launch_engine(paths.root)

    def is_under_way() -> bool:
        assert process.poll() is None, "it ended before it could be killed"
        return (
            bool(list(paths.checkpoints.glob("step_*.json"))) and max(losses(events(paths)), default=0) > 14
        )

    wait_for(is_under_way, what="step 15 and a checkpoint")
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    found, output = finished(paths, attempt=2)
    again = [e["step"] for e in found if e["type"] == "metrics" and e["attempt"] == 2]
    assert min(again) > 4, "it started again from the beginning"
    assert losses(found) == losses(whole)
    measured = evaluations(found)
    assert measured[-1] == evaluations(whole)[-1]
    assert measured[-1]["eval/loss"] < 0.8 * losses(found)[1]
    assert measured[-1]["eval/perplexity"] < measured[0]["eval/perplexity"]
    assert "of the tokens are masked" in output
    assert "it/s" not in output, "a library's progress bar is no word of ours"
    about = json.loads((paths.export / "signalbox.json").read_text())
    assert about["metrics"]["eval/loss"] == min(values["eval/loss"] for values in measured)


def test_packed_and_padded_runs_report_what_they_read_and_what_their_probes_say(tmp_path: Path) -> None:
    dataset = write_completions(tmp_path / "c.jsonl")
    for packing in (False, True):
        paths = prepared(tmp_path / f"packing {packing}", dataset, num_epochs=2, packing=packing)
        found = trained(paths)
        counts = next(event for event in found if event["type"] == "dataset")["counts"]
        assert counts["train"] + counts["held_out"] == counts["examples"] == 80
        assert counts["rows_per_epoch"] < counts["train"] if packing else counts["train"]
        measured = [e for e in found if e["type"] == "metrics" and "eval/loss" in e["values"]]
        assert measured[0]["step"] == 0, "what the model can do before it has learned anything"
        first = next(event["values"] for event in found if "train/loss" in event.get("values", {}))
        assert 0.2 < first["train/masked_share"] < 0.8
        snapshots = [event["step"] for event in found if event["type"] == "snapshot"]
        assert (snapshots[0], snapshots[-1]) == (0, max(losses(found)))
        content = json.loads(gzip.decompress((paths.snapshots / "step_000000.json.gz").read_bytes()))
        probe, output = content["probes"]["examples"][0], content["outputs"][0]
        assert "".join(piece for piece, _ in output["tokens"]).startswith(probe["expected_output"])
        total = -sum(value for _, value in output["tokens"]) / len(output["tokens"])
        assert total == pytest.approx(content["columns"]["loss"][0], abs=1e-3)


def test_without_evaluation_the_last_model_is_exported(tmp_path: Path) -> None:
    paths = prepared(tmp_path / "run", write_completions(tmp_path / "c.jsonl"), evaluate=False, max_steps=6)
    assert evaluations(trained(paths)) == []
    assert json.loads((paths.export / "signalbox.json").read_text())["step"] == 6


def test_lora_trains_a_model_of_a_folder_and_keeps_its_checkpoints_small(tmp_path: Path) -> None:
    dataset = write_messages(tmp_path / "m.jsonl")
    base = prepared(tmp_path / "base", dataset, num_epochs=1, max_length=96)
    trained(base)
    lora = {"lora_rank": 2, "lora_targets": "q_proj,v_proj", "lora_dropout": 0.0, "max_length": 96}
    paths = prepared(tmp_path / "lora", dataset, model=str(base.export), max_steps=8, **lora)
    assert max(losses(trained(paths))) == 8
    size = {p.root: sum(file.stat().st_size for file in p.checkpoints.glob("*.pt")) for p in (base, paths)}
    assert size[paths.root] < size[base.root] / 4
    merged = AutoModelForCausalLM.from_pretrained(paths.export)
    assert not [name for name, _ in merged.named_parameters() if "lora" in name]
    assert AutoTokenizer.from_pretrained(paths.export).chat_template


@pytest.mark.parametrize(
    ("rows", "params", "said"),
    [
        (
            '{"prompt": "a", "completion": "b"}\n{"prompt": "", "completion": "d"}',
            {},
            "line 2, column prompt",
        ),
        ('{"prompt": "a", "completion": "b"}\n{"prompt": "a"}', {}, "column completion: is missing"),
        ('{"question": "a"}', {}, "line 1: needs the column messages"),
        ('{"text": "one"}', {"model": "/no/such/folder"}, "there is no such folder"),
        ('{"text": "one"}', {}, "at least two groups"),
        ('{"text": "one"}\n{"text": "two"}', {"lora_rank": 2, "lora_targets": "x"}, "lora_targets 'x'"),
    ],
)
def test_what_cannot_be_used_ends_the_run_with_its_place(
    tmp_path: Path, rows: str, params: dict[str, Any], said: str
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(rows)
    with pytest.raises(ValueError, match=re.escape(said)):
        trained(prepared(tmp_path / "run", path, **params))
