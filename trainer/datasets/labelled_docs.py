"""The documentation corpus with the package of each function as its label.

The text is what the documentation says in prose: the first sentence and the
rest of the docstring, without the signature, without examples of code, and
with the name of every package (and the usual short form, such as ``np``)
blanked out wherever it stands.  The standard library counts as one package.
Packages with too few functions are left out, of large ones some are taken, so
that guessing the largest does not pay.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from trainer.datasets import python_docs
from trainer.datasets.labelled_texts import LabelledTexts
from trainer.datasets.records import Tell, TextPairs

NAME: Final = python_docs.NAME
STANDARD_LIBRARY: Final = "standard library"
LEAST_FUNCTIONS: Final = 100
LEAST_MODULES: Final = 8
MOST_FUNCTIONS: Final = 1500
MOST_CHARACTERS: Final = 2000
BLANK: Final = "[...]"
_SHORT_FORMS: Final = ("np", "nx", "sa", "pytorch", "aten", "wsgi")
_NAMES: Final = tuple(  # the longest first, so that none hides a longer one
    sorted(
        {name.lower() for name in (*python_docs.PACKAGES, *_SHORT_FORMS)}, key=lambda name: (-len(name), name)
    )
)
_WHOLE_WORD_UP_TO: Final = 4  # letters; shorter names stand inside other words by chance
_CODE_LINE: Final = re.compile(r"^\s*(\.\. |import |from \w[\w.]* import )")


def load(datasets_dir: Path, tell: Tell) -> LabelledTexts:
    """The corpus of this installation, labelled; builds it the first time.

    Raises:
        DatasetError: the corpus cannot be built.
    """
    return labelled(python_docs.load(datasets_dir, tell))


def kept(datasets_dir: Path) -> LabelledTexts | None:
    """The labelled corpus where the documentation has been read already, else None."""
    pairs = python_docs.kept(datasets_dir)
    return None if pairs is None else labelled(pairs)


def labelled(pairs: TextPairs) -> LabelledTexts:
    """Label the functions of the documentation corpus with their packages."""
    rows = _chosen(pairs)
    texts = [_prose(pairs.queries[row], pairs.documents[row]) for row in rows]
    seen: dict[str, int] = {}
    kept_rows = [
        place for place, text in enumerate(texts) if seen.setdefault(text.casefold(), place) == place
    ]
    columns = {
        "ids": [pairs.ids[rows[place]] for place in kept_rows],
        "texts": [texts[place] for place in kept_rows],
        "labels": [package_of(pairs.groups[rows[place]]) for place in kept_rows],
        "groups": [pairs.groups[rows[place]] for place in kept_rows],
    }
    content_hash = hashlib.sha256(json.dumps(columns, sort_keys=True).encode()).hexdigest()
    return LabelledTexts(name=NAME, places=[""] * len(kept_rows), content_hash=content_hash, **columns)


def package_of(module: str) -> str:
    """The label of a function of ``module``."""
    package = module.partition(".")[0]
    return package if package in python_docs.PACKAGES else STANDARD_LIBRARY


def _chosen(pairs: TextPairs) -> list[int]:
    """Rows of packages with enough functions and modules; of large ones some, the same every time."""
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, module in enumerate(pairs.groups):
        rows_of[package_of(module)].append(row)
    chosen: list[int] = []
    for rows in rows_of.values():
        num_modules = len(Counter(pairs.groups[row] for row in rows))
        if len(rows) < LEAST_FUNCTIONS or num_modules < LEAST_MODULES:
            continue
        chosen.extend(sorted(rows, key=lambda row: _order(pairs.ids[row]))[:MOST_FUNCTIONS])
    return sorted(chosen)


def _order(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()


def _prose(sentence: str, document: str) -> str:
    """The first sentence and the docstring's rest, without what names the package outright."""
    body = document.partition("\n\n")[2]
    text = "\n".join([sentence, *_without_examples(body.splitlines())])
    text = re.sub(r"\n{2,}", "\n", _blanked(text)).strip()
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[: text.rfind(" ", 0, MOST_CHARACTERS) + 1].rstrip() or text[:MOST_CHARACTERS]


def _without_examples(lines: Sequence[str]) -> Iterator[str]:
    """The lines but for examples of code with what they print, directives and imports."""
    is_example = False
    for line in lines:
        is_example = line.lstrip().startswith(">>>") or (is_example and bool(line.strip()))
        if not is_example and not _CODE_LINE.match(line):
            yield line


def _blanked(text: str) -> str:
    """The text without names of packages; looking for each as plain text first is several times as fast."""
    names = _NAMES
    if text.isascii():  # other letters have spellings that only the pattern knows
        lowered = text.lower()
        names = tuple(name for name in _NAMES if name in lowered)
    return _pattern(names).sub(BLANK, text) if names else text


@lru_cache(maxsize=1024)
def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    """Names in any case; long ones also inside identifiers."""
    parts = [
        rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])" if len(name) <= _WHOLE_WORD_UP_TO else re.escape(name)
        for name in names
    ]
    return re.compile("|".join(parts), re.IGNORECASE)
