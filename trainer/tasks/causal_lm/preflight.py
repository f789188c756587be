"""What can be told of a language model run before it starts: parameters against the dataset and the model.

Loads no training library.
"""

from __future__ import annotations

from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.language.fitness import Misfit, misfits
from trainer.language.hub import prospect
from trainer.language.sources import ModelError, find_source, model_roots
from trainer.preflight import numbers
from trainer.preflight.declaration import RecipePreflight, Suspicion
from trainer.preflight.judging import judged, outlook_of, smoke_params
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.tasks.causal_lm.survey import survey


def look_at_lengths(question: Question, known: Survey) -> list[Check]:
    """Tokens of the examples against ``max_length``."""
    params, facts = question.params, _details(known, "dataset")
    longest, cut_share = facts.get("tokens_p99"), facts.get("longer_share", 0.0)
    if longest is None:
        return []
    if facts.get("unlearnable_share", 0.0) >= 1.0:
        found = f"Every prompt fills max_length {params['max_length']} alone, so no answer is left to learn."
        remedy = f"Raise max_length to {longest:,}, or shorten the prompts."
        return [Check("lengths", "Lengths", Verdict.PROBLEM, found, remedy)]
    said = f"About {facts['tokens_p50']:,} tokens in the middle example, {longest:,} in the longest hundredth"
    if cut_share > 0.01:
        found = f"{said}; {cut_share:.0%} of the examples are longer than max_length {params['max_length']}"
        if facts["unlearnable_share"] > 0.0:
            found += f", {facts['unlearnable_share']:.0%} by their prompts alone, and will be left out"
        remedy = f"What is longer is cut off at its end: raise max_length to {longest:,}, or shorten them."
        return [Check("lengths", "Lengths", Verdict.WARNING, f"{found}.", remedy)]
    if params["max_length"] > 4 * longest and params["packing"] is False:
        return [Check("lengths", "Lengths", Verdict.OK, f"{said}; batches are padded to their longest.")]
    return [Check("lengths", "Lengths", Verdict.OK, f"{said}.")]


def look_at_model(question: Question, known: Survey) -> list[Check]:
    """The model's settings: whether they can work, and whether they are wise."""
    params = question.params
    found, remedies = [], []
    for misfit in _misfits(question):
        if misfit.is_fatal:
            return [Check("model", "Model", Verdict.PROBLEM, f"{misfit.found}.", misfit.remedy)]
        found.append(misfit.found)
        remedies.append(misfit.remedy.rstrip("."))
    is_scratch = params["model"].strip() == "scratch"
    if is_scratch and params["lora_rank"]:
        found.append("LoRA leaves a model from scratch as random as it was made")
        remedies.append("set lora_rank to 0, or name a trained model")
    if not is_scratch and not params["lora_rank"] and params["learning_rate"] > 2e-4:
        found.append(f"a learning rate of {params['learning_rate']:g} forgets what a trained model knows")
        remedies.append("2e-5 suits a full fine-tune, 2e-4 LoRA")
    return [judged("model", "Model", found, remedies, fine="The model's settings fit each other.")]


def look_at_measures(question: Question, known: Survey) -> list[Check]:
    """Probes, batches and patience against the dataset."""
    params, outlook = question.params, outlook_of(known)
    found, remedies = [], []
    if params["batch_size"] > outlook.num_train:
        found.append(
            f"batch_size is {params['batch_size']:,} and there are {outlook.num_train:,} examples to train on"
        )
        remedies.append(f"set batch_size to {max(1, outlook.num_train // 4):,} or add examples")
    if params["num_probes"] > outlook.num_held_out:
        found.append(
            f"{params['num_probes']:,} probes were asked for; {outlook.num_held_out:,} examples are held out"
        )
        remedies.append(f"set num_probes to {outlook.num_held_out:,} or less, or raise held_out_fraction")
    if not params["evaluate"]:
        found.append("evaluation is off: nothing will say how the model does on examples it has not seen")
        remedies.append("set evaluate to true, or eval_every to a large number to measure at the end only")
    evaluations = outlook.total_steps // max(1, outlook.eval_every)
    if params["patience"] and params["patience"] >= max(1, evaluations):
        found.append(
            f"patience is {params['patience']} and there are {evaluations} evaluations: it never stops early"
        )
        remedies.append("lower patience, or evaluate more often")
    return [judged("measures", "Measures", found, remedies, fine="There is enough held out for them.")]


def _misfits(question: Question) -> list[Misfit]:
    """What does not fit between the parameters and the folder of the model, where it is here already."""
    try:
        source = prospect(
            find_source(question.params["model"], roots=model_roots(question.datasets_dir))
        ).source
        return [] if source.folder is None else misfits(source.folder, question.params, writes=True)
    except ModelError as exc:
        return [Misfit(str(exc), "Name a folder whose files are whole, or scratch.")]


def _details(known: Survey, name: str) -> dict[str, Any]:
    return next((check.details for check in known.checks if check.id == name), {})


PREFLIGHT: Final = RecipePreflight(
    survey=survey,
    suspicions=(
        Suspicion("lengths", "Lengths", look_at_lengths),
        Suspicion("model", "Model", look_at_model),
        Suspicion("numbers", numbers.TITLE, numbers.look),
        Suspicion("measures", "Measures", look_at_measures),
    ),
    smoke=smoke_params,
)
