"""What becomes of every kind of thing that people drop into a folder."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from app.domain.run_states import RunState
from app.errors import Conflict, InvalidRequest, NotFound
from app.services import inbox as inbox_module
from app.store import runs as run_rows
from tests.app.services.inbox_rig import InboxRig, pairs
from tests.app.services.run_rig import Rig, open_rig
from tests.waiting import wait_for


@pytest.fixture
def box(rig: Rig) -> InboxRig:
    return InboxRig(rig)


def move(box: InboxRig, run_id: str, *states: RunState) -> None:
    for state in states:
        box.rig.store.write(partial(_move, run_id=run_id, new=state))


def _move(session: Session, *, run_id: str, new: RunState) -> None:
    run_rows.transition(session, run_id, new=new)


def run_of(box: InboxRig, name: str) -> str:
    return str(box.item(name)["run"]["id"])


def test_a_dropped_dataset_is_checked_kept_and_queued(box: InboxRig) -> None:
    content = pairs()
    path = box.drop("my pairs.jsonl", content)
    box.drain()
    item = box.item("my pairs.jsonl")
    assert (item["state"], item["recipe"], item["facts"]["num_pairs"]) == ("queued", "two_tower", 4)
    run = box.rig.runs.get(item["run"]["id"])
    stored = box.rig.settings.datasets_dir / "inbox" / "my_pairs.jsonl"
    assert Path(run.dataset) == stored
    assert stored.read_text() == content
    assert not path.exists()
    assert run.tags == ["inbox"]


def test_a_subfolder_is_a_priority_and_high_ones_are_taken_first(box: InboxRig) -> None:
    for word in ("low", "normal", "high"):
        box.drop(f"{word}/{word}.jsonl", pairs(word=word))
    box.drain()
    assert [path.parent.name for path in box.checker.checked] == [
        box.item(f"{word}.jsonl")["id"] for word in ("high", "normal", "low")
    ]
    assert {name: box.item(name)["priority"] for name in box.states()} == {
        "high.jsonl": "high", "normal.jsonl": "normal", "low.jsonl": "low",
    }  # fmt: skip
    assert box.rig.runs.get(run_of(box, "high.jsonl")).priority == 10


def test_a_sidecar_says_how_to_train(box: InboxRig) -> None:
    wish = {"preset": "quick", "params": {"seed": 7}, "name": "mine", "tags": ["t"], "priority": "low"}
    box.drop("a.jsonl", pairs(), sidecar=wish)
    box.drain()
    run = box.rig.runs.get(run_of(box, "a.jsonl"))
    assert (run.name, run.tags, run.priority, run.params["seed"]) == ("mine", ["t", "inbox"], -10, 7)
    assert run.params["max_pairs"] == 8000  # of the preset
    assert not (box.folder / "a.jsonl.json").exists()


def test_a_file_is_trained_by_the_recipe_for_what_it_holds_unless_somebody_has_chosen(box: InboxRig) -> None:
    dropped = {
        "pairs.jsonl": (pairs(), "two_tower"),
        "labels.csv": ("text,label\nfine,good\npoor,bad\n", "text_classification"),
        "chat.json": (
            '[{"prompt": "a", "completion": "b"}, {"prompt": "c", "completion": "d"}]',
            "causal_lm",
        ),
    }
    for name, (content, _) in dropped.items():
        box.drop(name, content, sidecar={"tags": ["mine"], "params": {"seed": 7}})
    box.drain()
    for name, (_, recipe) in dropped.items():
        run = box.rig.runs.get(run_of(box, name))
        assert (run.recipe, run.tags, run.params["seed"]) == (recipe, ["mine", "inbox"], 7), name
    box.drop("other.csv", "text,label\nmore,good\nless,bad\n", sidecar={"recipe": "two_tower"})
    box.drain()
    assert box.item("other.csv")["reason"].endswith("It has the columns of labelled texts")


def test_the_page_says_what_files_without_a_sidecar_become(box: InboxRig) -> None:
    assert box.desk.change({"recipe": "two_tower", "preset": "quick"})["preset"] == "quick"
    box.drop("a.jsonl", pairs())
    box.drain()
    assert box.rig.runs.get(run_of(box, "a.jsonl")).params["max_pairs"] == 8000
    with pytest.raises(InvalidRequest) as caught:
        box.desk.change({"preset": "no_such"})
    assert caught.value.field == "preset"


def test_a_sidecar_that_cannot_be_followed_sends_its_file_to_quarantine(box: InboxRig) -> None:
    cases: list[tuple[object, str]] = [
        ("{", "JSON"),
        ("[]", "object"),
        ({"recipe": "no_such"}, "no recipe 'no_such'; there are two_tower, text_classification, causal_lm"),
        ({"recipe": "two_tower", "preset": "no_such"}, "no preset 'no_such'; it has demo"),
        ({"recipe": "two_tower", "params": {"batch_size": 0}}, "params.batch_size"),
        ({"recipe": "two_tower", "params": {"no_such": 0}}, "params.no_such"),
        ({"command": "rm"}, "command: there is no such key; known are recipe"),
        ({"profile": "fast"}, "no profile 'fast'"),
        ({"policy": {"on_stall": "dance"}}, "policy.on_stall"),
        ("x" * 70_000, "larger than"),
    ]
    for number, (sidecar, _) in enumerate(cases):
        box.drop(f"{number}.jsonl", pairs(), sidecar=sidecar)
    box.drain()
    for number, (_, told) in enumerate(cases):
        item = box.item(f"{number}.jsonl")
        assert item["state"] == "failed"
        assert told in item["reason"]
        assert (box.folder / "quarantine" / f"{number}.jsonl").exists()
    assert box.rig.runs.list()[1] == 0
    assert box.checker.checked == []


def test_a_broken_file_goes_to_quarantine_with_its_reason_and_can_be_tried_again(box: InboxRig) -> None:
    box.drop("a b.csv", "query\nx\n")
    box.drain()
    kept = box.folder / "quarantine" / "a_b.csv"
    reason = kept.with_name("a_b.csv.reason.txt")
    assert "column document is missing" in reason.read_text()
    assert box.item("a b.csv")["reason"].startswith("a b.csv, line 1: column document is missing")
    kept.write_text("query,document\na,b\nc,d\n")
    box.desk.retry(box.item("a b.csv")["id"])
    box.drain()
    assert box.states() == {"a b.csv": "queued"}
    assert list((box.folder / "quarantine").iterdir()) == []


def test_a_retry_that_fails_again_says_so_again(box: InboxRig) -> None:
    box.drop("a.jsonl", pairs(), sidecar={"preset": "no_such"})
    box.drain()
    sidecar = box.folder / "quarantine" / "a.jsonl.json"
    assert json.loads(sidecar.read_text()) == {"preset": "no_such"}
    sidecar.write_text('{"preset": "worse"}')
    box.desk.retry(box.item("a.jsonl")["id"])
    box.drain()
    assert "'worse'" in box.item("a.jsonl")["reason"]
    assert "'worse'" in (box.folder / "quarantine" / "a.jsonl.reason.txt").read_text()
    sidecar.write_text('{"preset": "quick"}')
    box.desk.retry(box.item("a.jsonl")["id"])
    box.drain()
    assert box.states() == {"a.jsonl": "queued"}


def test_the_same_content_is_reported_and_not_trained_twice(box: InboxRig) -> None:
    box.drop("a.jsonl", pairs())
    box.drain()
    box.drop("b.jsonl", pairs())
    box.drain()
    item = box.item("b.jsonl")
    assert (item["state"], item["run"]) == ("duplicate", None)
    assert "a.jsonl, which is queued" in item["reason"]
    assert box.rig.runs.list()[1] == 1
    box.desk.retry(item["id"])  # all the same
    box.drain()
    assert box.states() == {"a.jsonl": "queued", "b.jsonl": "queued"}


def test_content_whose_training_was_stopped_or_failed_may_come_again(box: InboxRig) -> None:
    box.drop("a.jsonl", pairs())
    box.drain()
    box.rig.runs.stop(run_of(box, "a.jsonl"))
    box.drop("b.jsonl", pairs())
    box.drain()
    assert box.states() == {"a.jsonl": "cancelled", "b.jsonl": "queued"}


def test_one_name_twice_is_two_datasets(box: InboxRig) -> None:
    for number in range(3):
        box.drop("a.jsonl", pairs(word=f"n{number}_"))
        box.drain()
    stored = sorted(path.name for path in (box.rig.settings.datasets_dir / "inbox").iterdir())
    assert stored == ["a-2.jsonl", "a-3.jsonl", "a.jsonl"]
    assert box.rig.runs.list()[1] == 3


@pytest.mark.parametrize(
    ("states", "told"),
    [
        ([], "queued"),
        ([RunState.STARTING], "training"),
        ([RunState.STARTING, RunState.RUNNING, RunState.STOPPING], "training"),
        ([RunState.STARTING, RunState.FINISHED], "done"),
        ([RunState.STOPPED], "cancelled"),
        ([RunState.STARTING, RunState.FAILED], "failed"),
        ([RunState.STARTING, RunState.LOST], "failed"),
    ],
)
def test_a_file_stands_where_its_run_does_and_is_done_only_when_that_has_finished(
    box: InboxRig, states: list[RunState], told: str
) -> None:
    box.drop("a.jsonl", pairs())
    box.drain()
    run_id = run_of(box, "a.jsonl")
    move(box, run_id, *states)
    box.drain()
    assert box.states() == {"a.jsonl": told}
    assert box.desk.view()["counts"][told] == 1
    if box.item("a.jsonl")["can_retry"]:
        assert box.desk.retry(box.item("a.jsonl")["id"])["state"] == "queued"
    else:
        with pytest.raises(Conflict):
            box.desk.retry(box.item("a.jsonl")["id"])


@pytest.mark.parametrize(("end", "told"), [(RunState.FINISHED, "done"), (RunState.STOPPED, "cancelled")])
def test_where_a_file_stood_outlives_its_run(box: InboxRig, end: RunState, told: str) -> None:
    box.drop("a.jsonl", pairs())
    box.drain()
    run_id = run_of(box, "a.jsonl")
    move(box, run_id, RunState.STARTING, end)
    box.rig.runs.delete(run_id)
    item = box.item("a.jsonl")
    assert (item["state"], item["run"]) == (told, None)
    if told == "cancelled":  # its dataset is still there: a new run can be made of it
        box.desk.retry(item["id"])
        box.drain()
        assert run_of(box, "a.jsonl") != run_id


def test_a_growing_file_waits_until_it_is_complete(rig: Rig) -> None:
    box = InboxRig(rig, look_every_s=0.15)
    path = box.drop("a.jsonl", "")
    lines = iter(pairs(40).splitlines(keepends=True))

    def grow_and_look() -> bool:
        line = next(lines, None)
        if line is not None:
            with path.open("a") as file:
                file.write(line)
            assert not box.inbox.look()
            return False
        box.inbox.look()
        return box.states() == {"a.jsonl": "queued"}

    wait_for(grow_and_look, what="the whole file", timeout_s=20)
    assert box.item("a.jsonl")["facts"]["num_pairs"] == 40


def test_a_file_that_is_open_for_writing_is_not_complete_however_still_it_lies(box: InboxRig) -> None:
    path = box.drop("a.jsonl", pairs(2))
    with path.open("a") as file:
        box.drain()
        item = box.item("a.jsonl")
        assert item["state"] == "waiting"
        if "open for writing" not in item["reason"]:
            pytest.skip("this file system grants no leases")
        file.write(pairs(3, word="late"))
    box.drain()
    assert box.item("a.jsonl")["facts"]["num_pairs"] == 5


def test_a_file_that_changes_while_it_is_read_is_read_again(box: InboxRig) -> None:
    path = box.drop("a.jsonl", pairs(2))
    once = iter([True])

    def append(taken: Path) -> None:
        if next(once, False):
            with taken.open("a") as file:
                file.write(pairs(3, word="late"))

    box.checker.before = append
    box.drain()
    assert not path.exists()
    wait_for(lambda: box.inbox.look() or box.states() == {"a.jsonl": "queued"}, what="second reading")
    box.drain()
    assert box.item("a.jsonl")["facts"]["num_pairs"] == 5


def test_a_file_that_is_taken_back_in_time_was_never_there(box: InboxRig) -> None:
    path = box.drop("a.jsonl", pairs())
    box.inbox._arrivals.take_note()
    assert box.states() == {"a.jsonl": "waiting"}
    path.unlink()
    box.drain()
    assert box.states() == {}


def test_an_enormous_file_is_refused_unread(box: InboxRig) -> None:
    path = box.drop("a.jsonl", "")
    os.truncate(path, inbox_module.MAX_BYTES + 1)  # sparse
    box.drain()
    assert "larger than 16 GiB" in box.item("a.jsonl")["reason"]
    assert box.checker.checked == []


def test_a_file_that_a_run_needs_where_it_is_stays(box: InboxRig) -> None:
    path = box.drop("a.jsonl", pairs())
    run = box.rig.runs.create("two_tower", str(path), {}, name="an old friend")[0]
    box.drain()
    item = box.item("a.jsonl")
    assert item["state"] == "waiting"
    assert "an old friend trains on this very file" in item["reason"]
    assert path.exists()
    move(box, run.id, RunState.STARTING, RunState.FINISHED)
    box.reopen()
    box.drain()
    assert box.states() == {"a.jsonl": "queued"}


def test_a_thousand_files_are_taken_one_by_one_and_the_queue_is_not_flooded(
    box: InboxRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_module, "MAX_AHEAD", 5)
    for number in range(1200):
        box.drop(f"{number}.jsonl", pairs(2, word=f"f{number}_"))
    assert box.inbox.look()
    assert len(box.checker.checked) == 1
    box.drain()
    view = box.desk.view(limit=1)
    assert view["counts"]["queued"] == 5
    assert view["counts"]["waiting"] == 1000
    assert view["not_listed"] == 1200 - 5 - 1000
    box.drop("high/urgent.jsonl", pairs(word="urgent"))
    box.drain()
    assert box.item("urgent.jsonl")["state"] == "queued"


def test_nothing_is_touched_while_the_switch_is_off(rig: Rig) -> None:
    box = InboxRig(rig)
    view = box.desk.change({"on": False})
    assert (view["on"], view["decided_by"]) == (False, "switch")
    path = box.drop("a.jsonl", pairs())
    box.drain()
    assert box.states() == {}
    assert path.exists()
    box.desk.change({"on": True})
    box.drain()
    assert box.states() == {"a.jsonl": "queued"}


def test_the_switch_cannot_be_used_where_no_run_could_be_made(tmp_path: Path) -> None:
    rig = open_rig(tmp_path / "instance")
    object.__setattr__(rig.settings, "dataset_roots", (tmp_path / "elsewhere",))
    box = InboxRig(rig)
    with pytest.raises(Conflict, match="none of the dataset folders") as caught:
        box.desk.change({"on": True})
    assert "dataset_roots" in str(caught.value.hint)
    rig.store.close()


def test_forgetting_moves_the_file_to_the_trash_and_leaves_what_is_needed(box: InboxRig) -> None:
    box.drop("bad.csv", "x\n")
    box.drop("good.jsonl", pairs())
    box.drain()
    with pytest.raises(Conflict, match="queued"):
        box.desk.forget(box.item("good.jsonl")["id"])
    bad = box.item("bad.csv")["id"]
    box.desk.forget(bad)
    assert sorted(path.name.split("-", 1)[1] for path in (box.rig.settings.instance / "trash").iterdir()) == [
        "bad.csv", "bad.csv.reason.txt",
    ]  # fmt: skip
    with pytest.raises(NotFound):
        box.desk.retry(bad)
    run_id = run_of(box, "good.jsonl")
    move(box, run_id, RunState.STARTING, RunState.FINISHED)
    box.desk.forget(box.item("good.jsonl")["id"])
    assert Path(box.rig.runs.get(run_id).dataset).exists()


def test_the_thread_takes_what_is_dropped_and_can_be_closed(rig: Rig) -> None:
    box = InboxRig(rig, look_every_s=0.05)
    box.inbox.start()
    box.drop("a.jsonl", pairs())
    wait_for(lambda: box.states() == {"a.jsonl": "queued"}, what="a queued dataset")
    box.inbox.close()
    assert box.inbox.trouble is None
