"""A registered name and values are all that a request for a script may hold."""

from __future__ import annotations

from typing import Any

import pytest

from app.errors import Conflict, InvalidRequest
from app.services.scripts import describe_scripts
from app.store import runs as run_rows
from app.store.models import Run
from tests.app.services.run_rig import Rig, write_pairs
from tests.trainer.scripts.written import PLAIN, write_script
from trainer.protocol.events import Command
from trainer.protocol.run_folder import RunPaths, RunSpec

TOML = PLAIN + 'title = "Mine"\nprofile = "safe"\n[parameters.lr]\ndefault = 0.1\nmaximum = 1.0\n'


@pytest.fixture
def scripts(rig: Rig) -> Rig:
    """A rig with the script ``mine``, and one that cannot be used."""
    write_script(rig.settings.scripts_dir, toml=TOML)
    write_script(rig.settings.scripts_dir, "broken", toml="")
    return rig


def create(rig: Rig, script: str = "mine", dataset: str = "", **more: Any) -> Run:
    return rig.runs.create("script", dataset, more.pop("params", {}), script=script, **more)[0]


def test_scripts_are_listed_with_their_parameters_and_their_troubles(scripts: Rig) -> None:
    told = {one["name"]: one for one in describe_scripts(scripts.settings)["scripts"]}
    assert told["mine"]["parameters"][0]["name"] == "lr"
    assert told["mine"]["trouble"] is None
    assert told["broken"]["trouble"]["place"].endswith("script.toml: entry")


def test_a_run_of_a_script_has_its_values_its_profile_and_its_name(scripts: Rig) -> None:
    run = create(scripts, params={"lr": 0.5})
    assert (run.recipe, run.script, run.dataset, run.profile) == ("script", "mine", "mine", "safe")
    assert run.params == {"lr": 0.5}
    assert (run.name, create(scripts).name) == ("mine #1", "mine #2")
    assert create(scripts, profile="auto").profile == "auto"


def test_the_supervisor_is_told_which_script_to_start(scripts: Rig) -> None:
    run = create(scripts)
    assert scripts.queue.launch_next()
    spec = RunSpec.load(RunPaths(scripts.settings.runs_dir / run.id))
    assert spec.script == str(scripts.settings.scripts_dir / "mine")


def test_a_clone_is_of_the_same_script(scripts: Rig) -> None:
    clone, _ = scripts.runs.clone(create(scripts, params={"lr": 0.2}).id)
    assert (clone.script, clone.params) == ("mine", {"lr": 0.2})


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"script": ""}, "script"),
        ({"script": "nothing"}, "script"),
        ({"script": "../mine"}, "script"),
        ({"script": "broken"}, "script"),
        ({"params": {"lr": 7}}, "params.lr"),
        ({"params": {"entry": "/bin/sh"}}, "params.entry"),
        ({"dataset": "/etc/passwd"}, "dataset"),
    ],
)
def test_what_is_not_registered_or_not_allowed_is_refused(
    scripts: Rig, wish: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as told:
        create(scripts, **wish)
    assert told.value.field == field


def test_no_other_recipe_takes_a_script(scripts: Rig) -> None:
    with pytest.raises(InvalidRequest) as told:
        scripts.runs.create("two_tower", "python_docs", {}, script="mine")
    assert told.value.field == "script"


def test_a_script_that_trains_on_a_file_takes_an_allowed_one_only(rig: Rig) -> None:
    write_script(rig.settings.scripts_dir, toml=PLAIN + 'dataset = "required"\n')
    pairs = write_pairs(rig.settings.datasets_dir / "pairs.jsonl")
    assert create(rig, dataset=str(pairs)).name == f"mine on {pairs.stem} #1"
    for refused in ("", "/etc/passwd", "no.csv"):
        with pytest.raises(InvalidRequest) as told:
            create(rig, dataset=refused)
        assert told.value.field == "dataset"


def test_the_preview_shows_the_very_command(scripts: Rig) -> None:
    shown = scripts.runs.preview("script", "", {"lr": 0.25}, script="mine")
    assert shown["command"][-2:] == ["--lr", "0.25"]
    assert shown["command"][-3].endswith("scripts/mine/train.py")


def test_a_script_that_only_prints_is_given_no_order_but_stop(scripts: Rig) -> None:
    run = create(scripts)
    scripts.queue.launch_next()
    with pytest.raises(Conflict, match="cannot be told to pause"):
        scripts.runs.command(run.id, Command.PAUSE)
    with pytest.raises(Conflict, match="cannot be told to checkpoint"):
        scripts.runs.command(run.id, Command.CHECKPOINT)
    scripts.linked.add(run.id)
    scripts.store.write(lambda session: run_rows.touch(session, run.id, heartbeat_at=1.0))
    scripts.runs.command(run.id, Command.CHECKPOINT)
    assert scripts.sent == [(run.id, Command.CHECKPOINT)]
