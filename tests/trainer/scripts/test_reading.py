"""A script.toml is read as it is meant, or refused with file, key and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.scripts.written import PLAIN, write_script
from trainer.scripts.catalogue import find_script, registered
from trainer.scripts.declaration import ScriptError
from trainer.scripts.reading import MAX_BYTES, load_script

WHOLE = """
title = "Word model"
summary = "Learns words."
entry = "train.py"
interpreter = "python"
working_directory = "run"
profile = "safe"
dataset = "optional"
arguments = ["fit", "{parameters}", ["--file", "{dataset}"], "--out={checkpoints}"]

[resume]
checkpoint = "{checkpoints}/*.pt"
arguments = ["--from", "{checkpoint}"]

[parameters.lr]
type = "float"
default = 1
minimum = 1e-6
maximum = 10.0
help = "Step size."
flag = "--learning-rate"

[parameters.size]
choices = ["small", "large"]
default = "small"

[parameters.note]
default = ""
pattern = '[a-z ]*'
advanced = true

[parameters.fast]
default = false
"""


def test_everything_a_declaration_may_say_is_understood(tmp_path: Path) -> None:
    script = load_script(write_script(tmp_path, toml=WHOLE))
    assert (script.name, script.title, script.profile) == ("mine", "Word model", "safe")
    kinds = {name: (one.kind, one.default) for name, one in script.parameters.items()}
    assert kinds == {
        "lr": ("float", 1.0),
        "size": ("choice", "small"),
        "note": ("str", ""),
        "fast": ("bool", False),
    }
    assert script.parameters["lr"].flag == "--learning-rate"
    assert script.arguments == ("fit", "{parameters}", ("--file", "{dataset}"), "--out={checkpoints}")
    assert script.resuming is not None


def test_an_entry_is_all_that_is_needed(tmp_path: Path) -> None:
    script = load_script(write_script(tmp_path))
    assert (script.title, script.dataset, script.working_directory) == ("mine", "none", "script")
    assert script.arguments is None


@pytest.mark.parametrize(
    ("toml", "place", "message"),
    [
        ("", "entry", "is missing"),
        ('entry = "../train.py"', "entry", "leads out"),
        ('entry = "/bin/sh"', "entry", "leads out"),
        ("entry = 3", "entry", "must be text"),
        ('entry = "train.py"\nentri = 1', "entri", "no such key"),
        ('entry = "train.py', "script.toml", "is no TOML"),
        (PLAIN + 'profile = "fast"', "profile", "cannot be 'fast'"),
        (PLAIN + 'arguments = "--x"', "arguments", "must be a list"),
        (PLAIN + 'arguments = ["--x", "{nothing}"]', "arguments[2]", "nothing called {nothing}"),
        (PLAIN + 'arguments = ["{"]', "arguments[1]", "single brace"),
        (PLAIN + 'arguments = ["{dataset}"]', "arguments[1]", "nothing called {dataset}"),
        (PLAIN + 'arguments = ["a{parameters}"]', "arguments[1]", "stand alone"),
        (PLAIN + "parameters = 3", "parameters", "must hold tables"),
        (PLAIN + "[parameters.run_dir]\ndefault = 1", "parameters.run_dir", "cannot be a parameter's name"),
        (PLAIN + '[parameters.lr]\ntype = "number"\ndefault = 1', "parameters.lr.type", "cannot be 'number'"),
        (PLAIN + "[parameters.lr]\nhelp = 'x'", "parameters.lr.default", "is missing"),
        (PLAIN + "[parameters.lr]\ndefault = 5\nmaximum = 2", "parameters.lr.default", "between"),
        (PLAIN + "[parameters.lr]\ndefault = nan", "parameters.lr.default", "finite"),
        (PLAIN + "[parameters.lr]\ndefault = 1\nminimum = 3\nmaximum = 2", "parameters.lr.minimum", "above"),
        (PLAIN + "[parameters.s]\ndefault = '-x'", "parameters.s.default", "begin with '-'"),
        (
            PLAIN + "[parameters.s]\ndefault = 'x'\nmaximum = 2",
            "parameters.s.maximum",
            "says nothing of a str",
        ),
        (
            PLAIN + "[parameters.s]\ndefault = 'x'\npattern = '['",
            "parameters.s.pattern",
            "regular expression",
        ),
        (PLAIN + "[parameters.s]\ndefault = 'x'\nflag = 'x'", "parameters.s.flag", "is no option"),
        (
            PLAIN + "[parameters.s]\ndefault = 'c'\nchoices = ['a']",
            "parameters.s.default",
            "one of the choices",
        ),
        (PLAIN + "[parameters.s]\ndefault = 'a'\nchoices = ['a', 'a']", "parameters.s.choices", "twice"),
        (PLAIN + "[parameters.s]\ndefault = 1\nchoises = ['a']", "parameters.s.choises", "no such key"),
        (PLAIN + "[resume]\ncheckpoint = '/etc/*'\narguments = []", "resume.checkpoint", "inside"),
        (PLAIN + "[resume]\ncheckpoint = '../*'\narguments = []", "resume.checkpoint", "inside"),
        (PLAIN + "output = 3", "output", "must be a table"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(tmp_path: Path, toml: str, place: str, message: str) -> None:
    folder = write_script(tmp_path, toml=toml)
    with pytest.raises(ScriptError) as told:
        load_script(folder)
    assert place in told.value.place
    assert str(folder) in told.value.place
    assert message in told.value.message
    assert told.value.remedy


def test_a_misspelt_key_is_answered_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="did you mean interpreter"):
        load_script(write_script(tmp_path, toml=PLAIN + 'interpeter = "bash"'))


def test_a_huge_declaration_and_one_that_is_no_text_are_refused(tmp_path: Path) -> None:
    huge = write_script(tmp_path / "a", toml=PLAIN + "#" * MAX_BYTES)
    with pytest.raises(ScriptError, match="larger than"):
        load_script(huge)
    odd = write_script(tmp_path / "b")
    (odd / "script.toml").write_bytes(b"entry = '\xff'")
    with pytest.raises(ScriptError, match="not UTF-8 at byte 9"):
        load_script(odd)


def test_the_catalogue_lists_what_can_be_used_and_says_what_cannot(tmp_path: Path) -> None:
    write_script(tmp_path, "good")
    write_script(tmp_path, "bad", toml="")
    (tmp_path / "stray.txt").write_text("")
    (tmp_path / ".hidden").mkdir()
    found = {one.name: one.script is not None for one in registered(tmp_path)}
    assert found == {"bad": False, "good": True}
    assert registered(tmp_path / "nowhere") == ()


@pytest.mark.parametrize("name", ["../good", "", "/etc", "a b", "good/../good", ".git", "x" * 65])
def test_only_a_name_finds_a_script(tmp_path: Path, name: str) -> None:
    write_script(tmp_path, "good")
    with pytest.raises(ScriptError):
        find_script(tmp_path, name)
    assert find_script(tmp_path, "good").name == "good"
    with pytest.raises(ScriptError, match="there is good"):
        find_script(tmp_path, "other")
