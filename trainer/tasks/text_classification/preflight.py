"""What can be told of a text classification run before it starts; loads no training library."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.language.fitness import misfits
from trainer.language.hub import REMEDY, prospect
from trainer.language.sources import SCRATCH, ModelError, find_source, model_roots
from trainer.preflight import numbers
from trainer.preflight.declaration import RecipePreflight, Suspicion
from trainer.preflight.judging import judged, outlook_of, smoke_params, unusable
from trainer.preflight.outlook import Examples, Survey
from trainer.preflight.question import Question
from trainer.tasks.text_classification.survey import survey

FEW: Final = 10  # examples of a label; from fewer a model learns them by heart
LOPSIDED: Final = 0.8  # of all examples have one label
HIGH_RATE_TRAINED, LOW_RATE_SCRATCH = 3e-4, 1e-4
SHOWN: Final = 5


def look_at_model(question: Question, known: Survey) -> list[Check]:
    """Whether the model can be used, and whether its parameters suit it."""
    params, title = question.params, "Model"
    try:
        source = find_source(params["model"], roots=model_roots(question.datasets_dir))
    except ModelError as exc:
        remedy = "Choose a folder with config.json, model.safetensors and a tokenizer, or scratch."
        return [Check("model", title, Verdict.PROBLEM, unusable(exc), remedy)]
    if source.kind == SCRATCH:
        return [_judge_scratch(params)]
    known_of_hub = prospect(source)
    if known_of_hub.trouble:
        found = unusable(known_of_hub.trouble)
        return [Check("model", title, Verdict.PROBLEM, found, REMEDY)]
    source = known_of_hub.source
    if source.folder is not None:
        try:
            unfit = misfits(source.folder, params, writes=False)
        except ModelError as exc:
            return [Check("model", title, Verdict.PROBLEM, unusable(exc), REMEDY)]
        if unfit:
            verdict = Verdict.PROBLEM if unfit[0].is_fatal else Verdict.WARNING
            return [Check("model", title, verdict, f"{unfit[0].found}.", unfit[0].remedy)]
    if params["learning_rate"] > HIGH_RATE_TRAINED:
        found = (
            f"learning_rate is {params['learning_rate']:g}, which makes a trained model forget what it knows."
        )
        return [Check("model", title, Verdict.WARNING, found, "Set learning_rate to 5e-5 or less.")]
    if source.kind == "hub":
        found = f"{source.name} is fetched from the hub when the run starts"
        if known_of_hub.doubt:
            return [Check("model", title, Verdict.WARNING, f"{found}, but {known_of_hub.doubt}.", REMEDY)]
        return [Check("model", title, Verdict.NOTE, f"{found}; nothing of it is known before.")]
    return [Check("model", title, Verdict.OK, f"{source.name} has all its files.")]


def look_at_labels(question: Question, known: Survey) -> list[Check]:
    """Rare labels, one that outweighs all, and ones that differ in writing only."""
    if known.examples is None:
        return []
    counts = Counter(known.examples.outputs)
    said, remedies = [], []
    twins = _twins(counts)
    if twins:
        shown = "; ".join(" and ".join(repr(one) for one in some) for some in twins[:SHOWN])
        said.append(f"labels differ in case or white space only: {shown}")
        remedies.append(f"join them: label_aliases {twins[0][1]}={twins[0][0]}")
    rare = [label for label, count in counts.items() if count < FEW]
    if rare:
        shown = ", ".join(f"{label!r} ({counts[label]})" for label in rare[:SHOWN])
        said.append(f"{len(rare)} of {len(counts)} labels have fewer than {FEW} texts: {shown}")
        remedies.append("add texts of them, or join them with label_aliases")
    most, count = counts.most_common(1)[0]
    total = counts.total()
    if count > LOPSIDED * total and question.params["class_weights"] == "none":
        said.append(f"{count / total:.0%} of the texts are {most!r}, so always saying so is right that often")
        remedies.append("set class_weights to balanced and judge by macro_f1")
    details = {"labels": len(counts), "most_frequent": most, "share": round(count / total, 4)}
    fine = f"{len(counts)} labels; always answering {most!r} would be right in {count / total:.0%}."
    return [judged("labels", "Labels", said, remedies, fine=fine, details=details)]


def look_at_measures(question: Question, known: Survey) -> list[Check]:
    """Probes and patience against the held-out side."""
    params, outlook = question.params, outlook_of(known)
    said, remedies = [], []
    if params["num_probes"] > outlook.num_held_out:
        said.append(
            f"{params['num_probes']:,} probes were asked for; {outlook.num_held_out:,} examples are held out"
        )
        remedies.append(f"set num_probes to {outlook.num_held_out:,} or less, or raise held_out_fraction")
    evaluations = outlook.total_steps // max(1, outlook.eval_every)
    if params["patience"] and params["patience"] >= max(1, evaluations):
        said.append(
            f"patience is {params['patience']} and there are {evaluations} evaluations: it never stops early"
        )
        remedies.append("lower patience, or evaluate more often")
    if known.examples is not None and params["unseen_labels"] == "allow":
        missing = _never_measured(known.examples)
        if missing:
            said.append(f"{len(missing)} labels are never measured: {', '.join(missing[:SHOWN])}")
            remedies.append("add texts of them in other groups")
    return [judged("measures", "Measures", said, remedies, fine="There is enough held out for them.")]


def _judge_scratch(params: Mapping[str, Any]) -> Check:
    if params["lora_rank"]:
        found = "LoRA trains little beside frozen weights, and those of a model from scratch know nothing."
        return Check(
            "model", "Model", Verdict.WARNING, found, "Set lora_rank to 0, or choose a trained model."
        )
    if params["learning_rate"] < LOW_RATE_SCRATCH:
        found = f"learning_rate is {params['learning_rate']:g}: from scratch this learns very slowly."
        return Check("model", "Model", Verdict.WARNING, found, "Set learning_rate to 1e-3.")
    return Check("model", "Model", Verdict.OK, "It is made from scratch, with a tokenizer of its own.")


def _twins(counts: Mapping[str, int]) -> list[list[str]]:
    """Labels that are one but for case and white space, the most frequent way of writing first."""
    by_folded: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        by_folded["".join(label.split()).casefold()].append(label)
    return [sorted(some, key=lambda one: -counts[one]) for some in by_folded.values() if len(some) > 1]


def _never_measured(examples: Examples) -> list[str]:
    measured = {examples.outputs[row] for row in examples.held_out.tolist()}
    return sorted({examples.outputs[row] for row in examples.train.tolist()} - measured)


PREFLIGHT: Final = RecipePreflight(
    survey=survey,
    suspicions=(
        Suspicion("model", "Model", look_at_model),
        Suspicion("numbers", numbers.TITLE, numbers.look),
        Suspicion("labels", "Labels", look_at_labels),
        Suspicion("measures", "Measures", look_at_measures),
    ),
    smoke=smoke_params,
)
