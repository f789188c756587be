"""Scripts on the command line: listed, checked, run, refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.trainer.cli.test_commands import trainer
from tests.trainer.scripts.written import PLAIN, write_script

pytestmark = pytest.mark.process
PRINTS_ITS_LOSS = """import sys
for i in range(1, int(sys.argv[2]) + 1):
    print(f"iter {i}: loss {1 / i:.4f}")
"""


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """An instance with a script that prints its loss, and one that cannot be used."""
    toml = PLAIN + "[parameters.iters]\ndefault = 3\nminimum = 1\n"
    write_script(tmp_path / "scripts", "prints", toml=toml, program=PRINTS_ITS_LOSS)
    write_script(tmp_path / "scripts", "broken", toml='entry = "gone.py"')
    return tmp_path


def test_a_registered_script_runs_supervised(instance: Path) -> None:
    done = trainer("run", "script", "--script", "prints", "--set", "iters=4", "--json", instance=instance)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert (result["state"], result["steps"]) == ("finished", 4)
    assert result["metrics"]["last"] == {"train/loss": 0.25}


def test_what_is_wrong_is_said_with_place_and_remedy(instance: Path) -> None:
    listed = trainer("scripts", "--json", instance=instance)
    assert listed.returncode == 1
    told = {one["name"]: one for one in json.loads(listed.stdout)["scripts"]}
    assert told["prints"]["error"] is None
    assert told["broken"]["error"]["message"] == "is not there"
    checked = trainer("scripts", "check", "broken", instance=instance)
    assert checked.returncode == 1
    assert "gone.py: is not there" in checked.stderr


def test_a_check_tells_the_command_and_finds_what_cannot_be_parsed(instance: Path) -> None:
    checked = trainer("scripts", "check", "prints", instance=instance)
    assert checked.returncode == 0
    assert "train.py --iters 3" in checked.stdout
    (instance / "scripts" / "prints" / "train.py").write_text("def broken(:\n")
    checked = trainer("scripts", "check", "prints", "--json", instance=instance)
    assert checked.returncode == 1
    assert "train.py, line 1" in json.loads(checked.stdout)["checks"][1]["found"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "script"), "--script: which one? There is broken, prints"),
        (("run", "script", "--script", "nothing"), "is not registered"),
        (("run", "script", "--script", "prints", "--set", "iters=0"), "--set iters"),
        (("run", "script", "--script", "prints", "--dataset", "x.csv"), "takes none"),
        (("run", "two_tower", "--script", "prints"), "only the recipe 'script'"),
    ],
)
def test_a_wrong_wish_is_refused_in_words(instance: Path, words: tuple[str, ...], message: str) -> None:
    done = trainer(*words, instance=instance)
    assert done.returncode == 2
    assert message in done.stderr
