"""Reads a language model's dataset before a run, within bounds, and says what would become of it.

Small files are read whole, by the reader the trainer uses; of large ones the
beginning is read and the rest estimated.  Tokens are estimated from
characters.  Loads no training library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from trainer.datasets import conversations as conversation_files
from trainer.datasets import python_docs
from trainer.datasets.conversations import Conversations
from trainer.datasets.files import check_regular
from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import Split
from trainer.datasets.turns import Turn
from trainer.environment.doctor.check import Check, Verdict
from trainer.language.hub import REMEDY as REMEDY_HUB
from trainer.language.hub import Prospect, prospect
from trainer.language.sources import ModelError, ModelSource, find_source, model_roots
from trainer.preflight.judging import unusable
from trainer.preflight.mistaken import remedy_for_file
from trainer.preflight.outlook import Examples, Survey
from trainer.preflight.question import Question
from trainer.tasks.causal_lm.examples import docstrings, split_rows
from trainer.tasks.causal_lm.forecast import Facts, foresee

TITLE: Final = "Dataset"
WHOLE_BYTES: Final = 64 * 1024 * 1024
HEAD_BYTES: Final = 8 * 1024 * 1024
CHARACTERS_PER_TOKEN: Final = 3.2  # of English and code, with a vocabulary of some thousands
MOST_CHARACTERS_PER_TOKEN: Final = 8.0
SHOWN_CHARACTERS: Final = 120
REMEDY: Final = (
    "Put that place right. Rows have messages, or instruction and output, or prompt and completion, or text."
)
_DOCS_CHARACTERS: Final = (150.0, 62.0)  # of a prompt and a completion of the built-in corpus


@dataclass(frozen=True)
class _Read:
    """What was read of the dataset; ``scale`` is how many times more there is."""

    conversations: Conversations
    scale: float


def survey(question: Question) -> Survey:
    """Look at the model, read, split, foresee."""
    try:
        source = find_source(question.params["model"], roots=model_roots(question.datasets_dir))
    except ModelError as exc:
        remedy = "Name scratch, a folder with config.json, tokenizer and model.safetensors, or a hub id."
        return Survey((Check("model_files", "Model files", Verdict.PROBLEM, f"{exc}.", remedy),))
    looked_up = prospect(source)
    checks, source = (_model_check(looked_up),), looked_up.source
    if question.dataset == python_docs.NAME:
        corpus = python_docs.kept(question.datasets_dir)
        if corpus is None:
            return _unbuilt(question, source, checks)
        return _surveyed(question, source, _Read(docstrings(corpus), 1.0), checks)
    try:
        return _surveyed(question, source, _read(Path(question.dataset), question.columns), checks)
    except DatasetError as exc:
        found, details = unusable(exc), {"path": question.dataset}
        remedy = remedy_for_file(question, REMEDY)
        return Survey((*checks, Check("dataset", TITLE, Verdict.PROBLEM, found, remedy, details)))


def _read(path: Path, columns: Mapping[str, str]) -> _Read:
    is_large = check_regular(path) > WHOLE_BYTES
    head = conversation_files.read_head(path, _silent, columns, max_bytes=HEAD_BYTES if is_large else None)
    return _Read(head.conversations, max(1.0, head.file_bytes / max(1, head.read_bytes)))


def _model_check(found: Prospect) -> Check:
    title, source = "Model files", found.source
    if source.kind == "scratch":
        return Check("model_files", title, Verdict.OK, "A small model is made on the spot.")
    if found.trouble:
        return Check("model_files", title, Verdict.PROBLEM, unusable(found.trouble), REMEDY_HUB)
    if source.kind == "hub":
        words = f"{source.name} is fetched from the hub when the run starts"
        if found.doubt:
            return Check("model_files", title, Verdict.WARNING, f"{words}, but {found.doubt}.", REMEDY_HUB)
        return Check("model_files", title, Verdict.NOTE, f"{words}.", "To keep it here: name a folder.")
    return Check("model_files", title, Verdict.OK, f"{source.folder} is whole.")


def _surveyed(question: Question, source: ModelSource, read: _Read, checks: tuple[Check, ...]) -> Survey:
    params, conversations = question.params, read.conversations
    split = split_rows(conversations, held_out_fraction=params["held_out_fraction"], seed=params["seed"])
    rows = range(len(conversations))
    asked = np.array([len(conversations.asked(row)) for row in rows], dtype=np.float64)
    answered = np.array([len(conversations.answered(row)) for row in rows], dtype=np.float64)
    tokens = (asked + answered) / CHARACTERS_PER_TOKEN + 2
    facts = Facts(
        num_examples=round(len(conversations) * read.scale),
        num_train=round(len(split.train) * read.scale),
        num_held_out=round(len(split.held_out) * read.scale),
        mean_tokens=float(np.minimum(tokens, params["max_length"]).mean()),
        mean_learned=float(answered.mean()) / CHARACTERS_PER_TOKEN + 1,
        characters=float((asked + answered).sum()) * read.scale,
        is_text=conversations.kind == "text",
        is_estimated=read.scale > 1.0,
    )
    examples = Examples(
        conversations.ids,
        [conversations.asked(row) or conversations.answered(row) for row in rows],
        [conversations.answered(row) for row in rows],
        split.train,
        split.held_out,
        ("prompt", "completion"),
    )
    described = (_described(question, facts, read, tokens), _split_check(facts, split))
    return Survey((*checks, *described), foresee(facts, params, source), examples)


def _described(question: Question, facts: Facts, read: _Read, tokens: np.ndarray[Any, Any]) -> Check:
    conversations, params = read.conversations, question.params
    about = "About " if facts.is_estimated else ""
    kinds = {"messages": "conversations", "completion": "prompts with completions", "text": "texts"}
    details: dict[str, Any] = {
        "path": question.dataset,
        "examples": facts.num_examples,
        "kind": conversations.kind,
        "tokens_p50": int(np.percentile(tokens, 50)),
        "tokens_p95": int(np.percentile(tokens, 95)),
        "tokens_p99": int(np.percentile(tokens, 99)),
        "longer_share": 0.0 if facts.is_text else float((tokens > params["max_length"]).mean()),
        "unlearnable_share": 0.0 if facts.is_text else _unlearnable(conversations, params),
        "first": [
            {
                "id": conversations.ids[row],
                "prompt": conversations.asked(row)[:SHOWN_CHARACTERS],
                "completion": conversations.answered(row)[:SHOWN_CHARACTERS],
            }
            for row in range(min(3, len(conversations)))
        ],
    }
    found = f"{about}{facts.num_examples:,} {kinds[conversations.kind]}."
    return Check("dataset", TITLE, Verdict.OK, found, "", details)


def _unlearnable(conversations: Conversations, params: Mapping[str, Any]) -> float:
    """Share of the examples whose prompts leave no room, however well their tokenizer packs characters."""
    if params["learn_prompt"]:
        return 0.0
    most = float(params["max_length"]) * MOST_CHARACTERS_PER_TOKEN
    first = (sum(len(turn.text) for turn in turns[: _first_answer(turns)]) for turns in conversations.turns)
    return sum(1 for length in first if length > most) / len(conversations)


def _first_answer(turns: Sequence[Turn]) -> int:
    answers = (number for number, turn in enumerate(turns) if turn.role in ("assistant", "completion"))
    return next(answers, len(turns) - 1)


def _split_check(facts: Facts, split: Split) -> Check:
    share = len(split.held_out) / (len(split.train) + len(split.held_out))
    about = "About " if facts.is_estimated else ""
    found = f"{about}{facts.num_train:,} to train on, {facts.num_held_out:,} held out ({share:.1%})."
    details = {"train": facts.num_train, "held_out": facts.num_held_out}
    return Check("split", "Split", Verdict.OK, found, "", details)


def _unbuilt(question: Question, source: ModelSource, checks: tuple[Check, ...]) -> Survey:
    """The built-in corpus before its first use: nothing is wrong, and nothing exact is known."""
    expected, params = python_docs.expected_pairs(), question.params
    held_out = round(expected * params["held_out_fraction"])
    facts = Facts(
        num_examples=expected,
        num_train=expected - held_out,
        num_held_out=held_out,
        mean_tokens=sum(_DOCS_CHARACTERS) / CHARACTERS_PER_TOKEN,
        mean_learned=_DOCS_CHARACTERS[1] / CHARACTERS_PER_TOKEN,
        characters=sum(_DOCS_CHARACTERS) * expected,
        is_estimated=True,
    )
    found = f"{python_docs.NAME} is built at the first run, in 10 to 60 s; about {expected:,} examples."
    remedy = f"To build it now: python -m trainer datasets --build {python_docs.NAME}"
    note = Check("dataset", TITLE, Verdict.NOTE, found, remedy)
    return Survey((*checks, note), foresee(facts, params, source))


def _silent(detail: str, fraction: float) -> None:
    """Nobody waits long enough to be told how far the reading is."""
