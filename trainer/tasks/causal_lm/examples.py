"""Which examples there are, and which of them are trained on: what preflight and trainer must agree about.

Loads no training library.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np

from trainer.datasets.conversations import Conversations, made
from trainer.datasets.records import DatasetError, TextPairs
from trainer.datasets.splitting import Ints, Split, numbered, split_by_group
from trainer.datasets.turns import Turn
from trainer.recipes.causal_lm import CausalLmParams

_SUBSET: Final = 6  # stream of random numbers


def docstrings(pairs: TextPairs) -> Conversations:
    """The documentation corpus as prompts (name and signature) and completions (the first sentence)."""
    return made(
        pairs.name,
        "completion",
        (
            (
                key,
                group,
                (Turn("prompt", f"{document.split(chr(10), 1)[0]}\n"), Turn("completion", query)),
            )
            for key, group, query, document in zip(
                pairs.ids, pairs.groups, pairs.queries, pairs.documents, strict=True
            )
        ),
    )


def prompt_end(conversations: Conversations) -> str:
    """The white space that every prompt ends with; empty where they differ, or are no plain prompts."""
    if conversations.kind != "completion":
        return ""
    ends = {turns[0].text[len(turns[0].text.rstrip()) :] for turns in conversations.turns}
    return ends.pop() if len(ends) == 1 else ""


def split_rows(conversations: Conversations, *, held_out_fraction: float, seed: int) -> Split:
    """Whole groups to one side or the other; examples with the same prompt, or the same text, stay together.

    Raises:
        DatasetError: there is only one group.
    """
    asked = [
        _folded(text) if (text := conversations.asked(row)) else row for row in range(len(conversations))
    ]
    whole = [
        _folded(conversations.asked(row) + "\n" + conversations.answered(row))
        for row in range(len(conversations))
    ]
    try:
        return split_by_group(
            conversations.groups,
            queries_N=numbered(asked),
            documents_N=numbered(whole),
            held_out_fraction=held_out_fraction,
            seed=seed,
        )
    except DatasetError as exc:
        raise DatasetError(f"{conversations.name}: {exc}") from exc


def subset(rows: Ints, conversations: Conversations, params: CausalLmParams) -> Ints:
    """At most ``max_examples`` and ``train_fraction`` of ``rows``, in their order, a random choice."""
    wanted = round(len(rows) * params.train_fraction)
    if params.max_examples:
        wanted = min(wanted, params.max_examples)
    if wanted >= len(rows):
        return rows

    def order(row: int) -> bytes:
        key = f"{params.seed}:{_SUBSET}:{conversations.ids[row]}"
        return hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()

    return np.array(sorted(sorted(rows.tolist(), key=order)[: max(1, wanted)]), dtype=np.int64)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
