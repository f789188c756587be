"""docs/environment.md tells every variable as the code sets it."""

from __future__ import annotations

from scripts.environment_table import PAGE, renewed, rows
from trainer.environment.overrides import _FORBIDDEN, _NOTHING
from trainer.environment.references import REFERENCES


def test_the_table_is_what_the_code_does() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == renewed(page), "renew it: python -m scripts.environment_table --write"


def test_every_variable_has_a_reason_and_a_source_of_it_and_no_source_is_left_over() -> None:
    told = rows()
    assert all(reason and reference for _, _, reason, _, reference in told)
    assert {name for name, *_ in told} == REFERENCES.keys()


def test_what_is_refused_and_what_does_nothing_is_told() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in [*_FORBIDDEN, *_NOTHING] if f"`{name}`" not in page] == []
