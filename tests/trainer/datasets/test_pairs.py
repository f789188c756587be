import os
from pathlib import Path

import pytest

from trainer.datasets import pairs
from trainer.datasets.records import DatasetError, TextPairs


def read(path: Path) -> TextPairs:
    return pairs.read(path, lambda detail, fraction: None)


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_jsonl_csv_and_tsv_with_the_same_rows_are_the_same_pairs(tmp_path: Path) -> None:
    jsonl = written(
        tmp_path,
        "a.jsonl",
        '{"query": "a, b", "document": "x\\ny", "group": "g", "id": 7}\n'
        '\n{"document": "z", "query": "c", "group": "h", "id": "8", "more": null}',
    )
    csv = written(tmp_path, "a.csv", 'id,query,document,group\r\n7,"a, b","x\ny",g\r\n8,c,z,h\r\n')
    tsv = written(
        tmp_path, "a.tsv", b'\xef\xbb\xbfQuery\tDocument\tgroup\tid\na, b\t"x\ny"\tg\t7\nc\tz\th\t8\n'
    )
    assert read(jsonl) == read(csv) == read(tsv)
    assert read(jsonl).ids == ["7", "8"]
    assert read(jsonl).titles == ["x", "z"]


def test_without_group_and_id_every_pair_stands_alone(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.csv", "query,document\na,b\nc,d\n"))
    assert found.ids == ["1", "2"]
    assert found.groups == ["1", "2"]


def test_the_hash_changes_with_any_cell(tmp_path: Path) -> None:
    one = read(written(tmp_path, "a.csv", "query,document\na,b\nc,d\n"))
    two = read(written(tmp_path, "a.csv", "query,document\na,b\nc,e\n"))
    assert one.content_hash != two.content_hash


MALFORMED: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("a.csv", "", "is empty"),
    "header only": ("a.csv", "query,document\n", "holds no pair"),
    "blank lines only": ("a.jsonl", "\n\n", "holds no pair"),
    "missing column": ("a.csv", "query,answer\na,b\n", "line 1: column document is missing"),
    "wrong separator": ("a.tsv", "query,document\na,b\n", "separated by tabs"),
    "column twice": ("a.csv", "query,document,query\na,b,c\n", "column query is there 2 times"),
    "too few cells": ("a.csv", "query,document\na,b\nc\n", "line 3: has 1 cells, the header has 2"),
    "open quote": ("a.csv", 'query,document\na,"b\n', "is a quote left open"),
    "empty cell": ("a.csv", "query,document\na,b\n ,d\n", "line 3, column query: is empty"),
    "NaN cell": ("a.csv", "query,document\na,NaN\n", "line 2, column document: is empty .it says NaN"),
    "NaN in JSON": ("a.jsonl", '{"query": NaN, "document": "b"}', "column query: must be text, got nan"),
    "number": ("a.jsonl", '{"query": 3, "document": "b"}', "line 1, column query: must be text, got 3"),
    "field missing": ("a.jsonl", '{"query": "a"}', "line 1, column document: is missing"),
    "id is a list": ("a.jsonl", '{"query": "a", "document": "b", "id": [1]}', "column id: must be text"),
    "not JSON": ("a.jsonl", '{"query": "a", "document": "b"}\n{oops', "line 2: is not JSON"),
    "deep JSON": ("a.jsonl", "[" * 100_000, "line 1: is not JSON"),
    "a list": ("a.jsonl", '["a", "b"]', "line 1: must be an object"),
    "half a surrogate": ("a.jsonl", '{"query": "\\ud800", "document": "b"}', "column query: .*surrogate"),
    "twice the same id": (
        "a.csv",
        "query,document,id\na,b,1\nc,d,1\n",
        "line 3, column id: '1' .* of line 2",
    ),
    "bad UTF-8": ("a.csv", b"query,document\na,b\xff\n", "line 2: byte 4 of the line .0xff. is not UTF-8"),
    "UTF-16": ("a.csv", "query,document\na,b\n".encode("utf-16"), "is UTF-16 text"),
    "huge field": ("a.csv", "query,document\na," + "b" * 1_000_001 + "\n", "line 2: field larger"),
    "huge text": ("a.jsonl", '{"query":"a","document":"' + "b" * 1_000_001 + '"}', "1,000,001 characters"),
    "huge line": ("a.jsonl", b" " * 16_000_001, "line 1: is longer than"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_is_refused_by_line_and_column(case: str, tmp_path: Path) -> None:
    name, content, words = MALFORMED[case]
    path = written(tmp_path, name, content)
    with pytest.raises(DatasetError, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_what_is_no_regular_file_is_refused_without_reading(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe.csv"
    os.mkfifo(fifo)
    with pytest.raises(DatasetError, match="is not a regular file"):
        read(fifo)
    with pytest.raises(DatasetError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(DatasetError, match="No such file"):
        read(tmp_path / "absent.csv")
    with pytest.raises(DatasetError, match="cannot be read"):
        read(tmp_path / "with\0nul.csv")
