"""Code that somebody else could have put there is not run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.trainer.scripts.written import PLAIN, write_script
from trainer.scripts.arguments import interpreter
from trainer.scripts.declaration import ScriptError
from trainer.scripts.reading import load_script


@pytest.mark.parametrize("which", ["", "script.toml", "train.py", ".."])
def test_what_every_user_may_write_is_refused(tmp_path: Path, which: str) -> None:
    folder = write_script(tmp_path / "scripts")
    open_one = (folder / which).resolve()
    open_one.chmod(open_one.stat().st_mode | 0o002)
    with pytest.raises(ScriptError, match="every user of this machine"):
        load_script(folder)


def test_a_folder_in_between_that_every_user_may_write_is_refused(tmp_path: Path) -> None:
    folder = write_script(tmp_path, toml='entry = "code/train.py"')
    (folder / "code").mkdir(mode=0o755)
    (folder / "code" / "train.py").write_text("")
    load_script(folder)
    (folder / "code").chmod(0o777)
    with pytest.raises(ScriptError, match="code: may be changed"):
        load_script(folder)


def test_a_link_that_leads_out_is_refused_and_one_inside_is_not(tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.py"
    outside.write_text("")
    folder = write_script(tmp_path / "scripts", toml='entry = "linked.py"')
    (folder / "linked.py").symlink_to("train.py")
    load_script(folder)
    (folder / "linked.py").unlink()
    (folder / "linked.py").symlink_to(outside)
    with pytest.raises(ScriptError, match="leads out of"):
        load_script(folder)


def test_a_script_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    real = write_script(tmp_path / "real")
    (tmp_path / "scripts").mkdir(mode=0o755)
    (tmp_path / "scripts" / "mine").symlink_to(real)
    with pytest.raises(ScriptError, match="symbolic link"):
        load_script(tmp_path / "scripts" / "mine")


def test_a_declaration_that_is_a_link_or_a_device_is_refused(tmp_path: Path) -> None:
    folder = write_script(tmp_path)
    (folder / "script.toml").unlink()
    (folder / "script.toml").symlink_to("/dev/zero")
    with pytest.raises(ScriptError, match="leads out of"):
        load_script(folder)
    (folder / "script.toml").unlink()
    os.mkfifo(folder / "script.toml")
    with pytest.raises(ScriptError, match="not a regular file"):
        load_script(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    folder = write_script(tmp_path)
    os.chown(folder / "train.py", 12345, 12345)
    with pytest.raises(ScriptError, match="belongs to user 12345"):
        load_script(folder)


def test_an_entry_that_is_missing_or_a_folder_is_refused(tmp_path: Path) -> None:
    folder = write_script(tmp_path, toml='entry = "other.py"')
    with pytest.raises(ScriptError, match="is not there"):
        load_script(folder)
    (folder / "other.py").mkdir(mode=0o755)
    with pytest.raises(ScriptError, match="not a regular file"):
        load_script(folder)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("/no/such/python", "No such file"),
        ("no-such-program", "on the PATH"),
        ("./train.py", "is no program"),
        ("/tmp", "is no program"),
    ],
)
def test_an_interpreter_that_cannot_run_it_is_refused(tmp_path: Path, named: str, message: str) -> None:
    script = load_script(write_script(tmp_path, toml=PLAIN + f'interpreter = "{named}"'))
    with pytest.raises(ScriptError, match=message) as told:
        interpreter(script)
    assert told.value.place.endswith("script.toml: interpreter")
