"""All signatures, family by family.  A new family is one file and one line here."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from trainer.diagnosis import (
    cuda,
    data_errors,
    dataloader,
    disk_and_files,
    exits,
    hangs,
    imports_and_versions,
    memory,
    mps,
    native,
    numerics,
    openmp,
    search_process,
    serving,
)
from trainer.diagnosis.finding import Signature

FAMILIES: Final = (
    openmp,
    search_process,
    native,
    cuda,
    mps,
    dataloader,
    memory,
    disk_and_files,
    data_errors,
    numerics,
    imports_and_versions,
    serving,
    hangs,
    exits,
)


@cache
def signatures() -> dict[str, Signature]:
    """Every signature by id.

    Raises:
        ValueError: two families claim one id.
    """
    found: dict[str, Signature] = {}
    for family in FAMILIES:
        for signature in family.SIGNATURES:
            if found.setdefault(signature.id, signature) is not signature:
                raise ValueError(f"two signatures are called {signature.id}")
    return found


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, ready to search whole logs."""
    return re.compile(pattern, re.MULTILINE)
