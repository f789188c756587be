"""The argument vector: what people chose, word by word, and no shell anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.scripts.written import PLAIN, write_script
from trainer.recipes.registry import ParameterError, describe, validate
from trainer.scripts.arguments import (
    STARTER,
    Circumstances,
    argument_vector,
    newest_checkpoint,
    working_directory,
)
from trainer.scripts.reading import load_script
from trainer.scripts.recipe import recipe_of

PARAMETERS = """
[parameters.lr]
default = 0.1
minimum = 0.0
maximum = 1.0
[parameters.note]
default = ""
[parameters.fast]
default = false
[parameters.epochs]
default = 3
[parameters.size]
choices = ["small", "large"]
default = "small"
"""
GIVEN = Circumstances("/runs/r1", 2, dataset="/d/x.csv", checkpoint="/c/last.pt")


def words(tmp_path: Path, toml: str, *, given: Circumstances = GIVEN, **params: Any) -> list[str]:
    """What the script sees behind its own name."""
    script = load_script(write_script(tmp_path, toml=PLAIN + toml))
    vector = argument_vector(script, validate(recipe_of(script), params), given)
    return vector[vector.index(str(script.program)) + 1 :]


def test_without_a_template_every_parameter_is_an_option(tmp_path: Path) -> None:
    told = words(tmp_path, PARAMETERS, given=Circumstances("/r", 1), lr=0.5, fast=True, size="large")
    assert told == ["--lr", "0.5", "--fast", "--epochs", "3", "--size", "large"]


def test_a_dataset_has_its_own_option(tmp_path: Path) -> None:
    assert words(tmp_path, 'dataset = "required"\ndataset_flag = "--data"') == ["--data", "/d/x.csv"]


def test_placeholders_are_filled_and_braces_can_be_written(tmp_path: Path) -> None:
    toml = (
        'dataset = "optional"\narguments = ["fit", "--lr={lr}", "{{x}}", "{run_dir}/{attempt}", "{fast}"]\n'
    )
    assert words(tmp_path, toml + PARAMETERS) == ["fit", "--lr=0.1", "{x}", "/runs/r1/2", "false"]


def test_a_group_is_left_out_when_it_stands_for_nothing(tmp_path: Path) -> None:
    toml = 'dataset = "optional"\narguments = [["--data", "{dataset}"], ["--note", "{note}"]]\n' + PARAMETERS
    assert words(tmp_path / "a", toml) == ["--data", "/d/x.csv"]
    assert words(tmp_path / "b", toml, given=Circumstances("/r", 1), note="hi") == ["--note", "hi"]


def test_all_other_parameters_have_one_placeholder(tmp_path: Path) -> None:
    toml = 'arguments = ["--rate={lr}", "{parameters}", "end"]\n' + PARAMETERS
    assert words(tmp_path, toml) == ["--rate=0.1", "--epochs", "3", "--size", "small", "end"]


def test_resume_arguments_come_with_a_checkpoint_only(tmp_path: Path) -> None:
    toml = '[resume]\ncheckpoint = "*.pt"\narguments = ["--from", "{checkpoint}"]'
    assert words(tmp_path / "a", toml) == ["--from", "/c/last.pt"]
    assert words(tmp_path / "b", toml, given=Circumstances("/r", 2)) == []


def test_a_value_is_one_word_whatever_it_holds(tmp_path: Path) -> None:
    nasty = "$(touch x); `id` && {lr} * \"' | > /tmp/y"
    assert words(tmp_path, PARAMETERS, given=Circumstances("/r", 1), note=nasty)[3] == nasty


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"note": "--evil"}, "note"),
        ({"note": "two\nlines"}, "note"),
        ({"note": "\0"}, "note"),
        ({"note": "x" * 5000}, "note"),
        ({"lr": 2.0}, "lr"),
        ({"lr": float("nan")}, "lr"),
        ({"epochs": True}, "epochs"),
        ({"size": "huge"}, "size"),
        ({"other": 1}, "other"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_by_name(
    tmp_path: Path, params: dict[str, Any], field: str
) -> None:
    with pytest.raises(ParameterError) as told:
        words(tmp_path, PARAMETERS, **params)
    assert told.value.field == field


def test_the_form_is_drawn_from_the_declaration(tmp_path: Path) -> None:
    script = load_script(write_script(tmp_path, toml=PLAIN + PARAMETERS))
    shown = {one["name"]: one for one in describe(recipe_of(script))["parameters"]}
    assert shown["lr"]["type"] == "float"
    assert (shown["lr"]["minimum"], shown["lr"]["maximum"]) == (0.0, 1.0)
    assert shown["size"]["choices"] == ["small", "large"]
    assert shown["note"]["type"] == "str"


def test_another_interpreter_gets_the_bare_script(tmp_path: Path) -> None:
    script = load_script(write_script(tmp_path, toml=PLAIN + 'interpreter = "sh"'))
    vector = argument_vector(script, {}, GIVEN)
    assert Path(vector[0]).name == "sh"
    assert vector[1:] == [str(script.program)]


def test_the_newest_checkpoint_of_this_run_is_found(tmp_path: Path) -> None:
    toml = PLAIN + '[resume]\ncheckpoint = "out/*.pt"\narguments = ["{checkpoint}"]'
    script = load_script(write_script(tmp_path, toml=toml))
    out = script.folder / "out"
    out.mkdir()
    for number, name in enumerate(("other run.pt", "a.pt", "b.pt", "c.txt")):
        (out / name).write_text("")
        os.utime(out / name, (100.0 * number, 100.0 * number))
    assert newest_checkpoint(script, run_dir=tmp_path, since=50.0) == str(out / "b.pt")
    assert newest_checkpoint(script, run_dir=tmp_path, since=500.0) == ""


def test_checkpoints_may_lie_in_the_folder_of_the_run(tmp_path: Path) -> None:
    toml = PLAIN + 'working_directory = "run"\n[resume]\ncheckpoint = "{checkpoints}/*"\narguments = []'
    script = load_script(write_script(tmp_path / "scripts", toml=toml))
    (tmp_path / "run" / "checkpoints" / "checkpoint-5").mkdir(parents=True)
    assert newest_checkpoint(script, run_dir=tmp_path / "run", since=0.0).endswith("checkpoints/checkpoint-5")
    assert working_directory(script, run_dir=tmp_path / "run") == tmp_path / "run"


ODD = """
import __main__, multiprocessing, pickle, sys
from sibling import VALUE
class Thing: pass
def double(x): return 2 * x
if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(Thing())).__class__ is Thing
    assert __main__.Thing is Thing and __file__ == sys.argv[0] and "main" not in globals()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [VALUE]), sys.argv[1:])
"""


@pytest.mark.process
def test_a_started_script_cannot_tell_the_difference(tmp_path: Path) -> None:
    folder = write_script(tmp_path, program=ODD)
    (folder / "sibling.py").write_text("VALUE = 21\n")
    command = [sys.executable, str(STARTER), str(tmp_path / "stacks.txt"), str(folder / "train.py"), "a b"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[42] ['a b']"
