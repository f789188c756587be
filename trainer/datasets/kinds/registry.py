"""All kinds of datasets there are; a kind is one module of this package that holds a ``KIND``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache

import trainer.datasets.kinds
from trainer.datasets.kinds.declaration import DatasetKind


@cache
def kinds() -> dict[str, DatasetKind]:
    """Every kind by name, sorted by name."""
    found: dict[str, DatasetKind] = {}
    for module_info in pkgutil.iter_modules(trainer.datasets.kinds.__path__):
        module = importlib.import_module(f"{trainer.datasets.kinds.__name__}.{module_info.name}")
        kind = getattr(module, "KIND", None)
        if isinstance(kind, DatasetKind):
            found[kind.name] = kind
    return dict(sorted(found.items()))


def endings_of(names: Iterable[str]) -> tuple[str, ...]:
    """Endings of files that can be of one of the kinds called ``names``, without repeats."""
    return tuple(dict.fromkeys(ending for name in names for ending in kinds()[name].endings))
