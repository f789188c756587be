import json
from pathlib import Path

import pytest

from trainer.datasets.labelled_texts import LabelledTexts, read, read_head, with_aliases
from trainer.datasets.records import DatasetError


def silent(detail: str, fraction: float) -> None:
    """Nobody listens."""


def written(folder: Path, content: str | bytes, name: str = "reviews.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


GOOD = "text,label\nfine thing,good\nbad thing,bad\n"


def test_a_table_is_read_whatever_its_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    plain = read(written(tmp_path, GOOD), silent)
    marked = read(written(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()), silent)
    assert plain.texts == marked.texts == ["fine thing", "bad thing"]
    assert plain.labels == ["good", "bad"]
    assert plain.ids == ["1", "2"]
    assert plain.places == ["reviews.csv, line 2", "reviews.csv, line 3"]
    assert plain.content_hash == marked.content_hash


def test_json_lines_may_hold_numbers_and_truth_values_as_labels(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": 1}, {"text": "b", "label": True}, {"text": "c", "label": "10"}]
    found = read(written(tmp_path, "\n".join(map(json.dumps, rows)), "a.jsonl"), silent)
    assert found.labels == ["1", "true", "10"]


def test_labels_that_are_numbers_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    found = read(written(tmp_path, "text,label\na,10\nb,2\nc,0\n"), silent)
    assert found.names() == ["0", "2", "10"]
    assert found.numbers_N().tolist() == [2, 1, 0]


def test_columns_of_other_names_are_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, "Body\tSentiment\tauthor\nx\tup\tann\ny\tdown\tbob\n", "a.tsv")
    found = read(path, silent, {"text": "body", "label": "Sentiment", "group": "author"})
    assert (found.texts, found.labels, found.groups) == (["x", "y"], ["up", "down"], ["ann", "bob"])
    alone = read(path, silent, {"text": "body", "label": "Sentiment", "group": ""})
    assert alone.groups == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("text,mark\na,1\n", r"line 2, column label: is missing; the columns are 'text', 'mark'"),
        ("text,label\na,good\n  ,bad\n", r"line 3, column text: is empty; fill it or remove the row"),
        ("text,label\na,good\nb,NaN\n", r"line 3, column label: is empty \(it says NaN\)"),
        ("text,label\na,good\nb\n", r"line 3: has 1 cells, the header has 2"),
        ("text,label\na,good\nb,good\n", r"all 2 rows have the label 'good'; at least two"),
        (b"text,label\na,good\n\xff\xfe,bad\n", r"line 3: byte 1 of the line \(0xff\) is not UTF-8"),
        (b"\xff\xfet\x00", "is UTF-16 text; save it as UTF-8"),
        ("text,label,id\na,good,7\nb,bad,7\n", r"line 3, column id: '7' is already the id of line 2"),
        ("text,text,label\na,b,c\n", "line 1: column text is there more than once"),
        ("text,label\n", "holds no text"),
        ('text,label\n"a,good\n', r"line 2: .*is a quote left open"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, content: str | bytes, said: str) -> None:
    with pytest.raises(DatasetError, match=said):
        read(written(tmp_path, content), silent)


def test_an_endless_line_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path, "text,label\n")
    with path.open("r+b") as file:
        file.seek(10_000_000_000)
        file.write(b"x")
    with pytest.raises(DatasetError, match="line 2: is longer than 16,000,000 bytes"):
        read(path, silent)


def test_a_column_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match="no column can play the role 'query'; roles are text, label, group, id"
    ):
        read(written(tmp_path, GOOD), silent, {"query": "text"})


def test_the_beginning_of_a_file_says_that_it_is_not_all(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + "more,good\n" * 50)
    head = read_head(path, silent, max_bytes=30)
    assert not head.is_whole
    assert 1 <= len(head.texts) < 52
    assert read_head(path, silent, max_bytes=None).is_whole


def aliased(labels: list[str], aliases: dict[str, str]) -> LabelledTexts:
    ids = [str(row) for row in range(len(labels))]
    return with_aliases(LabelledTexts("d", ids, ids, labels, ids, ids, "hash"), aliases)


def test_aliases_join_labels_and_change_what_the_dataset_is() -> None:
    found = aliased(["ai", "ai-generated", "person"], {"ai": "machine", "ai-generated": "machine"})
    assert found.labels == ["machine", "machine", "person"]
    assert found.content_hash != "hash"


def test_aliases_of_no_label_or_of_all_are_refused() -> None:
    with pytest.raises(DatasetError, match="label_aliases names 'robot', which is no label"):
        aliased(["ai", "person"], {"robot": "machine"})
    with pytest.raises(DatasetError, match="all 2 rows have the label 'x'"):
        aliased(["ai", "person"], {"ai": "x", "person": "x"})
