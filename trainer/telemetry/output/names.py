"""Which names are metrics, and what they are called here.

A number is only believed to be a metric when its name is one people measure
(*known*), or when it stands beside one that is. The product's own names are
``train/loss``, ``eval/loss``, ``train/learning_rate``, ``train/grad_norm``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final


class Part(StrEnum):
    """Which examples a number was measured on."""

    TRAIN = "train"
    EVAL = "eval"
    TEST = "test"


_PARTS: Final = {
    **dict.fromkeys(("train", "training", "trn", "tr"), Part.TRAIN),
    **dict.fromkeys(
        ("val", "valid", "validation", "eval", "evaluation", "dev", "vl", "heldout", "held_out"), Part.EVAL
    ),
    **dict.fromkeys(("test", "testing"), Part.TEST),
}
_KNOWN: Final = re.compile(
    r"(?:\w+_)?loss(?:es)?(?:_\w+)?|logloss|nll|ppl|perplexity|bpc|bpb"
    r"|(?:\w+_)?acc(?:uracy)?(?:[@_]?\d+)?|top[-_]?\d+(?:_\w+)?|prec@?\d*|precision\w*|recall(?:[@_]\d+|\w*)"
    r"|(?:\w+_)?f1(?:_\w+)?|(?:\w+_)?auc(?:_\w+)?|mrr(?:@\d+)?|ndcg(?:@\d+)?|map(?:@?[\d.:]+(?:-\d+)?)?|(?:m)?iou"
    r"|dice\w*|psnr|ssim|(?:\w+_)?bleu\w*|rouge\w*|wer|cer|(?:r?mse|mae|mape)|err(?:or)?(?:_rate)?|r2"
    r"|(?:mean_|episode_|episodic_|avg_)?(?:reward|return)|elbo|fid|kl|mcc|logits_loss|(?:binary_|multi_)?logloss|rmsle|crps"
)  # fmt: skip
_NO_METRIC: Final = re.compile(
    r"loss_?(?:fn|func|function|type|name|weights?|scaler?|coef\w*|ratio|factor|lambda|alpha|kwargs|reduction|mode)"
    r"|\w+_loss_?(?:fn|func|function|type|weights?|scale|coef\w*|ratio|factor|lambda|alpha|reduction)"
    r"|(?:best|target|min|max|baseline|required|expected|final|old|prev|previous|threshold)_\w+|\w+_threshold"
)
_OUR_NAMES: Final = {
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "gnorm": "grad_norm",
    "grad_norm": "grad_norm",
    "gradient_norm": "grad_norm",
    "acc": "accuracy",
    "ppl": "perplexity",
}
_NEVER: Final = frozenset(
    {
        "epoch", "epochs", "step", "steps", "iter", "iters", "iteration", "iterations", "it", "global_step",
        "num_updates", "update", "updates", "batch", "batch_idx", "eta", "elapsed", "remaining", "v_num",
        "seed", "rank", "local_rank", "line", "pid", "size", "total", "max_steps", "num_epochs",
        "total_steps", "time", "iter_time", "step_time", "total_time", "train_time", "dt",
        "total_t", "episode_num", "episode_t",
        "timestamp", "date", "version", "port", "id", "current_iteration", "total_flos", "consumed_samples",
    }
)  # fmt: skip
_TALK: Final = frozenset(
    {
        *(
            "the",
            "a",
            "an",
            "is",
            "was",
            "of",
            "our",
            "your",
            "we",
            "this",
            "that",
            "with",
            "and",
            "or",
            "to",
        ),
        *("from", "for", "if", "no", "not", "expect", "expected", "best", "lowest", "highest", "target"),
        *("final", "previous", "last", "improved", "minimum", "maximum", "max", "min"),
    }
)
_LEADING: Final = re.compile(
    r"^(?:average|avg\.?|mean|running|current|cur|smoothed|mini_?batch|batch|step)_(?=\w)"
)
_TRAILING: Final = re.compile(r"^(?P<stem>[a-z]\w*?)[_/](?P<part>train|training|val|valid|validation)$")
_SETTINGS_WE_SHOW: Final = frozenset({"lr", "learning_rate", "gnorm", "grad_norm", "gradient_norm"})
_SIGNS: Final = re.compile(r"[^\w@/.:-]+")
MAX_NAME: Final = 100


@lru_cache(maxsize=4096)
def is_known(key: str) -> bool:
    """Whether ``key``, as printed, is the name of something people measure.

    Of several words the last must be one: ``lm loss``, and not ``loss is``.
    """
    words = key.split()
    if len(words) > 1:
        if words[-1].lower() in _PARTS:  # "loss train"
            words.pop()
        if _TALK & {word.lower() for word in words} or not (is_known(words[-1]) or _is_of_boosting(words)):
            return False
    _, stem = split_part(key)
    return bool(_KNOWN.fullmatch(stem) or _is_of_boosting(words)) and not _NO_METRIC.fullmatch(stem)


@lru_cache(maxsize=4096)
def is_ours(key: str) -> bool:
    """Whether ``key`` is a name we know that is no metric by itself: learning rate, gradient norm."""
    return split_part(key)[1] in _SETTINGS_WE_SHOW


def part_named(key: str) -> Part | None:
    """The part that ``key`` is the whole name of, as in ``loss train: 0.5, val: 0.6``."""
    return _PARTS.get(key.lower())


def _is_of_boosting(words: list[str]) -> bool:
    """``valid_0's l2``, as LightGBM says it."""
    return len(words) == 2 and words[0].endswith("'s") and words[1] in ("l1", "l2")


@lru_cache(maxsize=4096)
def split_part(key: str) -> tuple[Part | None, str]:
    """The part a printed name speaks of, None where it does not say, and the rest as an identifier.

    ``Average val loss`` is ``(EVAL, "loss")``, ``eval_runtime`` ``(EVAL, "runtime")``.
    """
    stem = _SIGNS.sub("_", key.strip().lower().replace("'s", "")).strip("_-.:/")
    part = None
    for _ in range(4):  # "avg_train_loss" and "train_avg_loss" alike
        shorter = _LEADING.sub("", stem)
        match = re.match(r"([a-z]+?)(?:_?\d*)[_/-]+(?=[a-z])", shorter)
        found = _PARTS.get(match[1]) if match and part is None else None
        if match is not None and found is not None:
            part, shorter = found, shorter[match.end() :]
        if shorter == stem:
            break
        stem = shorter
    if part is None and (behind := _TRAILING.match(stem)) is not None and _KNOWN.fullmatch(behind["stem"]):
        part, stem = _PARTS[behind["part"]], behind["stem"]
    return part, stem


@lru_cache(maxsize=4096)
def metric_name(key: str, *, default: Part = Part.TRAIN) -> str | None:
    """What the number printed as ``key`` is called here; None where it is a place or a clock."""
    part, stem = split_part(key)
    stem = stem.replace("-", "_") if "/" not in stem else stem
    if not stem or stem in _NEVER or len(stem) > MAX_NAME or not stem[0].isalpha():
        return None
    stem = stem.removesuffix("_step") or stem  # Lightning's name of what is measured at a step
    return f"{(part or default).value}/{_OUR_NAMES.get(stem, stem)}"
