"""Trees of the original system: taken in whole, once, or refused with the file and the field."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from app.errors import InvalidRequest
from app.services.evolution import Evolution
from app.services.evolution_import import Outcome, Result, import_tree
from app.store import runs
from app.store.engine import Store
from app.store.models import Base, ProbeSet, Run, Snapshot
from tests.app.original_files import original, write_file, write_tree
from tests.app.rows import as_client_reads


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "evolution_snapshots")


def counted(store: Store) -> dict[str, int]:
    """How many rows each table has."""
    with store.read() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def refused(store: Store, tree: Path) -> str:
    """Import; the one dataset must be refused and nothing stored. Returns the reason."""
    before = counted(store)
    (outcome,) = import_tree(store, tree)
    assert outcome.result is Result.REFUSED
    assert counted(store) == before
    return "\n".join(outcome.problems)


def test_a_tree_becomes_a_finished_run_per_dataset(store: Store, tree: Path) -> None:
    write_tree(tree, "other one")
    outcomes = import_tree(store, tree)
    assert [(one.dataset, one.result, one.num_stored) for one in outcomes] == [
        ("other one", Result.IMPORTED, 3), ("toy", Result.IMPORTED, 3),
    ]  # fmt: skip
    with store.read() as session:
        run = runs.get_run(session, outcomes[1].run_id or "")
    assert (run.state, run.dataset, run.step, run.attempt) == ("finished", "toy", 100, 0)
    assert run.ended_at is not None
    assert run.created_at == run.started_at
    assert run.ended_at > run.created_at


def test_the_folder_of_one_dataset_may_be_named_anew(store: Store, tree: Path) -> None:
    (outcome,) = import_tree(store, tree / "toy", dataset="a, b <i>")
    assert (outcome.dataset, outcome.result) == ("a, b <i>", Result.IMPORTED)
    assert Evolution(store).snapshot("a, b <i>", 10)["summary"]["correct"] == 2
    write_tree(tree, "second")
    with pytest.raises(InvalidRequest, match="2 datasets"):
        import_tree(store, tree, dataset="one name")


def test_what_was_answered_is_read_like_any_snapshot(store: Store, tree: Path) -> None:
    import_tree(store, tree)
    evolution = Evolution(store)
    one = evolution.snapshot("toy", 0)["examples"][2]
    assert one["model_output"] == "<b>no</b>"
    assert one["output_length"] == 109  # of the whole answer, which the original had cut
    assert (one["loss"], one["similarity"], one["exact_match"]) == (4.0, 0.2, False)
    way = as_client_reads(evolution.example("toy", "ex_0001"))
    assert [point["exact_match"] for point in way["trajectory"]] == [False, False, True]
    assert evolution.compare("toy", 0, 100)["counts"]["fixed"] == 3


def test_importing_again_changes_nothing(store: Store, tree: Path) -> None:
    (first,) = import_tree(store, tree)
    before = counted(store)
    (again,) = import_tree(store, tree)
    assert (again.result, again.run_id, again.num_stored) == (Result.UNCHANGED, first.run_id, 3)
    assert counted(store) == before


def test_a_further_step_is_added_to_the_run(store: Store, tree: Path) -> None:
    (tree / "toy" / "step_000100.json").unlink()
    (first,) = import_tree(store, tree)
    write_file(tree, 100, original(100))
    (again,) = import_tree(store, tree)
    assert (again.result, again.run_id, again.num_stored) == (Result.ADDED, first.run_id, 3)


def test_changed_files_need_to_be_asked_for(store: Store, tree: Path) -> None:
    (first,) = import_tree(store, tree)
    changed = original(10)
    changed["examples"][0]["input"] = "Capital of Spain?"
    write_file(tree, 10, changed)
    (tree / "toy" / "step_000100.json").unlink()
    assert "step_000010.json differ" in refused(store, tree)
    (again,) = import_tree(store, tree, replace=True)
    assert (again.result, again.run_id, again.num_stored) == (Result.REPLACED, first.run_id, 2)
    found = Evolution(store).snapshot("toy", "latest")
    assert (found["training_step"], found["examples"][0]["input"]) == (10, "Capital of Spain?")
    (settled,) = import_tree(store, tree)
    assert settled.result is Result.UNCHANGED


def test_what_is_replaced_leaves_no_probes_behind(store: Store, tree: Path) -> None:
    import_tree(store, tree)
    for step in (0, 10, 100):
        content = original(step)
        content["examples"][0]["input"] = "another question"
        write_file(tree, step, content)
    import_tree(store, tree, replace=True)
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(ProbeSet)) == 1
        assert session.scalar(select(func.count()).select_from(Snapshot)) == 3


def test_steps_that_vanished_stay_until_replaced(store: Store, tree: Path) -> None:
    import_tree(store, tree)
    (tree / "toy" / "step_000010.json").unlink()
    (again,) = import_tree(store, tree)
    assert again.result is Result.UNCHANGED
    assert "step 10" in again.notes[0]
    (replaced,) = import_tree(store, tree, replace=True)
    assert replaced.num_stored == 2


def test_one_bad_file_keeps_its_dataset_out_and_no_other(store: Store, tree: Path) -> None:
    write_tree(tree, "good")
    write_file(tree, 10, {"training_step": 10})
    outcomes = {one.dataset: one for one in import_tree(store, tree)}
    assert outcomes["good"].result is Result.IMPORTED
    assert outcomes["toy"].result is Result.REFUSED
    assert "step_000010.json: examples is missing" in outcomes["toy"].problems[0]
    assert [entry["name"] for entry in Evolution(store).datasets()] == ["good"]


def test_a_deleted_import_can_be_made_again(store: Store, tree: Path) -> None:
    (first,) = import_tree(store, tree)
    store.write(lambda session: runs.delete(session, first.run_id or ""))
    (again,) = import_tree(store, tree)
    assert again.result is Result.IMPORTED
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(Run)) == 1


def edited(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The file of step 10 after ``change``."""
    content = original(10)
    change(content)
    return json.dumps(content).encode()


