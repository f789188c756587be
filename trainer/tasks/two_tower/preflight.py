"""What can be told of a two-tower run before it starts: parameters against the dataset.

Loads no training library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from trainer.datasets.records import DatasetError
from trainer.environment.doctor.check import Check, Verdict
from trainer.language.fitness import is_encoder_decoder, misfits
from trainer.language.sources import ModelError, find_source, is_offline, model_roots, read_config
from trainer.preflight import judging
from trainer.preflight.declaration import RecipePreflight, Suspicion
from trainer.preflight.judging import judged, outlook_of
from trainer.preflight.outlook import Outlook, Survey
from trainer.preflight.question import Question
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.two_tower.encoder_sizes import uses_encoder
from trainer.tasks.two_tower.forecast import plan_of
from trainer.tasks.two_tower.preflight_files import TITLE, look_at_files
from trainer.tasks.two_tower.survey import survey
from trainer.tasks.two_tower.weight_source import kind_of, misfit, source_of

_TEXT_ONLY: Final = (
    *("num_buckets", "ngram", "max_features", "embedding_learning_rate"),
    *("model", "encoder", "encoder_learning_rate", "max_length", "num_heads", "vocab_size"),
)
_WORDS_ONLY: Final = ("num_buckets", "ngram", "max_features", "embedding_learning_rate", "dropout")
_VECTORS_ONLY: Final = (
    *("bank_file", "num_layers", "bidirectional"),
    *("document_tower", "query_tower", "p_cache_file"),
)


# measured, see docs/two-tower.md
BANK_AT_ONCE: Final = "on 3,000 pairs mrr@10 0.02, and 0.19 with a bank from epoch 1"


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
    has_encoder = query_shape is None and uses_encoder(params)
    if has_encoder:
        problem = _encoder_problem(question)
        if problem is not None:
            return [problem]
    problem = _first_weights_problem(question, is_vectors=query_shape is not None)
    if problem is not None:
        return [problem]
    other = _without_effect(params, is_vectors=query_shape is not None, has_encoder=has_encoder)
    idle = [name for name in other if params[name] != TwoTowerParams.model_fields[name].default]
    if idle:
        kind = (
            "vectors" if query_shape is not None else "texts, read by an encoder" if has_encoder else "texts"
        )
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


def _without_effect(params: Mapping[str, Any], *, is_vectors: bool, has_encoder: bool) -> tuple[str, ...]:
    """Parameters of another kind of input or tower."""
    if is_vectors:
        shared = (params["query_tower"], params["document_tower"]) == ("mlp", "mlp")
        return _TEXT_ONLY if shared else (*_TEXT_ONLY, "share_towers")
    if has_encoder:
        return (*_WORDS_ONLY, *(name for name in _VECTORS_ONLY if name != "num_layers"))
    return _VECTORS_ONLY


def _encoder_problem(question: Question) -> Check | None:
    """What keeps the encoder from being used, as far as its files tell."""
    name = question.params["model"]
    try:
        source = find_source(name, roots=model_roots(question.datasets_dir))
    except ModelError as exc:
        remedy = "Name a folder that save_pretrained has written, a hub id, scratch, or words."
        return Check("model", "Model against dataset", Verdict.PROBLEM, f"{exc}.", remedy, {"model": name})
    if source.kind == "hub" and is_offline():
        found = f"{name} is fetched from the hub, and HF_HUB_OFFLINE is set: it must be in the cache already."
        return Check("model", "Model against dataset", Verdict.NOTE, found, "", {"model": name})
    return None if source.folder is None else _unfit(source.folder, question.params)


def _unfit(folder: Path, params: Mapping[str, Any]) -> Check | None:
    """What does not fit between the encoder's files and the parameters."""
    title, details = "Model against dataset", {"model": params["model"]}
    try:
        if is_encoder_decoder(read_config(folder)):
            found, remedy = f"{params['model']} has an encoder and a decoder.", "Name an encoder alone."
            return Check("model", title, Verdict.PROBLEM, found, remedy, details)
        unfit = misfits(folder, params, writes=False)
    except ModelError as exc:
        remedy = "Name a folder whose files are whole, or scratch, or words."
        return Check("model", title, Verdict.PROBLEM, f"{exc}.", remedy, details)
    if not unfit:
        return None
    return Check("model", title, Verdict.PROBLEM, f"{unfit[0].found}.", unfit[0].remedy, details)


