"""The fixed held-out examples that are completed again at every snapshot, and how the answers are judged.

Shape suffixes: B probes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence as Row
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

import numpy as np

from trainer.datasets.pinned import pinned_rows
from trainer.engine.task import ProbeAnswers
from trainer.language.completion import Completion
from trainer.tasks.causal_lm.asking import completions, token_log_probabilities
from trainer.tasks.causal_lm.material import Material, Sequence
from trainer.tasks.causal_lm.model import LanguageModel
from trainer.tasks.probe_choice import choose_in_turn

_TEXT_PROMPT: Final = 32  # tokens of a plain text that are given
_SIMILAR_CHARACTERS: Final = 2000
_DECIMALS: Final = 4


@dataclass(frozen=True)
class Probe:
    """One example: ``prompt_ids`` are given, ``reference_ids`` are what the example goes on with."""

    row: int
    prompt_ids: list[int]
    reference_ids: list[int]

    @property
    def sequence(self) -> Sequence:
        """Prompt and reference, of which the reference is learned."""
        ids = np.array([*self.prompt_ids, *self.reference_ids], dtype=np.int64)
        return Sequence(ids, np.arange(len(ids)) >= len(self.prompt_ids))


def choose_probes(
    material: Material, *, count: int, seed: int, max_reference: int, pinned: Row[str] = ()
) -> list[Probe]:
    """Held-out examples: the ``pinned`` ones, then one of each group in turn.

    Raises:
        DatasetError: a pinned one does not exist, or cannot be asked.
    """
    conversations = material.conversations
    first_of: dict[int, int] = {}
    for number in material.held_out.tolist():
        first_of.setdefault(int(material.row_of_S[number]), number)
    first = pinned_rows(
        pinned,
        name=conversations.name,
        ids=conversations.ids,
        held_out=first_of,
        trained=material.row_of_S[material.train].tolist(),
    )
    chosen = choose_in_turn(
        first_of,
        ids=conversations.ids,
        group_of=conversations.groups.__getitem__,
        count=count,
        seed=seed,
        pinned=first,
    )
    return [
        _probe(row, material.sequences[first_of[row]], conversations.kind, max_reference) for row in chosen
    ]


def _probe(row: int, sequence: Sequence, kind: str, max_reference: int) -> Probe:
    """The last stretch of learned tokens is the reference; of a plain text what follows its beginning."""
    ids = sequence.ids.tolist()
    if kind == "text":
        begin = max(1, min(_TEXT_PROMPT, len(ids) // 2))
        return Probe(row, ids[:begin], ids[begin : begin + max_reference])
    learned = np.flatnonzero(sequence.learned[1:]) + 1
    breaks = np.flatnonzero(np.diff(learned) > 1)
    begin = int(learned[breaks[-1] + 1]) if len(breaks) else int(learned[0])
    return Probe(row, ids[:begin], ids[begin : int(learned[-1]) + 1])


def describe_probes(material: Material, probes: Row[Probe], model: LanguageModel) -> list[dict[str, Any]]:
    """The probe set as the snapshots carry it, texts whole."""
    conversations = material.conversations
    return [
        {
            "example_id": conversations.ids[probe.row],
            "input": _decoded(model, probe.prompt_ids),
            "expected_output": _decoded(model, probe.reference_ids).strip(),
            "group": conversations.groups[probe.row],
            "gold": None,
        }
        for probe in probes
    ]


def answer_probes(
    model: LanguageModel, probes: Row[Probe], *, max_new_tokens: int, at_once: int
) -> ProbeAnswers:
    """Complete every probe greedily, and ask how probable its reference is.

    At most ``at_once`` go through the model together.  The loss of a probe is the
    mean negative log-probability of its reference's tokens in nats, each given
    the reference before it; its vector is the mean state of the last layer over its prompt.
    """
    log_probabilities = token_log_probabilities(
        model, [probe.sequence for probe in probes], at_once=at_once, with_vectors=True
    )
    written = completions(
        model, [probe.prompt_ids for probe in probes], max_new_tokens=max_new_tokens, at_once=at_once
    )
    references = [_decoded(model, probe.reference_ids).strip() for probe in probes]
    outputs, columns = [], defaultdict[str, list[float]](list)
    for probe, scores, completion, reference in zip(
        probes, log_probabilities, written, references, strict=True
    ):
        text = _decoded(model, completion.ids).strip()
        is_exact = text == reference
        columns["loss"].append(-float(scores.log_probabilities.mean()))
        columns["correct"].append(float(is_exact))
        columns["similarity"].append(_similarity(text, reference))
        columns["token_accuracy"].append(float(scores.is_first.mean()))
        outputs.append(
            {
                "output": text,
                "tokens": [
                    [piece, round(float(value), _DECIMALS)]
                    for piece, value in zip(
                        _pieces(model, probe.reference_ids), scores.log_probabilities, strict=True
                    )
                ],
                "is_cut": not completion.has_ended,
            }
        )
    vectors = [scores.vector_D for scores in log_probabilities if scores.vector_D is not None]
    return ProbeAnswers(
        dict(columns),
        outputs,
        summary=_summary(columns, written),
        vectors_BD=np.stack(vectors) if len(vectors) == len(probes) else None,
    )


def _summary(columns: dict[str, list[float]], written: Row[Completion]) -> dict[str, float]:
    return {
        "perplexity": float(np.exp(min(700.0, float(np.mean(columns["loss"]))))),
        "similarity": float(np.mean(columns["similarity"])),
        "token_accuracy": float(np.mean(columns["token_accuracy"])),
        "empty_completions": float(np.mean([not one.ids for one in written])),
    }


def _similarity(text: str, reference: str) -> float:
    matcher = SequenceMatcher(
        None, text[:_SIMILAR_CHARACTERS], reference[:_SIMILAR_CHARACTERS], autojunk=False
    )
    return matcher.ratio()


def _pieces(model: LanguageModel, ids: Row[int]) -> list[str]:
    """The text of each token; one that is only a part of a character adds what it completes."""
    pieces, before = [], ""
    for number in range(1, len(ids) + 1):
        text = str(model.tokenizer.decode(list(ids[:number]), skip_special_tokens=False))
        is_open = text.endswith("\ufffd") and number < len(ids)
        pieces.append("" if is_open else text[len(before) :])
        before = before if is_open else text
    return pieces


def _decoded(model: LanguageModel, ids: Row[int]) -> str:
    return str(model.tokenizer.decode(list(ids), skip_special_tokens=True))