def with_example(**fields: Any) -> bytes:
    return edited(lambda content: content["examples"][1].update(fields))


def header(**fields: Any) -> bytes:
    return json.dumps(original(10, **fields)).encode()


def summed(**fields: Any) -> bytes:
    return edited(lambda content: content["summary"].update(fields))


def without(name: str) -> bytes:
    return edited(lambda content: content["examples"][1].pop(name))


GOOD = json.dumps(original(10)).encode()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (GOOD[:200], "half-written"),
        (GOOD[: len(GOOD) - 3], "half-written"),
        (b"\0" * 500, "not JSON"),
        (b"[1]", "must hold a JSON object"),
        (b"[" * 100_000, "nested too deeply"),
        (json.dumps(original(10)).encode("utf-16"), "not UTF-8"),
        (b'{"training_step": ' + b"9" * 5_000 + b"}", "not JSON"),
        (header(training_step=11), "training_step is 11, but the file's name says 10"),
        (header(training_step=-1), "training_step must be a whole number"),
        (header(training_step=10**30), "training_step must be a whole number"),
        (header(training_step="10"), 'whole number from 0 to 9007199254740992, got "10"'),
        (header(training_step=True), "training_step must be a whole number"),
        (header(timestamp="yesterday"), "timestamp must be a time"),
        (header(timestamp="0001-01-01T00:00:00"), "timestamp must be a time"),
        (header(timestamp="9999-01-01T00:00:00"), "timestamp must be a time"),
        (header(examples=[]), "examples must have 1 to 100,000 entries"),
        (header(examples={}), "examples must be a list, got an object"),
        (header(summary=None), "summary must be an object"),
        (summed(correct=3), "summary.correct is 3, but the examples make it 2"),
        (summed(accuracy=7), "summary.accuracy must lie within 0 and 1"),
        (with_example(example_id="ex_0000"), "examples[1].example_id 'ex_0000' is that of examples[0], too"),
        (with_example(example_id=""), "examples[1].example_id is empty"),
        (with_example(step=11), "examples[1].step is 11"),
        (with_example(loss="low"), 'examples[1].loss must be a number, got "low"'),
        (with_example(loss=10**400), "examples[1].loss must be a number of at most"),
        (with_example(exact_match=1), "examples[1].exact_match must be true or false"),
        (with_example(similarity=1.5), "examples[1].similarity must lie within 0 and 1, got 1.5"),
        (with_example(output_length=-1), "examples[1].output_length must be a whole number"),
        (with_example(input="half \ud800 of it"), "examples[1].input holds half of a surrogate pair"),
        (with_example(input="x" * (10**7 + 1)), "examples[1].input has 10,000,001 characters"),
        (without("model_output"), "examples[1].model_output is missing"),
        (edited(lambda all_of_it: all_of_it["examples"].insert(1, "x")), "examples[1] must be an object"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "file",
)  # fmt: skip
def test_a_bad_file_is_refused_in_words(store: Store, tree: Path, content: bytes, says: str) -> None:
    (tree / "toy" / "step_000010.json").write_bytes(content)
    reason = refused(store, tree)
    assert reason.startswith("step_000010.json: ")
    assert says in reason
    assert len(reason) < 400
    assert reason.isprintable()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "null", "1e999"])
def test_numbers_that_json_lacks_are_taken_and_shown_as_none(store: Store, tree: Path, number: str) -> None:
    text = json.dumps(original(10)).replace('"loss": 4.5', f'"loss": {number}')
    assert f'"loss": {number}' in text
    (tree / "toy" / "step_000010.json").write_text(text)
    (outcome,) = import_tree(store, tree)
    assert outcome.result is Result.IMPORTED
    found = Evolution(store).snapshot("toy", 10)
    assert found["examples"][1]["loss"] is None
    json.dumps(found, allow_nan=False)


