"""Texts as bags of hashed words and character n-grams.

The hash is a polynomial over UTF-8 bytes, so the same text gives the same
features in every process and on every machine (Python's own ``hash`` does
not).  All texts are hashed once, up front: every distinct word once, and the
n-grams of all words in a few array operations.

Shape suffixes: N texts, B rows of a batch.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.records import Tell

FORMAT: Final = 2
_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PRIME: Final = 0x100000001B3  # odd, so it has an inverse modulo 2**64
_CHUNK: Final = 2000
_KEPT_FILES: Final = 40
_OTHER, _DIGIT, _CAPITAL, _SMALL = range(4)
_KIND_OF: Final = np.array(
    [_DIGIT * c.isdigit() + _CAPITAL * c.isupper() + _SMALL * c.islower() for c in map(chr, range(128))],
    dtype=np.uint8,
)
_SMALL_OR_SPACE: Final = bytes(
    ord(c.lower()) if (c.isalnum() and c.isascii()) or c == "\0" else ord(" ") for c in map(chr, range(256))
)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class FeatureSettings:
    """How texts become features; see the recipe's parameters of the same names."""

    num_buckets: int
    ngram: int
    max_features: int


@dataclass(frozen=True)
class Bags:
    """The features of N texts: text i has ``ids[offsets[i] : offsets[i + 1]]``, at least one."""

    ids: NDArray[np.int32]
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: Ints) -> tuple[Ints, Ints]:
        """Ids and starts of ``rows`` in their order, as ``nn.EmbeddingBag`` wants them."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        new_starts = np.zeros(len(rows), dtype=np.int64)
        np.cumsum(lengths[:-1], out=new_starts[1:])
        positions = np.repeat(starts - new_starts, lengths) + np.arange(int(lengths.sum()))
        return self.ids[positions].astype(np.int64), new_starts


def bags_of(texts: Sequence[str], settings: FeatureSettings, tell: Tell) -> Bags:
    """Hash every text; a text without a word gets the feature of the empty word."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__  # a new word gets the next number
    empty = vocabulary[""]
    words_of: list[NDArray[np.int32]] = []
    for start in range(0, len(texts), _CHUNK):
        for words in _words_of(texts[start : start + _CHUNK]):
            # A word yields at least one feature, so further words cannot matter.
            distinct = islice(dict.fromkeys(words), settings.max_features)
            known = list(map(vocabulary.__getitem__, distinct)) or [empty]
            words_of.append(np.array(known, dtype=np.int32))
        tell("hashing words and n-grams", min(1.0, (start + _CHUNK) / max(1, len(texts))))
    word_bags = _word_features(list(vocabulary), settings)
    return _joined(words_of, word_bags, settings.max_features)


def cached_bags(
    texts: Sequence[str], settings: FeatureSettings, tell: Tell, *, content_hash: str, folder: Path
) -> Bags:
    """:func:`bags_of`, kept in ``folder`` under a name that covers texts and settings."""
    key = f"{content_hash}:{FORMAT}:{settings}"
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
    try:
        with np.load(path, allow_pickle=False) as arrays:
            kept = Bags(arrays["ids"], arrays["offsets"])
        if len(kept) == len(texts) and kept.offsets[-1] == len(kept.ids):
            return kept
    except (OSError, ValueError, KeyError, EOFError):
        pass  # absent or damaged: hash again
    bags = bags_of(texts, settings, tell)
    _keep(path, bags)
    return bags


