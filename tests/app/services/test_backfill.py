"""Jobs that ask checkpoints: one of each run, watched, cancelled, and told of in words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict, InvalidRequest, TooManyRequests
from app.services.backfill import Backfill
from tests.app.routes.api_rig import Api, open_api
from tests.waiting import wait_for
from trainer.protocol.run_folder import RunPaths

DONE = (
    'print(\'{"tell": "asking", "fraction": 0.5}\', flush=True);'
    'print(\'{"snapshot": {"step": 8, "result": "asked"}}\', flush=True);'
    'print(\'{"report": {"asked": [8], "known": [4], "gone": [], "undelivered": []}}\', flush=True)'
)
STUCK = 'import time; print(\'{"tell": "asking", "fraction": 0.5}\', flush=True); time.sleep(600)'


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    opened = open_api(tmp_path / "instance")
    yield opened
    opened.parts.store.close()


@pytest.fixture
def opened(api: Api) -> Iterator[Callable[[str], Backfill]]:
    """Makes a desk whose jobs run the given program."""
    desks: list[Backfill] = []

    def make(program: str) -> Backfill:
        def command(paths: RunPaths, checkpoint: str, probes: str) -> list[str]:
            return [sys.executable, "-c", program]

        desks.append(Backfill(api.parts.runs, command=command))
        desks[-1].start()
        return desks[-1]

    yield make
    for desk in desks:
        desk.close()


def with_checkpoint(api: Api) -> str:
    """A run with one checkpoint, the best, at step 8."""
    run_id = api.new_run()
    paths = api.parts.runs.paths(run_id)
    paths.checkpoints.mkdir(parents=True)
    paths.spec.write_text("{}")
    (paths.checkpoints / "step_000008.json").write_text(
        '{"step": 8, "epoch": 1, "best": true, "created_at": 1.0}'
    )
    return run_id


def ended(desk: Backfill, run_id: str) -> dict[str, Any]:
    wait_for(lambda: not desk.status(run_id)["running"], what="the end of the job")
    job: dict[str, Any] = desk.status(run_id)["job"]
    return job


def test_what_came_of_it_is_told_in_words(api: Api, opened: Callable[[str], Backfill]) -> None:
    desk, run_id = opened(DONE), with_checkpoint(api)
    assert desk.status(run_id)["job"] is None
    desk.launch(run_id, checkpoint="all", probes="own")
    job = ended(desk, run_id)
    assert job["words"] == "Checkpoints: 1 asked, 1 known already."
    assert job["snapshots"] == [{"step": 8, "result": "asked"}]
    assert (job["trouble"], job["doing"]) == (None, None)


def test_one_at_a_time_and_it_can_be_cancelled(api: Api, opened: Callable[[str], Backfill]) -> None:
    desk, run_id = opened(STUCK), with_checkpoint(api)
    desk.launch(run_id, checkpoint="8", probes="own")
    wait_for(lambda: desk.status(run_id)["job"]["doing"]["fraction"] == 0.5, what="its first word")
    with pytest.raises(Conflict, match="asked already"):
        desk.launch(run_id, checkpoint="all", probes="own")
    others = [with_checkpoint(api) for _ in range(2)]
    desk.launch(others[0], checkpoint="all", probes="own")
    with pytest.raises(TooManyRequests):
        desk.launch(others[1], checkpoint="all", probes="own")
    desk.cancel(run_id)
    assert "cancelled" in ended(desk, run_id)["trouble"]
    desk.launch(run_id, checkpoint="all", probes="own")
    assert desk.status(run_id)["running"]


def test_a_death_is_no_silence(api: Api, opened: Callable[[str], Backfill]) -> None:
    desk, run_id = opened("import sys; sys.exit('no such module')"), with_checkpoint(api)
    desk.launch(run_id, checkpoint="all", probes="own")
    assert "no such module" in ended(desk, run_id)["trouble"]


@pytest.mark.parametrize("checkpoint", ["9", "-1", "newest", "8.0"])
def test_an_unknown_checkpoint_names_those_there_are(
    api: Api, opened: Callable[[str], Backfill], checkpoint: str
) -> None:
    desk, run_id = opened(DONE), with_checkpoint(api)
    with pytest.raises(InvalidRequest) as caught:
        desk.launch(run_id, checkpoint=checkpoint, probes="own")
    assert "8" in (caught.value.hint or "")


def test_what_cannot_be_asked_says_why(api: Api, opened: Callable[[str], Backfill]) -> None:
    desk, run_id = opened(DONE), api.new_run()
    with pytest.raises(Conflict, match="folder is not on this machine"):
        desk.launch(run_id, checkpoint="all", probes="own")
    with pytest.raises(InvalidRequest, match="no probe has been added"):
        desk.launch(with_checkpoint(api), checkpoint="all", probes="added")
