"""The words a kind of dataset is declared with: roles of columns, endings, and who reads it.

A declaration imports nothing: the web process shows it, and the reader is named as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """What a column means to training.

    Attributes:
        name: the word in mappings; also the column's name where a file maps nothing.
        help: what the column holds, for a person.
        usual: other names under which people keep it, in lower case, best first.
        is_label: whether its values are classes to be counted.
    """

    name: str
    help: str
    usual: tuple[str, ...] = ()
    is_label: bool = False


@dataclass(frozen=True)
class DatasetKind:
    """What files can hold.

    Attributes:
        name: the word in ``Recipe.dataset_kinds``.
        title: the words on the page.
        help: one sentence: what it is for.
        roles: all columns that mean something, the required ones first.
        needs: sets of roles; a file must have all roles of one of them.
        endings: names of files of this kind end so, in lower case with the dot.
        reader: ``module:function``, called as ``read(path, tell, columns=mapping)``; what it returns has a
            length and a ``content_hash``, and raises ``DatasetError`` with file, row and remedy.
        whole_text: endings of files without columns: all of it is one text.
        is_array: whether the columns are arrays of an NPZ file.
    """

    name: str
    title: str
    help: str
    roles: tuple[Role, ...]
    needs: tuple[tuple[str, ...], ...]
    endings: tuple[str, ...]
    reader: str
    whole_text: tuple[str, ...] = ()
    is_array: bool = False

    def role(self, name: str) -> Role | None:
        """The role of this name, None where there is none."""
        return next((role for role in self.roles if role.name == name), None)

    def missing(self, columns: Mapping[str, str]) -> tuple[str, ...]:
        """Needed roles without a column; empty when all of one set have theirs.

        Of several sets it is the one that is begun and lacks the fewest.
        """
        lacking = [tuple(role for role in need if not columns.get(role)) for need in self.needs]
        begun = [some for some, need in zip(lacking, self.needs, strict=True) if len(some) < len(need)]
        return min(begun or lacking, key=len, default=())


def suggest(kind: DatasetKind, names: Sequence[str]) -> dict[str, str]:
    """Which of a file's columns plays which role, by their names; a column plays one role at most."""
    free = {name.strip().lower(): name for name in reversed(names)}  # of equal ones the first
    chosen: dict[str, str] = {}
    for role in kind.roles:
        if role.name in free:
            chosen[role.name] = free.pop(role.name)
    for role in kind.roles:
        usual = next((name for name in role.usual if name in free), None)
        if role.name not in chosen and usual is not None:
            chosen[role.name] = free.pop(usual)
    for role in kind.roles:
        spoken = next(
            (name for word in (role.name, *role.usual) for name in free if word in _words(name)), None
        )
        if role.name not in chosen and spoken is not None:
            chosen[role.name] = free.pop(spoken)
    return chosen


def _words(name: str) -> list[str]:
    """``question_text`` and ``question text`` as two words."""
    return re.split(r"[^a-z0-9]+", name)
