"""``python -m trainer datasets``: looking over, registering, comparing and training on files, for real."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
MAPPING = ("--column=query=Question Text", "--column=document=The Answer")


def trainer(instance: Path, *words: str, code: int = 0) -> str:
    environment = {**os.environ, "SIGNALBOX_INSTANCE": str(instance)}
    command = [sys.executable, "-m", "trainer", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=90
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done.stderr + done.stdout


def odd_file(path: Path, *, start: int = 0, num_rows: int = 40) -> Path:
    rows = [f"{n},how to do thing {n},you call thing_{n}\n" for n in range(start, start + num_rows)]
    path.write_text('"",Question Text,The Answer\n' + "".join(rows))
    return path


@pytest.mark.process
def test_a_file_is_registered_compared_and_changed(tmp_path: Path) -> None:
    path = odd_file(tmp_path / "odd.csv")
    told = json.loads(
        trainer(tmp_path, "datasets", "register", str(path), "--name=odd", *MAPPING, "--kind=pairs", "--json")
    )
    assert (told["dataset"], told["num_rows"]) == ("odd@1", 40)
    odd_file(tmp_path / "later.csv", start=30)
    found = trainer(tmp_path, "datasets", "overlap", "odd", str(tmp_path / "later.csv"), *MAPPING, code=1)
    assert "query: 10 of the validation rows are in training (25.0%)" in found
    odd_file(path, num_rows=41)
    assert "the file has changed since" in trainer(tmp_path, "datasets", "list")
    refused = trainer(tmp_path, "run", "two_tower", "--dataset=odd", code=2)
    assert "odd@1: the file has changed since" in refused
    assert "moved to" in trainer(tmp_path, "datasets", "remove", "odd")


TINY = {"max_steps": 2, "batch_size": 8, "device": "cpu"}
TINY_MODEL = {**TINY, "hidden_dim": 16, "num_layers": 1, "num_heads": 2, "max_length": 16, "vocab_size": 300}
ROWS_OF = {
    "two_tower": (
        {"query": "Question Text", "document": "The Answer"},
        {**TINY, "num_buckets": 256, "dim": 8},
    ),
    "causal_lm": ({"prompt": "Asked", "completion": "Said"}, {**TINY_MODEL, "probe_tokens": 4}),
    "text_classification": ({"text": "What", "label": "Kind", "group": ""}, TINY_MODEL),
}


@pytest.mark.process
@pytest.mark.parametrize("recipe", ROWS_OF)
def test_a_run_reads_the_columns_it_is_told(tmp_path: Path, recipe: str) -> None:
    columns, params = ROWS_OF[recipe]
    named = [name for name in columns.values() if name]
    rows = [{named[0]: f"how to do thing {n}", named[1]: "ab"[n % 2] + " thing"} for n in range(40)]
    if recipe == "two_tower":
        rows = [{**row, named[1]: f"you call thing_{n}"} for n, row in enumerate(rows)]
    path = tmp_path / "odd.jsonl"
    path.write_text("".join(json.dumps({**row, "group": "one"}) + "\n" for row in rows))
    mapped = {**columns, "group": ""}
    words = [f"--column={role}={name}" for role, name in mapped.items()]
    words += [f"--set={name}={value}" for name, value in params.items()]
    said = trainer(
        tmp_path, "run", recipe, f"--dataset={path}", *words, "--json", f"--run-dir={tmp_path / 'run'}"
    )
    result: dict[str, Any] = json.loads(said.splitlines()[-1])
    assert result["state"] == "finished"
    assert json.loads((tmp_path / "run" / "spec.json").read_text())["columns"] == mapped


@pytest.mark.process
def test_what_cannot_be_used_is_said_before_anything_starts(tmp_path: Path) -> None:
    path = odd_file(tmp_path / "odd.csv")
    said = trainer(tmp_path, "run", "two_tower", f"--dataset={path}", code=2)
    assert "column query is missing" in said
    assert not (tmp_path / "runs").exists()
    said = trainer(tmp_path, "run", "two_tower", f"--dataset={path}", "--column=label=x", code=2)
    assert "there is no such role; there is query" in said
    said = trainer(tmp_path, "run", "causal_lm", f"--dataset={path}", code=2)
    assert "causal_lm takes conversations and texts (.jsonl" in said
    assert "two_tower and text_classification and script can train on .csv" in said
    said = trainer(tmp_path, "datasets", "register", str(path), "--name=Odd One", code=2)
    assert "--name: 'Odd One': a name has 1 to 64" in said


@pytest.mark.process
def test_a_process_that_may_read_only_can_write_and_connect_nowhere(tmp_path: Path) -> None:
    script = (
        "import argparse, socket, sys\n"
        "from trainer.cli.bounds import bind, forbid_writing\n"
        "bind(argparse.Namespace(max_memory_gib=None, max_cpu_s=5, read_only=True))\n"
        "if not forbid_writing(): print('no landlock'); sys.exit()\n"
        "for work in (lambda: open(sys.argv[2], 'w'), lambda: socket.create_connection(('127.0.0.1', 9))):\n"
        "    try: work(); print('allowed')\n"
        "    except PermissionError: print('refused')\n"
        "    except ConnectionRefusedError: print('no network rules')\n"
        "print(len(open(sys.argv[1]).read()) > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, __file__, str(tmp_path / "made")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stdout.split("\n")
    assert said[0] in ("refused", "no landlock"), done.stdout
    assert "allowed" not in said
    assert not (tmp_path / "made").exists()