def test_hostile_texts_are_texts(store: Store, tree: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m\u202e\0" + "x" * 1_000_000
    content = original(10)
    content["examples"][0].update(input=hostile, model_output=hostile)
    content["examples"][0]["example_id"] = "\x1b]0;<b>"
    write_file(tree, 10, content)
    (outcome,) = import_tree(store, tree)
    assert outcome.result is Result.IMPORTED
    one = Evolution(store).snapshot("toy", 10)["examples"][0]
    assert (one["input"], one["model_output"], one["example_id"]) == (hostile, hostile, "\x1b]0;<b>")


def test_a_byte_order_mark_is_no_obstacle(store: Store, tree: Path) -> None:
    path = tree / "toy" / "step_000010.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert import_tree(store, tree)[0].result is Result.IMPORTED


def test_unknown_fields_are_left_out_and_named(store: Store, tree: Path) -> None:
    content = original(10, learning_rate=1e-4)
    content["examples"][0]["confidence"] = 0.5
    write_file(tree, 10, content)
    (tree / "toy" / "notes.txt").write_text("mine")
    (outcome,) = import_tree(store, tree)
    assert "1 other files" in outcome.notes[0]
    assert outcome.notes[1].endswith("examples[].confidence, learning_rate")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("step_-00005.json", "the name tells no step"),
        ("step_latest.json", "the name tells no step"),
        ("step_9999999999999999.json", "the name tells no step"),
        ("step_" + "9" * 40 + ".json", "the name tells no step"),
        ("step_10.json", "is of step 10, too"),
        ("step_\uff11\uff10.json", "the name tells no step"),
    ],
)
def test_a_name_that_tells_no_step_is_refused(store: Store, tree: Path, name: str, says: str) -> None:
    (tree / "toy" / name).write_bytes(GOOD)
    assert says in refused(store, tree)


def test_nothing_outside_the_tree_is_read(store: Store, tree: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(original(10)))
    path = tree / "toy" / "step_000010.json"
    path.unlink()
    path.symlink_to(secret)
    assert "leads out of the tree" in refused(store, tree)
    path.unlink()
    path.symlink_to(tree / "toy" / "step_000000.json")  # inside: a file like any other
    assert "training_step is 0" in refused(store, tree)
    path.unlink()
    path.symlink_to(path)
    assert "out of the tree, or nowhere" in refused(store, tree)


def test_a_linked_folder_is_not_followed_out(store: Store, tree: Path, tmp_path: Path) -> None:
    write_tree(tmp_path / "elsewhere", "linked")
    (tree / "linked").symlink_to(tmp_path / "elsewhere" / "linked")
    outcomes = {one.dataset: one for one in import_tree(store, tree)}
    assert outcomes["toy"].result is Result.IMPORTED
    assert outcomes["linked"].result is Result.REFUSED
    assert "leads out of the tree" in outcomes["linked"].problems[0]


def test_what_is_no_file_does_not_make_it_wait(store: Store, tree: Path) -> None:
    (tree / "toy" / "step_000020.json").mkdir()
    assert "it is a folder" in refused(store, tree)
    (tree / "toy" / "step_000020.json").rmdir()
    os.mkfifo(tree / "toy" / "step_000020.json")
    assert "no regular file" in refused(store, tree)


@pytest.mark.parametrize(
    "name", ["ünï cödé 数据", "  a b ", "<img src=x>", "100%?#&", "-rf", "\x1b[31mred", "a.b"]
)
def test_folders_may_be_called_anything(store: Store, tmp_path: Path, name: str) -> None:
    (outcome,) = import_tree(store, write_tree(tmp_path / "tree", name))
    assert outcome.result is Result.IMPORTED
    assert outcome.dataset.isprintable()
    assert Evolution(store).datasets()[0]["name"] == name
    assert Evolution(store).snapshot(name, "latest")["training_step"] == 100


def test_a_name_that_is_no_text_is_refused_with_the_remedy(store: Store, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "tree") + b"/\xff\xfe"
    path = Path(os.fsdecode(folder))
    path.mkdir(parents=True)
    for step in (0, 10):
        (path / f"step_{step:06d}.json").write_text(json.dumps(original(step)))
    assert "--dataset NAME" in refused(store, tmp_path / "tree")
    (outcome,) = import_tree(store, path, dataset="renamed")
    assert (outcome.result, outcome.num_stored) == (Result.IMPORTED, 2)


def test_a_folder_without_snapshots_says_where_to_look(store: Store, tmp_path: Path, tree: Path) -> None:
    with pytest.raises(InvalidRequest, match="no snapshot in it") as caught:
        import_tree(store, tmp_path)
    assert "evolution_snapshots: import that" in (caught.value.hint or "")
    with pytest.raises(InvalidRequest, match="No such file"):
        import_tree(store, tmp_path / "missing")
    with pytest.raises(InvalidRequest, match="Not a directory"):
        import_tree(store, tree / "toy" / "step_000000.json")


def outcome_words(outcomes: list[Outcome]) -> list[str]:
    return [one.result.value for one in outcomes]


def test_an_imported_run_stands_where_its_time_puts_it(store: Store, tree: Path) -> None:
    from tests.app.rows import store_running

    store_running(store, "newer", dataset="toy")
    assert outcome_words(import_tree(store, tree)) == ["imported"]
    with store.read() as session:
        found, _ = runs.list_runs(session)
    assert [run.name for run in found] == ["a run", "toy (imported)"]
