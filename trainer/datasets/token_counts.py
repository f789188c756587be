"""How many tokens a text has, by the tokenizer of a model; nothing but its ``tokenizer.json`` is read."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

from trainer.datasets.files import check_regular
from trainer.datasets.measures import CountTokens
from trainer.datasets.records import DatasetError

FILE: Final = "tokenizer.json"
MAX_BYTES: Final = 256 * 1024 * 1024


def token_counter(path: Path) -> CountTokens:
    """Count with the tokenizer in ``path``, a ``tokenizer.json`` or the folder of a model that has one.

    Raises:
        DatasetError: there is none, it cannot be read, or the library for it is not installed.
    """
    file = path / FILE if path.is_dir() else path
    if check_regular(file) > MAX_BYTES:
        raise DatasetError(f"{file}: is too large for a tokenizer; {MAX_BYTES:,} bytes are allowed")
    try:
        library: Any = importlib.import_module("tokenizers")  # heavy: only for whoever asks for tokens
    except ImportError as exc:
        raise DatasetError(f"{file}: lengths in tokens need the package tokenizers ({exc})") from exc
    try:
        tokenizer = library.Tokenizer.from_file(str(file))
    except Exception as exc:  # the library raises nothing narrower
        raise DatasetError(f"{file}: is no tokenizer that can be read ({exc})") from exc
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    return count
