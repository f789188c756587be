"""Reads a labelled dataset before a run, within bounds, and says what would become of it.

Small files are read whole, by the reader the trainer uses; of large ones the
beginning is read and the rest estimated.  Loads no training library.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer.datasets import labelled_docs, labelled_texts, python_docs
from trainer.datasets.files import check_regular
from trainer.datasets.labelled_texts import LabelledTexts, check_labels, with_aliases
from trainer.datasets.records import DatasetError
from trainer.datasets.splitting import Split
from trainer.environment.doctor.check import Check, Verdict
from trainer.language.sources import SCRATCH, ModelError, find_source, model_roots, num_weights, read_config
from trainer.preflight.judging import unusable
from trainer.preflight.mistaken import remedy_for_file
from trainer.preflight.outlook import Examples, Survey
from trainer.preflight.question import Question
from trainer.recipes.label_aliases import parse_aliases
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.forecast import Facts, foresee, scratch_weights
from trainer.tasks.text_classification.split import split_texts

TITLE: Final = "Dataset"
WHOLE_BYTES: Final = 64 * 1024 * 1024
HEAD_BYTES: Final = 8 * 1024 * 1024
SHOWN_CHARACTERS: Final = 120
SHOWN_LABELS: Final = 30
REMEDY: Final = "Put that place right. Columns: text and label, optionally group and id."
ASSUMED: Final = {
    "num_layers": 12,
    "width": 768,
    "num_heads": 12,
    "num_weights": 125_000_000,
}  # of hub models
DOCS_TEXTS, DOCS_LABELS, DOCS_CHARACTERS = 14_500, 22, 330.0  # of python_docs, before it is built


@dataclass(frozen=True)
class _Read:
    texts: LabelledTexts
    scale: float  # how many times more texts there are than were read
    counted: str


def survey(question: Question) -> Survey:
    """Read, split, foresee."""
    try:
        read = _read(question)
        if read is None:
            return _unbuilt(question)
        texts = with_aliases(read.texts, parse_aliases(question.params["label_aliases"]))
        if read.scale == 1.0:
            check_labels(texts)
        params = TextClassificationParams.model_validate(question.params)
        if read.scale > 1.0:  # a label may have its other groups in the part that was not read
            params = params.model_copy(update={"unseen_labels": "allow", "max_examples": 0})
        split = split_texts(texts, params)
    except DatasetError as exc:
        found = unusable(exc)
        remedy, details = remedy_for_file(question, REMEDY), {"path": question.dataset}
        return Survey((Check("dataset", TITLE, Verdict.PROBLEM, found, remedy, details),))
    return _surveyed(question, read, texts, split)


def _read(question: Question) -> _Read | None:
    """The texts, or the first of a large file; None for a corpus that is not built yet.

    Raises:
        DatasetError: names the place of what is wrong.
    """
    if question.dataset == labelled_docs.NAME:
        corpus = labelled_docs.kept(question.datasets_dir)
        return None if corpus is None else _Read(corpus, 1.0, "counted")
    path = Path(question.dataset)
    is_large = check_regular(path) > WHOLE_BYTES
    if path.suffix.lower() not in labelled_texts.ENDINGS:
        raise DatasetError(f"{path}: its name must end in one of {', '.join(labelled_texts.ENDINGS)}")
    head = labelled_texts.read_head(
        path, _silent, max_bytes=HEAD_BYTES if is_large else None, columns=question.columns
    )
    if head.is_whole:
        return _Read(head.texts, 1.0, "counted")
    return _Read(
        head.texts, head.file_bytes / head.read_bytes, f"estimated from the first {len(head.texts):,}"
    )


def _surveyed(question: Question, read: _Read, texts: LabelledTexts, split: Split) -> Survey:
    params = question.params
    num_train = round(len(split.train) * read.scale)
    facts = Facts(
        num_texts=round(len(texts) * read.scale),
        num_train=min(num_train, params["max_examples"] or num_train),
        num_held_out=round(len(split.held_out) * read.scale),
        num_labels=len(texts.names()),
        mean_characters=sum(map(len, texts.texts)) / len(texts),
        is_estimated=read.scale > 1.0,
        **_sizes(params, len(texts.names()), question.datasets_dir),
    )
    examples = Examples(
        texts.ids,
        texts.texts,
        texts.labels,
        split.train,
        split.held_out,
        words=("text", "label"),
        answers=(texts.names(),),
    )
    checks = (_described(question, read, facts, texts), _split_check(facts, params))
    return Survey(checks, foresee(facts, params), examples)


def _unbuilt(question: Question) -> Survey:
    """The built-in corpus before its first use: nothing is wrong, and nothing exact is known."""
    params = question.params
    held_out = round(DOCS_TEXTS * params["held_out_fraction"])
    num_train = round((DOCS_TEXTS - held_out) * params["train_fraction"])
    facts = Facts(
        num_texts=DOCS_TEXTS,
        num_train=min(num_train, params["max_examples"] or num_train),
        num_held_out=held_out,
        num_labels=DOCS_LABELS,
        mean_characters=DOCS_CHARACTERS,
        is_estimated=True,
        **_sizes(params, DOCS_LABELS, question.datasets_dir),
    )
    found = f"{python_docs.NAME} is built at the first run, in 10 to 60 s; about {DOCS_TEXTS:,} texts."
    remedy = f"To build it now: python -m trainer datasets --build {python_docs.NAME}"
    return Survey((Check("dataset", TITLE, Verdict.NOTE, found, remedy),), foresee(facts, params))


def _sizes(params: dict[str, Any], num_labels: int, datasets_dir: Path) -> dict[str, int]:
    """Layers, width, heads and weights of the model asked for; guessed where it must be fetched first."""
    if params["model"] == SCRATCH:
        weights, embeddings = scratch_weights(params, num_labels)
        return {
            "num_layers": params["num_layers"],
            "width": params["hidden_dim"],
            "num_heads": params["num_heads"],
            "num_weights": weights,
            "num_embeddings": embeddings,
        }
    try:
        folder = find_source(params["model"], roots=model_roots(datasets_dir)).folder
        if folder is None:
            return {**ASSUMED, "num_embeddings": ASSUMED["num_weights"] // 3}
        config, weights = read_config(folder), num_weights(folder)
    except ModelError:  # told by the suspicion that looks at the model
        return {**ASSUMED, "num_embeddings": ASSUMED["num_weights"] // 3}
    width = int(config.get("hidden_size") or config.get("dim") or ASSUMED["width"])
    return {
        "num_layers": int(config.get("num_hidden_layers") or config.get("n_layers") or ASSUMED["num_layers"]),
        "width": width,
        "num_heads": int(config.get("num_attention_heads") or config.get("n_heads") or ASSUMED["num_heads"]),
        "num_weights": weights,
        "num_embeddings": min(weights // 2, int(config.get("vocab_size") or 0) * width),
    }


def _described(question: Question, read: _Read, facts: Facts, texts: LabelledTexts) -> Check:
    counts = Counter(texts.labels)
    about = "About " if facts.is_estimated else ""
    found = f"{about}{facts.num_texts:,} texts with {len(counts)} labels"
    found += f" in {round(len(set(texts.groups)) * read.scale):,} groups ({read.counted})."
    details: dict[str, Any] = {
        "path": question.dataset,
        "texts": facts.num_texts,
        "how": read.counted,
        "groups": len(set(texts.groups)),
        "mean_characters": round(facts.mean_characters, 1),
        "labels": dict(counts.most_common(SHOWN_LABELS)),
        "num_labels": len(counts),
        "first": [
            {"id": texts.ids[row], "label": texts.labels[row], "text": texts.texts[row][:SHOWN_CHARACTERS]}
            for row in range(min(3, len(texts)))
        ],
    }
    return Check("dataset", TITLE, Verdict.OK, found, "", details)


def _split_check(facts: Facts, params: dict[str, Any]) -> Check:
    """How the texts are divided, which whole groups may make impossible to do as asked."""
    wanted = params["held_out_fraction"]
    share = facts.num_held_out / max(1, facts.num_texts)
    about = "About " if facts.is_estimated else ""
    found = f"{about}{facts.num_train:,} to train on, {facts.num_held_out:,} held out ({share:.1%})"
    details = {"train": facts.num_train, "held_out": facts.num_held_out}
    if not 0.5 * wanted <= share <= 2.0 * wanted:
        found += f", where {wanted:.0%} was asked for: groups stay whole, some large or labels rare"
        remedy = "Use smaller groups, or add texts of the rare labels."
        return Check("split", "Split", Verdict.WARNING, f"{found}.", remedy, details)
    return Check("split", "Split", Verdict.OK, f"{found}, each label in proportion.", "", details)


def _silent(detail: str, fraction: float) -> None:
    """Nobody waits long enough to be told how far the reading is."""
