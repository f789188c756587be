"""A file is looked over: columns, figures, first rows, and what is wrong with it, in words."""

import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainer.datasets.inspection import Wish, inspect
from trainer.datasets.records import DatasetError

ODD = (
    '"",Question Text,The Answer,Topic\n0,How to open,Use open,io\n1,How to close,Use close,io\n'
    "2,HOW  to open,Use open,io\n3,How to sort,,seq\n"
)
MAPPED = {"query": "Question Text", "document": "The Answer", "group": "Topic"}


def look(path: Path, **wish: Any) -> dict[str, Any]:
    return inspect(path, lambda detail, fraction: None, Wish(**wish))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_csv_with_odd_names_is_mapped_counted_and_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "odd.csv", ODD.replace("How to sort,,", "How to sort,Use sorted,"))
    told = look(path, kind="pairs", columns=MAPPED)
    assert [column["name"] for column in told["columns"]] == ["", "Question Text", "The Answer", "Topic"]
    assert told["check"]["ok"]
    assert told["check"]["num_rows"] == told["statistics"]["rows"] == 4
    assert told["statistics"]["duplicates"]["row"] == {"count": 1, "compared": 4, "lines": [[2, 4]]}
    assert told["statistics"]["lengths"]["query"]["words"]["p95"] == 3
    assert told["statistics"]["groups"] == 2
    assert told["preview"][0] == {
        "line": 2,
        "cells": {"query": "How to open", "document": "Use open", "group": "io"},
    }
    assert len(told["sha256"]) == len(told["check"]["content_hash"]) == 64


def test_what_training_would_refuse_is_counted_and_refused(tmp_path: Path) -> None:
    told = look(written(tmp_path, "odd.csv", ODD), kind="pairs", columns=MAPPED)
    assert told["statistics"]["empty"]["document"] == {"count": 1, "lines": [5]}
    assert not told["check"]["ok"]
    assert "line 5, column The Answer (document): is empty" in told["check"]["error"]


def test_a_quick_look_reads_the_beginning_and_hashes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "query,document\n" + "".join(f"q{n},d{n}\n" for n in range(3000)))
    told = look(path, is_quick=True)
    assert told["statistics"]["rows"] == 1000
    assert not told["is_whole"]
    assert "sha256" not in told
    assert look(path)["statistics"]["rows"] == 3000


def test_labels_are_counted_with_their_balance_and_contradictions(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tsv", "text\tlabel\nok\tgood\nOK \tbad\nno\tbad\nwell\tbad\n")
    labels = look(path, kind="labelled", is_quick=True)["statistics"]["labels"]
    assert labels["most"] == [{"label": "bad", "count": 3}, {"label": "good", "count": 1}]
    assert (labels["majority_share"], labels["smallest"]) == (0.75, 1)
    assert labels["contradictions"] == {"count": 1, "lines": [[2, 3]]}


def test_messages_lists_and_passages_are_read_as_texts(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Hello"}]
    lines = written(tmp_path, "a.jsonl", json.dumps({"messages": chat}) + "\n")
    listed = written(tmp_path, "a.json", json.dumps([{"prompt": "a b", "completion": "c"}]))
    plain = written(tmp_path, "a.txt", "\n\n".join(["many words " * 100] * 4))
    assert look(lines, is_quick=True)["statistics"]["lengths"]["messages"]["words"]["max"] == 3
    assert look(listed, is_quick=True)["mapping"] == {"prompt": "prompt", "completion": "completion"}
    told = look(plain)
    assert told["statistics"]["rows"] == told["check"]["num_rows"] == 2


def test_lengths_are_counted_in_tokens_where_a_tokenizer_is_known(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "query,document\nab,c\nabcd,e\n")
    told = look(path, is_quick=True, count_tokens=len)
    assert told["statistics"]["lengths"]["query"]["tokens"]["max"] == 4


def test_arrays_are_described_by_their_headers_and_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, left=np.eye(4, dtype=np.float32), right=np.eye(4, 3, k=-1) + 1, group=np.arange(4))
    told = look(path, columns={"query_vectors": "left", "document_vectors": "right", "groups": "group"})
    assert told["check"]["num_rows"] == 4
    assert told["statistics"]["vectors"] == {"query": [1, 4], "document": [3]}
    assert told["columns"][0]["type"] == "float32 [4, 4]"
    assert told["preview"][1]["cells"]["query_vectors"] == "[0, 1, 0, 0]"
    assert "choose a column for" in look(path)["check"]["error"]


def npz_with(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return path


def test_an_npz_that_would_unpack_to_far_too_much_is_refused_by_its_header(tmp_path: Path) -> None:
    header = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 9), }".ljust(117)
        + b"\n"
    )
    path = npz_with(tmp_path / "bomb.npz", "query_vectors.npy", header + bytes(50_000_000))
    with pytest.raises(DatasetError, match=r"bomb.npz, query_vectors: holds .* refused"):
        look(path)


def test_an_npz_with_pickles_runs_nothing(tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Evil:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(canary),))

    np.savez(tmp_path / "evil.npz", query_vectors=np.array([Evil()], dtype=object))
    with pytest.raises(DatasetError, match="holds Python objects, which are never loaded"):
        look(tmp_path / "evil.npz")
    assert not canary.exists()


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.csv", b"", "is empty"),
    "unknown ending": ("a.xlsx", b"x", "has an unknown ending; known are .csv"),
    "not a zip": ("a.npz", b"PK\x03\x04 no", "is not a readable NPZ file"),
}


@pytest.mark.parametrize(("name", "content", "message"), REFUSED.values(), ids=REFUSED)
def test_files_of_which_nothing_can_be_told_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        look(written(tmp_path, name, content))


WRONG: dict[str, tuple[str, bytes, str]] = {
    "invalid UTF-8": (
        "a.csv",
        b"query,document\na,b\n\xff,c\n",
        r"line 3: byte 1 of the line \(0xff\) is not UTF-8",
    ),
    "UTF-16": ("a.csv", "query,document\na,b\n".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
    "not JSON": ("a.jsonl", b'{"query": "a", "document": "b"}\n{', "line 2: is not JSON"),
    "too few cells": ("a.csv", b"query,document\na,b\nc\n", "line 3: has 1 cells, the header has 2"),
    "too many columns": ("a.csv", b"a," * 3000 + b"b\n1\n", "names 3,001 columns, 2,000 are allowed"),
    "one column": ("a.csv", b"a\n1\n", "has too few columns for any kind of dataset; it has 'a'"),
    "unclear columns": ("a.csv", b"a,b\n1,2\n", r"say what it holds \(.*pairs of texts.*\) and which column"),
    "no list": ("a.json", b'{"messages": []}', "must hold a list of objects"),
    "JSON lines called JSON": ("a.json", b"{}\n{}\n", "one object per line is JSON lines"),
}


@pytest.mark.parametrize(("name", "content", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_rows_is_told_with_place_and_remedy(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    check = look(written(tmp_path, name, content))["check"]
    assert not check["ok"]
    assert re.search(message, check["error"]), check["error"]


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"\xef\xbb\xbfquery,document\na,b\nc,d\n")
    assert look(path)["check"]["ok"]


def test_a_line_without_end_is_given_up_after_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)  # 10 GB of nothing, of which next to nothing is read
    assert "line 1: is longer than 16,000,000 bytes" in look(path)["check"]["error"]


def test_devices_pipes_and_folders_are_refused_unread(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "folder.csv", "zero.csv", "missing.csv"):
        with pytest.raises(DatasetError, match=name):
            look(tmp_path / name)
