"""Token ids of many texts, made once in this process and kept on disk.

Nothing forks and no device is touched.  A file of the cache is named by the
hash of the texts, the tokenizer and the settings, written aside and renamed,
and its arrays are hashed again when it is read.

Shape suffixes: N texts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from trainer.datasets.records import Tell

Ints = NDArray[np.int64]
Span = tuple[int, int]  # characters from .. to
FORMAT: Final = 1
FOLDER: Final = "tokens"
_CHUNK: Final = 256
_KEPT_FILES: Final = 20


@dataclass(frozen=True)
class TokenRows:
    """Tokens of N texts, one after the other.

    Attributes:
        ids_flat: int32, all tokens.
        starts: int64, shape (N + 1,): text i has the tokens from starts[i] to starts[i + 1].
        marked_flat: bool, whether a token has a character inside one of its text's spans.
    """

    ids_flat: NDArray[np.int32]
    starts: Ints
    marked_flat: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths_N(self) -> Ints:
        """Tokens of each text."""
        lengths: Ints = np.diff(self.starts)
        return lengths

    def ids(self, row: int) -> NDArray[np.int32]:
        """The tokens of one text."""
        return self.ids_flat[self.starts[row] : self.starts[row + 1]]

    def marked(self, row: int) -> NDArray[np.bool_]:
        """Which tokens of one text have a character inside its spans."""
        return self.marked_flat[self.starts[row] : self.starts[row + 1]]


def cached_tokens(
    texts: Sequence[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    datasets_dir: Path,
    tell: Tell,
    spans: Sequence[Sequence[Span]] | None = None,
    add_special_tokens: bool = True,
) -> TokenRows:
    """The tokens of every text, whole: cutting them to a length is the caller's.

    Args:
        texts: what to tokenise.
        tokenizer: a fast one.
        datasets_dir: where ``tokens/`` lies.
        tell: hears what is being done and the fraction done.
        spans: of each text the characters to mark; None marks nothing.
        add_special_tokens: whether the tokenizer adds its own around each text.
    """
    path = datasets_dir / FOLDER / f"{_key(texts, tokenizer, spans, add_special_tokens)}.npz"
    kept = _kept(path, len(texts))
    if kept is not None:
        return kept
    rows = tokens_of(texts, tokenizer, tell=tell, spans=spans, add_special_tokens=add_special_tokens)
    _keep(path, rows)
    return rows


def tokens_of(
    texts: Sequence[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    tell: Tell,
    spans: Sequence[Sequence[Span]] | None = None,
    add_special_tokens: bool = True,
) -> TokenRows:
    """As :func:`cached_tokens`, without any cache."""
    backend = tokenizer.backend_tokenizer
    encode = backend.encode_batch_fast if spans is None else backend.encode_batch  # places cost time
    ids: list[NDArray[np.int32]] = []
    marks: list[NDArray[np.bool_]] = []
    for start in range(0, len(texts), _CHUNK):
        tell("tokenising", start / len(texts))
        some = list(texts[start : start + _CHUNK])
        encoded = encode(some, add_special_tokens=add_special_tokens)
        for number, one in enumerate(encoded, start=start):
            ids.append(np.array(one.ids, dtype=np.int32))
            marks.append(_marks(one, spans[number] if spans is not None else ()))
    tell("tokenising", 1.0)
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in ids], out=starts[1:])
    no_ids: list[NDArray[np.int32]] = [np.zeros(0, dtype=np.int32)]
    no_marks: list[NDArray[np.bool_]] = [np.zeros(0, dtype=np.bool_)]
    return TokenRows(np.concatenate(ids or no_ids), starts, np.concatenate(marks or no_marks))


def _marks(encoded: Any, spans: Sequence[Span]) -> NDArray[np.bool_]:
    """Which tokens have a character inside a span; the special ones a tokenizer adds have none."""
    marked = np.zeros(len(encoded.ids), dtype=np.bool_)
    if not spans:
        return marked
    begins, ends = np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2).T
    is_text = ends > begins
    for low, high in spans:
        marked |= is_text & (ends > low) & (begins < high)
    return marked


def _key(
    texts: Sequence[str],
    tokenizer: PreTrainedTokenizerFast,
    spans: Sequence[Sequence[Span]] | None,
    add_special_tokens: bool,
) -> str:
    backend = tokenizer.backend_tokenizer
    settings = [FORMAT, len(texts), add_special_tokens, spans is not None]
    digest = hashlib.sha256(json.dumps(settings).encode())
    digest.update(backend.to_str().encode())
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    for some in spans or ():
        digest.update(repr([tuple(span) for span in some]).encode())
    return digest.hexdigest()[:40]


def _checksum(rows: TokenRows) -> str:
    digest = hashlib.sha256()
    for array in (rows.ids_flat, rows.starts, rows.marked_flat):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _kept(path: Path, num_texts: int) -> TokenRows | None:
    """What the cache holds, or None when that is nothing or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            rows = TokenRows(arrays["ids"], arrays["starts"], arrays["marked"])
            if str(arrays["checksum"]) == _checksum(rows) and len(rows) == num_texts:
                return rows
    except (OSError, ValueError, KeyError, EOFError, TypeError, BadZipFile):
        pass
    return None


def _keep(path: Path, rows: TokenRows) -> None:
    """Keep them; without room the run goes on, and tokenises again next time."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            checksum = np.array(_checksum(rows))
            np.savez(file, ids=rows.ids_flat, starts=rows.starts, marked=rows.marked_flat, checksum=checksum)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        kept = sorted(path.parent.glob("*.npz"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-_KEPT_FILES]:
            old.unlink()
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
