"""What can be told of a two-tower run before it starts: parameters against the dataset.

Loads no training library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.declaration import RecipePreflight, Suspicion
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.survey import survey

_TEXT_ONLY: Final = ("num_buckets", "ngram", "max_features", "share_towers", "embedding_learning_rate")
_VECTORS_ONLY: Final = ("num_layers", "bidirectional", "document_tower")


def look_at_model(question: Question, known: Survey) -> list[Check]:
    """Lengths of vectors against ``dim``, and parameters of the other kind of input."""
    facts = _dataset_details(known)
    params, title = question.params, "Model against dataset"
    document_dim, query_shape = facts.get("document_dim"), facts.get("query_shape")
    if document_dim is not None and params["document_tower"] == "identity" and params["dim"] != document_dim:
        found = f"document_vectors have length {document_dim}, and dim is {params['dim']}: an identity "
        found += "document tower needs both equal."
        remedy = f"Set dim to {document_dim}, or document_tower to linear."
        details = {"dim": params["dim"], "document_dim": document_dim}
        return [Check("model", title, Verdict.PROBLEM, found, remedy, details)]
    other = _TEXT_ONLY if query_shape is not None else _VECTORS_ONLY
    idle = [name for name in other if params[name] != TwoTowerParams.model_fields[name].default]
    if idle:
        kind = "vectors" if query_shape is not None else "texts"
        found = (
            f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect: the dataset holds {kind}."
        )
        return [Check("model", title, Verdict.NOTE, found, "", {"without_effect": idle})]
    if document_dim is not None and params["dim"] > document_dim:
        found = (
            f"dim is {params['dim']}, more than the {document_dim} of the document vectors: the rest adds "
        )
        found += "cost, not knowledge."
        return [Check("model", title, Verdict.NOTE, found, "", {"document_dim": document_dim})]
    return [Check("model", title, Verdict.OK, "The parameters fit the kind of input.")]


def look_at_negatives(question: Question, known: Survey) -> list[Check]:
    """Mining and same-group negatives against what there is to choose from."""
    params, outlook = question.params, _outlook(known)
    said, remedies = [], []
    if params["mined_negatives"]:
        num_epochs = _num_epochs(params, outlook)
        if params["mine_from_epoch"] >= num_epochs:
            said.append(
                f"near misses are looked for from epoch {params['mine_from_epoch']} on, counted from 0, and "
                f"the run has {num_epochs}: never"
            )
            remedies.append("lower mine_from_epoch, or train longer")
        pool = max(1, outlook.num_train)
        if params["mine_depth"] >= pool:
            said.append(
                f"near misses are drawn from the best {params['mine_depth']:,} of about {pool:,} documents: "
                "from all of them, near or not"
            )
            remedies.append(f"set mine_depth to {max(params['mined_negatives'], pool // 20):,} or less")
    details = _dataset_details(known)
    groups, num_pairs = details.get("groups"), details.get("pairs")
    if params["group_negatives"] and groups is not None and groups == num_pairs:
        said.append("every pair is a group of its own, so group_negatives finds no other document")
        remedies.append("set group_negatives to 0, or add a group column")
    return [_judged("negatives", "Negatives", said, remedies, "There are enough documents to choose from.")]


def look_at_measures(question: Question, known: Survey) -> list[Check]:
    """Probes and the deciding measure against the held-out side."""
    params, outlook = question.params, _outlook(known)
    said, remedies = [], []
    if params["num_probes"] > outlook.num_held_out:
        said.append(
            f"{params['num_probes']:,} probes were asked for; {outlook.num_held_out:,} examples are held out"
        )
        remedies.append(f"set num_probes to {outlook.num_held_out:,} or less, or raise held_out_fraction")
    candidates = _num_candidates(params, known)
    depth = int(params["best_metric"].rpartition("@")[2])
    if candidates is not None and candidates <= depth:
        said.append(
            f"{params['best_metric']} decides which checkpoint is best, and there are only {candidates:,} "
            "documents to find: it is close to 1 from the start"
        )
        remedies.append("set best_metric to mrr@10 or recall@1, or candidates to all")
    evaluations = outlook.total_steps // max(1, outlook.eval_every)
    if params["patience"] and params["patience"] >= max(1, evaluations):
        said.append(
            f"patience is {params['patience']} and there are {evaluations} evaluations: it never stops early"
        )
        remedies.append("lower patience, or evaluate more often")
    return [_judged("measures", "Measures", said, remedies, "There is enough held out for them.")]


def smoke_params(params: Mapping[str, Any], num_steps: int) -> dict[str, Any]:
    """A run of a few steps that mines, evaluates, takes snapshots and saves."""
    return {
        **params,
        "max_steps": num_steps,
        "mine_from_epoch": 0,
        "eval_every": 0,
        "checkpoint_every": 0,
        "patience": 0,
        "keep_checkpoints": 1,
    }


def _num_epochs(params: Mapping[str, Any], outlook: Outlook) -> int:
    if not params["max_steps"]:
        return int(params["num_epochs"])
    return -(-outlook.total_steps // max(1, outlook.steps_per_epoch))


def _num_candidates(params: Mapping[str, Any], known: Survey) -> int | None:
    if params["candidates"] == "all":
        return _dataset_details(known).get("documents")
    for check in known.checks:
        if check.id == "split":
            return int(check.details["candidates"])
    return None


def _dataset_details(known: Survey) -> dict[str, Any]:
    return next((check.details for check in known.checks if check.id == "dataset"), {})


def _outlook(known: Survey) -> Outlook:
    if known.outlook is None:
        raise ValueError("asked without an outlook")
    return known.outlook


def _judged(name: str, title: str, said: list[str], remedies: list[str], fine: str) -> Check:
    if not said:
        return Check(name, title, Verdict.OK, fine)
    found, remedy = "; ".join(said), "; ".join(remedies)
    return Check(
        name,
        title,
        Verdict.WARNING,
        f"{found[0].upper()}{found[1:]}.",
        f"{remedy[0].upper()}{remedy[1:]}.",
    )


PREFLIGHT: Final = RecipePreflight(
    survey=survey,
    suspicions=(
        Suspicion("model", "Model against dataset", look_at_model),
        Suspicion("negatives", "Negatives", look_at_negatives),
        Suspicion("measures", "Measures", look_at_measures),
    ),
    smoke=smoke_params,
)
