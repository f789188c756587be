import json
from pathlib import Path
from typing import Any

import pytest

from trainer.datasets import conversations
from trainer.datasets.conversations import Conversations
from trainer.datasets.records import DatasetError
from trainer.datasets.turns import Turn


def silent(detail: str, fraction: float) -> None:
    """Nobody listens."""


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def read(path: Path, **columns: str) -> Conversations:
    return conversations.read(path, silent, columns)


def test_each_shape_of_a_row_becomes_turns(tmp_path: Path) -> None:
    chat: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
    chat += [
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "?"},
    ]
    shapes: dict[str, tuple[Any, str, tuple[Turn, ...]]] = {
        "messages": (
            {"messages": chat},
            "messages",
            (
                Turn("system", "s"),
                Turn("user", "q"),
                Turn("assistant", "a"),
            ),  # what nobody answers is left out
        ),
        "shares": (
            {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
            "messages",
            (Turn("user", "q"), Turn("assistant", "a")),
        ),
        "alpaca": (
            {"instruction": "Add.", "input": "1 and 2", "output": "3"},
            "messages",
            (Turn("user", "Add.\n\n1 and 2"), Turn("assistant", "3")),
        ),
        "completion": (
            {"prompt": "1 + 1 =", "completion": " 2"},
            "completion",
            (Turn("prompt", "1 + 1 ="), Turn("completion", " 2")),
        ),
        "text": ({"text": "Once."}, "text", (Turn("text", "Once."),)),
    }
    for name, (row, kind, turns) in shapes.items():
        found = read(written(tmp_path / f"{name}.jsonl", [row]))
        assert (found.kind, found.turns) == (kind, [turns])


def test_a_json_list_is_read_like_its_lines_and_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "completion": "b", "id": 7, "group": "g"}, {"prompt": "c", "completion": "d"}]
    (tmp_path / "list.json").write_text("\ufeff" + json.dumps(rows), encoding="utf-8")
    lines = written(tmp_path / "list.jsonl", rows)
    lines.write_text("\ufeff" + lines.read_text(), encoding="utf-8")
    found = read(tmp_path / "list.json")
    assert (found.ids, found.groups) == (["7", "2"], ["g", "2"])
    assert read(lines).content_hash == found.content_hash


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    found = read(written(tmp_path / "q.jsonl", [{"q": "a", "a": "b"}]), prompt="q", completion="a")
    assert found.turns == [(Turn("prompt", "a"), Turn("completion", "b"))]


def test_a_text_file_is_cut_at_blank_lines(tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 100 for number in range(30)]
    (tmp_path / "book.txt").write_text("\n\n".join(paragraphs))
    found = read(tmp_path / "book.txt")
    assert found.kind == "text"
    assert len(found) > 3
    assert "".join("".join(found.answered(row).split()) for row in range(len(found))) == "".join(
        "".join(paragraphs).split()
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "a.jsonl",
            b'{"prompt": "a", "completion": "b"}\n{"text": "x"}',
            "line 2, column prompt: is missing",
        ),
        ("a.jsonl", b'{"prompt": "a", "completion": " "}', "line 1, column completion: is empty"),
        ("a.jsonl", b'{"prompt": "a", "completion": 3}', "column completion: must be text, got int"),
        ("a.jsonl", b'{"x": 1}', "line 1: needs the column messages, or instruction and output"),
        ("a.jsonl", b'{"text": "a"}\n{oops', "line 2: is not JSON"),
        ("a.jsonl", b"[1]", "line 1: must be an object"),
        ("a.jsonl", b'{"text": "\xff"}', "byte 11 of the line (0xff) is not UTF-8"),
        ("a.jsonl", b"\xff\xfe{\x00", "UTF-16"),
        ("a.jsonl", b'{"text": "\\ud800"}', "half of a surrogate pair"),
        ("a.jsonl", b'{"text": "a", "id": "k"}\n{"text": "b", "id": "k"}', "'k' is already the id of line 1"),
        ("a.jsonl", b'{"messages": []}', "column messages: must be a list like"),
        (
            "a.jsonl",
            b'{"messages": [{"role": "king", "content": "x"}]}',
            "[1]: its role must be one of",
        ),
        ("a.jsonl", b'{"messages": [{"role": "user", "content": "x"}]}', "no message of the assistant"),
        ("a.jsonl", b'{"messages": [{"role": "assistant", "content": "x"}]}', "begins with the assistant"),
        ("a.jsonl", b"\n\n", "holds no example"),
        ("a.json", b'{"text": "a"}\n{"text": "b"}', "name the file .jsonl"),
        ("a.json", b'"x"', "must hold a list of objects"),
        ("a.json", b'[{"text": ""}]', "entry 1, column text: is empty"),
        ("a.jsonl", b'{"text": "' + b"x" * 16_000_001, "line 1: is longer than 16,000,000 bytes"),
        ("a.csv", b"text\nx", "its name must end in one of .jsonl"),
        ("a.jsonl", b"", "is empty"),
    ],
)
def test_what_is_malformed_is_told_with_its_place(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        read(tmp_path / name)
    assert said in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_the_beginning_of_a_large_file_is_read_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", [{"text": f"{number}" * 50} for number in range(100)])
    head = conversations.read_head(path, silent, max_bytes=600)
    assert 5 < len(head.conversations) < 30
    assert head.read_bytes < head.file_bytes == path.stat().st_size
