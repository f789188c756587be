"""What the doctor prints for people."""

from __future__ import annotations

from trainer.cli.doctor import table


def test_a_terminal_gets_a_line_per_check_with_its_remedy_and_a_count() -> None:
    check = {"id": "a", "title": "Disk", "verdict": "warning", "found": "Little.", "remedy": "Tidy up."}
    fine = {"id": "b", "title": "Port", "verdict": "ok", "found": "Free.", "remedy": ""}
    report = {"checks": [check, fine], "verdict": "warning", "took_s": 1.0}
    text = table(report, coloured=False)
    assert text.splitlines() == [
        "warning   Disk: Little.",
        "          -> Tidy up.",
        "ok        Port: Free.",
        "",
        "1 ok, 1 warning in 1.0 s",
    ]
    assert "\x1b[33mwarning" in table(report, coloured=True)