def _first_weights_problem(question: Question, *, is_vectors: bool) -> Check | None:
    """What keeps the run from beginning with the weights of another one."""
    wish, params = question.params["init_from"], question.params
    if not wish:
        return None
    try:
        source = source_of(wish, runs_dir=question.runs_dir)
        found = misfit(source, params, kind_of(is_vectors=is_vectors, model=params["model"]))
    except DatasetError as exc:
        found = str(exc)
    if found is None:
        return None
    remedy = "Name a run of the same towers that has a checkpoint, or clear init_from."
    details = {"init_from": wish}
    return Check("model", "Model against dataset", Verdict.PROBLEM, f"{found}.", remedy, details)


def look_at_negatives(question: Question, known: Survey) -> list[Check]:
    """Mining and same-group negatives against what there is to choose from."""
    params, outlook = question.params, outlook_of(known)
    said, remedies = [], []
    plan = plan_of(params)
    if plan.first_epoch is not None:
        num_epochs = _num_epochs(params, outlook)
        if plan.first_epoch >= num_epochs:
            said.append(
                f"near misses are looked for from epoch {plan.first_epoch} on, counted from 0, and "
                f"the run has {num_epochs}: never"
            )
            begin = "let the curriculum begin earlier" if params["curriculum"] else "lower mine_from_epoch"
            remedies.append(f"{begin}, or train longer")
        pool = max(1, outlook.num_train)
        if params["mine_depth"] >= pool:
            said.append(
                f"near misses are drawn from the best {params['mine_depth']:,} of about {pool:,} documents: "
                "from all of them, near or not"
            )
            remedies.append(f"set mine_depth to {max(plan.most, pool // 20):,} or less")
    details = _dataset_details(known)
    for found, remedy in _of_the_bank(params, _num_epochs(params, outlook), details):
        said.append(found)
        remedies.append(remedy)
    groups, num_pairs = details.get("groups"), details.get("pairs")
    if params["group_negatives"] and groups is not None and groups == num_pairs:
        said.append("every pair is a group of its own, so group_negatives finds no other document")
        remedies.append("set group_negatives to 0, or add a group column")
    return [
        judged("negatives", "Negatives", said, remedies, fine="There are enough documents to choose from.")
    ]


def _of_the_bank(
    params: Mapping[str, Any], num_epochs: int, details: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """What is wrong with the memory bank, and what helps."""
    is_fixed = details.get("document_dim") is not None and params["document_tower"] == "identity"
    if not params["memory_bank"] or is_fixed:
        return
    first = params["memory_bank_from_epoch"]
    if first >= num_epochs:
        found = (
            f"the memory bank begins in epoch {first}, counted from 0, and the run has {num_epochs}: never"
        )
        yield found, "lower memory_bank_from_epoch, or train longer"
    if first == 0 and (params["margin"] or not params["symmetric"]):
        found = (
            "memory_bank keeps vectors of a document tower that changes fastest at the beginning; from the "
            "first step on, with a margin or without symmetric, the loss falls by moving away from what is "
            f"old, which finds nothing, for epochs or for good ({BANK_AT_ONCE})"
        )
        yield found, "set memory_bank_from_epoch to 1, or use document_tower identity"


def look_at_measures(question: Question, known: Survey) -> list[Check]:
    """Probes and the deciding measure against the held-out side."""
    params, outlook = question.params, outlook_of(known)
    said, remedies = [], []
    if params["num_probes"] > outlook.num_held_out:
        said.append(
            f"{params['num_probes']:,} probes were asked for; {outlook.num_held_out:,} examples are held out"
        )
        remedies.append(f"set num_probes to {outlook.num_held_out:,} or less, or raise held_out_fraction")
    candidates = _num_candidates(params, known)
    depth = int(params["best_metric"].partition("@")[2] or 0)
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
    return [judged("measures", "Measures", said, remedies, fine="There is enough held out for them.")]


def smoke_params(params: Mapping[str, Any], num_steps: int) -> dict[str, Any]:
    """A run of a few steps that mines, evaluates, takes snapshots and saves."""
    return {
        **judging.smoke_params(params, num_steps),
        "mine_from_epoch": 0,
        "memory_bank_from_epoch": 0,
        "curriculum": _mined_at_once(params),
        "export": False,
        "stop_below_floors": False,
    }


def _mined_at_once(params: Mapping[str, Any]) -> str:
    """The curriculum's largest stage from the first epoch on, whatever the cosines: a few steps must mine."""
    if not params["curriculum"]:
        return ""
    most = plan_of(params).most
    return f"0-:{most}" if most else "0-:none"


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


PREFLIGHT: Final = RecipePreflight(
    survey=survey,
    suspicions=(
        Suspicion("model", "Model against dataset", look_at_model),
        Suspicion("negatives", "Negatives", look_at_negatives),
        Suspicion("near_misses", TITLE, look_at_files),
        Suspicion("measures", "Measures", look_at_measures),
    ),
    smoke=smoke_params,
)
