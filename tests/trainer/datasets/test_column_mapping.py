"""Files keep their own names of columns: a mapping says which plays which role."""

from pathlib import Path

import pytest

from trainer.datasets import pairs
from trainer.datasets.records import DatasetError, TextPairs

ODD = '"",Question Text,The Answer,Topic\n0,a,b,x\n1,c,d,y\n'
MAPPED = {"query": "Question Text", "document": "The Answer", "group": "Topic"}


def read(path: Path, columns: dict[str, str] | None = None) -> TextPairs:
    return pairs.read(path, lambda detail, fraction: None, columns)


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_mapped_file_is_the_same_dataset_as_one_with_the_usual_names(tmp_path: Path) -> None:
    odd = read(written(tmp_path, "odd.csv", ODD), MAPPED)
    usual = read(written(tmp_path, "usual.csv", "query,document,group\na,b,x\nc,d,y\n"))
    lines = written(tmp_path, "odd.jsonl", '{"Q": "a", "A": "b", "T": "x"}\n{"Q": "c", "A": "d", "T": "y"}\n')
    mapped = read(lines, {"query": "Q", "document": "A", "group": "T"})
    assert odd.content_hash == usual.content_hash == mapped.content_hash
    assert odd.groups == ["x", "y"]


def test_a_role_mapped_to_nothing_ignores_the_column_of_its_name(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "query,document,id\na,b,7\nc,d,7\n")
    with pytest.raises(DatasetError, match="already the id of line 2"):
        read(path)
    assert read(path, {"id": ""}).ids == ["1", "2"]


def test_names_of_table_columns_are_compared_without_case_and_spaces(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", ODD)
    assert read(path, {"query": " QUESTION text ", "document": "the answer"}).queries == ["a", "c"]


REFUSED = {
    "a column that is not there": ({**MAPPED, "query": "Nope"}, r"line 1: column Nope \(query\) is missing"),
    "an optional one that is not there": ({**MAPPED, "id": "Nope"}, r"column Nope \(id\) is missing"),
    "an unknown role": ({"label": "Topic"}, "no column can play the role 'label'; roles are query"),
    "one column for two roles": (
        {"query": "Topic", "document": "topic"},
        "column topic cannot be both query and document",
    ),
    "a needed role without a column": ({"query": ""}, "line 1: column query is missing"),
}


@pytest.mark.parametrize(("columns", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_mapping_is_refused_in_words(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read(written(tmp_path, "a.csv", ODD), columns)


def test_an_error_names_the_column_as_the_file_does(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", ODD + "2,,d,y\n")
    with pytest.raises(DatasetError, match=r"a.csv, line 4, column Question Text \(query\): is empty"):
        read(path, MAPPED)
