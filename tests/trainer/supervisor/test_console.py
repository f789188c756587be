"""What people see of the output: everything when it is sane, the newest when it is a flood."""

from __future__ import annotations

from pathlib import Path

from trainer.protocol.run_folder import RunPaths
from trainer.supervisor.console import BURST_BYTES, Console, console_path


def shown(paths: RunPaths) -> bytes:
    return console_path(paths, 1).read_bytes()


def output(paths: RunPaths, content: bytes) -> None:
    paths.attempt(1).mkdir(parents=True, exist_ok=True)
    with paths.output(1).open("ab") as file:
        file.write(content)


def test_sane_output_is_shown_byte_for_byte_even_without_its_newline(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    console = Console(paths, 1)
    assert console.update() == 0
    for piece in (b"one\n", b"tw", b"o\n\xff\xfe", b"\r50%\r100%"):
        output(paths, piece)
        console.update()
    console.close()
    assert shown(paths) == paths.output(1).read_bytes()


def test_a_long_line_is_cut_once_however_it_arrives(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    console = Console(paths, 1)
    for _ in range(40):
        output(paths, b"x" * 1000)
        console.update()
    output(paths, b"\nnext\n")
    console.update()
    console.close()
    first, second, rest = shown(paths).split(b"\n")
    assert first.count(b"line cut") == 1
    assert len(first) < 17_000
    assert (second, rest) == (b"next", b"")


def test_a_progress_bar_may_redraw_itself_forever(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    console = Console(paths, 1)
    bar = b"".join(b"\r%d%%" % percent for percent in range(20_000))
    output(paths, bar)
    console.update()
    console.close()
    assert shown(paths) == bar


def test_a_flood_is_skipped_to_its_newest_lines_and_counted(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    console = Console(paths, 1)
    output(paths, b"".join(b"line %d\n" % number for number in range(1_000_000)))
    console.update()
    output(paths, b"the end\n")
    console.update(last=True)
    assert console.skipped_bytes > 1_000_000
    console.close()
    assert len(shown(paths)) < 2 * BURST_BYTES
    assert b"bytes not shown" in shown(paths)
    assert b"line 999999\nthe end\n" in shown(paths)


def test_a_later_console_goes_on_where_a_dead_one_left_off(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    output(paths, b"one\n")
    first = Console(paths, 1)
    first.update()
    first.close()
    output(paths, b"two\n")
    second = Console(paths, 1)
    second.update(last=True)
    second.close()
    assert shown(paths) == b"one\ntwo\n"
