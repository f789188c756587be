"""``python -m app import-evolution`` and ``export-evolution`` as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.__main__ import main
from tests.app.fresh_database import fresh_database
from tests.app.original_files import read_tree, write_file, write_tree


@pytest.fixture(autouse=True)
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "instance"
    folder.mkdir()
    fresh_database(folder / "signalbox.db")
    monkeypatch.setenv("SIGNALBOX_INSTANCE", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "evolution_snapshots")


def test_there_and_back(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-evolution", str(tree)]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["DATASET", "RESULT", "SNAPSHOTS", "RUN"]
    assert row.split()[:3] == ["toy", "imported", "3"]
    assert main(["import-evolution", str(tree)]) == 0
    assert "unchanged" in capsys.readouterr().out
    assert main(["export-evolution", "toy", str(tmp_path / "out")]) == 0
    assert "3 snapshots" in capsys.readouterr().out
    assert read_tree(tmp_path / "out") == read_tree(tree)


def test_a_refused_dataset_is_code_1_and_the_others_are_in(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(tree, "good")
    for step in range(20, 40):
        write_file(tree, step, {})
    assert main(["import-evolution", str(tree)]) == 1
    said = capsys.readouterr()
    assert [line.split()[:2] for line in said.out.splitlines()[1:]] == [
        ["good", "imported"],
        ["toy", "refused"],
    ]
    assert "toy/step_000020.json: training_step is missing" in said.err
    assert "and 10 more files" in said.err
    assert "nothing of toy was stored" in said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["import-evolution", "nowhere"], "nowhere: No such file or directory"),
        (["export-evolution", "tou", "out"], "Similar: toy"),
        (["export-evolution", "toy"], "say where to write"),
        (["export-evolution", "toy", "out", "--step", "10"], "go with --html"),
        (["export-evolution", "toy", "out", "--html", "page.html"], "not both"),
        (["export-evolution", "toy", "--html", "page.html", "--step", "11"], "The nearest are: 0, 10, 100"),
        (
            ["export-evolution", "toy", "--html", "evolution_snapshots/toy/step_000000.json/page.html"],
            "exists",
        ),
        (["export-evolution", "toy", "--run", "nobody", "out"], "no run 'nobody'"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(
    tree: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import-evolution", str(tree)])
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("signalbox: ")
    assert says in said
    assert said.count("\n") == 1


def test_pages_are_written_once(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["import-evolution", str(tree)])
    page = tmp_path / "page.html"
    assert main(["export-evolution", "toy", "--html", str(page), "--step", "10"]) == 0
    assert "toy</bdi> at step 10" in page.read_text()
    assert main(["export-evolution", "toy", "--html", str(page), "--step", "10"]) == 0  # the same page
    assert main(["export-evolution", "toy", "--html", str(page), "--compare", "0", "100"]) == 2
    assert "--replace" in capsys.readouterr().err
    assert main(["export-evolution", "toy", "--html", str(page), "--compare", "0", "100", "--replace"]) == 0
    assert "3 fixed, 0 broken" in page.read_text()


def test_the_table_shows_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = write_tree(tmp_path / "tree", "\x1b[31mred")
    write_file(tree, 5, json.loads("{}"), dataset="\x1b[31mred")
    assert main(["import-evolution", str(tree)]) == 1
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert r"\x1b[31mred" in said.out
