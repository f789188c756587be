"""A dataset made ready for training: sequences of tokens, which of them are learned, and the split.

Shape suffixes: S sequences.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trainer.datasets.conversations import Conversations
from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import Ints, Split
from trainer.language.token_cache import TokenRows
from trainer.recipes.causal_lm import CausalLmParams
from trainer.tasks.causal_lm.examples import subset


@dataclass(frozen=True)
class Sequence:
    """One sequence: token ids (int64) and which of them are learned, both of the same length."""

    ids: Ints
    learned: NDArray[np.bool_]

    @property
    def num_learned(self) -> int:
        """Tokens that are predicted and count in the loss; the first one has nothing before it."""
        return int(self.learned[1:].sum())


@dataclass(frozen=True)
class Counts:
    """What became of the examples' tokens.

    Attributes:
        tokens: kept, of all examples; ``learned`` of them count in the loss.
        cut: left out because their example is longer than max_length; ``cut_examples`` lost some.
        empty_examples: left out because nothing was left to learn.
    """

    tokens: int = 0
    learned: int = 0
    cut: int = 0
    cut_examples: int = 0
    empty_examples: int = 0

    @property
    def masked_share(self) -> float:
        """Share of the tokens that is read but not learned."""
        return 1.0 - self.learned / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Material:
    """Everything the task knows of its dataset.

    Attributes:
        conversations: what was read.
        sequences: of tokens, in the order of the examples; a long plain text makes several.
        row_of_S: the example each sequence is of.
        train: numbers of the sequences trained on; ``held_out`` likewise.
        counts: tokens kept and cut.
    """

    conversations: Conversations
    sequences: list[Sequence]
    row_of_S: Ints
    train: Ints
    held_out: Ints
    counts: Counts = field(default_factory=Counts)


def build(
    conversations: Conversations,
    tokens: TokenRows,
    split: Split,
    *,
    params: CausalLmParams,
    end_id: int | None,
) -> Material:
    """Cut every example to ``max_length`` and tell what is learned of it.

    Args:
        conversations: the examples.
        tokens: those of each; the marked ones are learned.
        split: examples on both sides.
        params: lengths.
        end_id: ends every example; None adds no end.

    Raises:
        DatasetError: nothing is left on one of the sides.
    """
    sequences, row_of = [], []
    kept = learned = cut = cut_examples = empty = 0
    train_rows, held_out_rows = subset(split.train, conversations, params), split.held_out
    for row in np.sort(np.concatenate([train_rows, held_out_rows])).tolist():
        whole = _ended(tokens.ids(row), tokens.marked(row), end_id)
        found = (
            _windows(whole, params.max_length)
            if conversations.kind == "text"
            else [Sequence(whole.ids[: params.max_length], whole.learned[: params.max_length])]
        )
        usable = [one for one in found if one.num_learned]
        lost = 0 if conversations.kind == "text" else len(whole.ids) - len(found[0].ids)
        cut, cut_examples = cut + lost, cut_examples + (lost > 0)
        empty += not usable
        kept += sum(len(one.ids) for one in usable)
        learned += sum(one.num_learned for one in usable)
        sequences += usable
        row_of += [row] * len(usable)
    row_of_S = np.array(row_of, dtype=np.int64)
    is_held_out = np.isin(row_of_S, held_out_rows)
    train, held_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
    for side, words in ((train, "to train on"), (held_out, "to evaluate on")):
        if len(side) == 0:
            raise DatasetError(
                f"{conversations.name}: within max_length {params.max_length} no example {words} has "
                "anything to learn; raise max_length, or shorten the prompts"
            )
    counts = Counts(kept, learned, cut, cut_examples, empty)
    return Material(conversations, sequences, row_of_S, train, held_out, counts)


def _ended(ids: NDArray[np.int32], marked: NDArray[np.bool_], end_id: int | None) -> Sequence:
    """With an end that is learned, unless the learned part has it already."""
    longer, learned = ids.astype(np.int64), marked
    if end_id is not None and not bool((ids[marked] == end_id).any()):
        if len(longer) and longer[-1] == end_id:
            longer, learned = longer[:-1], learned[:-1]  # added by the tokenizer, so not marked
        longer = np.append(longer, end_id)
        learned = np.append(learned, True)
    return Sequence(longer, learned)


def _windows(whole: Sequence, length: int) -> list[Sequence]:
    """A long text goes on in a further sequence, which begins with the last token of the one before."""
    windows = []
    start = 0
    while start == 0 or start < len(whole.ids) - 1:
        windows.append(Sequence(whole.ids[start : start + length], whole.learned[start : start + length]))
        start += length - 1
    return windows