def _keep(path: Path, bags: Bags) -> None:
    """Write the cache; without room for it the run goes on, and hashes again next time."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            np.savez(file, ids=bags.ids, offsets=bags.offsets)
        unfinished.replace(path)
        kept = sorted(path.parent.glob("*.npz"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-_KEPT_FILES]:
            old.unlink()
    except OSError:
        unfinished.unlink(missing_ok=True)


def _words_of(texts: Sequence[str]) -> list[list[str]]:
    """The words of every text, small letters, in their order; texts in ASCII, most of them, all at once."""
    plain = [text.isascii() and "\0" not in text for text in texts]
    quick = iter(_ascii_words([text for text, is_plain in zip(texts, plain, strict=True) if is_plain]))
    return [
        next(quick) if is_plain else _WORD.findall(_CAMEL.sub(" ", text).lower())
        for text, is_plain in zip(texts, plain, strict=True)
    ]


def _ascii_words(texts: list[str]) -> list[list[str]]:
    """The words that the expressions above find, in a third of the time: spaces at the breaks, then split."""
    characters = np.frombuffer("\0".join(texts).encode("ascii"), dtype=np.uint8)
    kinds = _KIND_OF[characters]
    before, after = kinds[:-1], kinds[1:]
    breaks = ((before == _SMALL) & (after == _CAPITAL)) | ((before == _DIGIT) != (after == _DIGIT))
    spaced = np.insert(characters, np.flatnonzero(breaks) + 1, ord(" "))
    text = spaced.tobytes().translate(_SMALL_OR_SPACE).decode("ascii")
    return [one.split() for one in text.split("\0")] if texts else []


def _joined(words_of: list[NDArray[np.int32]], word_bags: Bags, max_features: int) -> Bags:
    """Bags of texts from the bags of their words, cut to ``max_features`` each."""
    parts: list[NDArray[np.int32]] = []
    lengths: list[Ints] = []
    for start in range(0, len(words_of), _CHUNK):
        chunk = words_of[start : start + _CHUNK]
        words = np.concatenate(chunk).astype(np.int64)
        per_word = np.diff(word_bags.offsets)[words]
        text_of_word = np.repeat(np.arange(len(chunk)), [len(one) for one in chunk])
        ids, _ = word_bags.take(words)
        text_of_id = np.repeat(text_of_word, per_word)
        counts = np.bincount(text_of_id, minlength=len(chunk))
        rank = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
        parts.append(ids[rank < max_features].astype(np.int32))
        lengths.append(np.minimum(counts, max_features).astype(np.int64))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return Bags(np.concatenate(parts), offsets)


def _word_features(words: Sequence[str], settings: FeatureSettings) -> Bags:
    """For each word its own feature, then those of its n-grams (with the word's ends marked)."""
    encoded = [f"<{word}>".encode() for word in words]
    lengths = np.array([len(one) for one in encoded], dtype=np.int64)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    buffer = np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.uint64) + np.uint64(1)
    num_grams = np.maximum(lengths - settings.ngram + 1, 0) if settings.ngram else np.zeros_like(lengths)
    offsets = np.concatenate([[0], np.cumsum(num_grams + 1)]).astype(np.int64)
    hashes = np.empty(int(offsets[-1]), dtype=np.uint64)
    hashes[offsets[:-1]] = _span_hashes(buffer, starts, ends)
    gram_starts = np.repeat(starts - np.cumsum(num_grams) + num_grams, num_grams) + np.arange(num_grams.sum())
    is_gram = np.ones(len(hashes), dtype=bool)
    is_gram[offsets[:-1]] = False
    hashes[is_gram] = _mixed(
        _span_hashes(buffer, gram_starts, gram_starts + settings.ngram) ^ np.uint64(settings.ngram)
    )
    return Bags((hashes % np.uint64(settings.num_buckets)).astype(np.int32), offsets)


def _span_hashes(buffer: NDArray[np.uint64], starts: Ints, ends: Ints) -> NDArray[np.uint64]:
    """Polynomial hash of each ``buffer[start:end]``, independent of where the span lies."""
    powers = _powers(_PRIME, len(buffer) + 1)
    inverses = _powers(pow(_PRIME, -1, 2**64), len(buffer) + 1)
    prefix = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(buffer * powers[:-1], dtype=np.uint64)])
    return _mixed((prefix[ends] - prefix[starts]) * inverses[starts])


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits (the finaliser of SplitMix64): low bits alone would collide."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
