"""The recipes of :mod:`benchmarks.recipes`, each at two sizes, on the built-in corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from benchmarks.recipe_sides import Contender
from trainer.datasets import python_docs
from trainer.datasets.records import TextPairs
from trainer.engine import seeding
from trainer.engine.task import Task
from trainer.recipes.causal_lm import CausalLmParams
from trainer.recipes.registry import recipes, validate
from trainer.recipes.text_classification import TextClassificationParams
from trainer.recipes.two_tower import TwoTowerParams
from trainer.tasks.causal_lm import train as causal_lm
from trainer.tasks.causal_lm.model import build_model
from trainer.tasks.causal_lm.task import CausalLmTask
from trainer.tasks.text_classification import train as text_classification
from trainer.tasks.two_tower import train as two_tower
from trainer.tasks.two_tower.material import from_texts
from trainer.tasks.two_tower.model import text_towers
from trainer.tasks.two_tower.task import TwoTowerTask

CPU: Final = torch.device("cpu")
LARGER: Final[dict[str, dict[str, Any]]] = {
    "two_tower": {"dim": 256, "hidden_dim": 1024},
    "text_classification": {"num_layers": 4, "hidden_dim": 256, "num_heads": 8},
    "causal_lm": {"num_layers": 4, "hidden_dim": 256, "num_heads": 8},
}
_ALWAYS: Final[dict[str, Any]] = {"device": "cpu", "num_probes": 1}


def parameters(recipe: str, size: str) -> dict[str, Any]:
    """Those of the ``demo`` preset, or of the larger model, checked; ``size`` is ``demo`` or ``larger``."""
    demo = next(preset for preset in recipes()[recipe].presets if preset.name == "demo")
    changes = {**demo.params, **(LARGER[recipe] if size == "larger" else {}), **_ALWAYS}
    if recipe == "two_tower":
        changes["export"] = False
    if recipe == "text_classification":
        changes["dropout"] = 0.0  # the sides draw random numbers in different orders
    return validate(recipes()[recipe], changes)


class TwoTower(Contender):
    """Bags of hashed words against each other."""

    recipe = "two_tower"

    def __init__(self, size: str, datasets_dir: Path) -> None:
        self._params = TwoTowerParams.model_validate(parameters(self.recipe, size))
        pairs = two_tower.read_dataset(python_docs.NAME, datasets_dir=datasets_dir, tell=_silent)
        if not isinstance(pairs, TextPairs):
            raise TypeError("the corpus holds texts")
        self._material = from_texts(pairs, self._params, cache=datasets_dir / "features", tell=_silent)

    def task(self) -> Task:
        """Towers with the seed's weights."""
        seeding.seed_everything(self._params.seed)
        return TwoTowerTask(self._material, text_towers(self._params, CPU), self._params)

    def plain_loss(self, task: Any, batch: Any) -> Tensor:
        """Both directions of InfoNCE."""
        towers = task.modules()
        query, document = towers["query_tower"](*batch.query), towers["document_tower"](*batch.document)
        logits = query @ document.T / self._params.temperature
        if batch.masked_BN is not None:
            logits = logits.masked_fill(batch.masked_BN, -torch.inf)
        target = torch.arange(len(query))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


class TextClassification(Contender):
    """A small encoder."""

    recipe = "text_classification"

    def __init__(self, size: str, datasets_dir: Path) -> None:
        self._params = TextClassificationParams.model_validate(parameters(self.recipe, size))
        texts = text_classification.read_dataset(
            python_docs.NAME, self._params, datasets_dir=datasets_dir, tell=_silent
        )
        self._prepared = text_classification.Prepared(
            texts, self._params, datasets_dir=datasets_dir, tell=_silent
        )

    def task(self) -> Task:
        """A classifier with the seed's weights."""
        return self._prepared.task(CPU, _silent)

    def model(self, task: Any) -> nn.Module:
        """The encoder with its head."""
        found: nn.Module = task.modules()["classifier"]
        return found

    def plain_loss(self, task: Any, batch: Any) -> Tensor:
        """Cross-entropy."""
        logits = self.model(task)(input_ids=batch.ids, attention_mask=batch.mask).logits
        return F.cross_entropy(logits, batch.labels)

    def for_trainer(self, batch: Any) -> dict[str, Tensor]:
        """Named as the model names them."""
        return {"input_ids": batch.ids, "attention_mask": batch.mask, "labels": batch.labels}


class CausalLm(Contender):
    """A small decoder."""

    recipe = "causal_lm"

    def __init__(self, size: str, datasets_dir: Path) -> None:
        self._params = CausalLmParams.model_validate(parameters(self.recipe, size))
        self._prepared = causal_lm.prepare(
            python_docs.NAME, self._params, datasets_dir=datasets_dir, tell=_silent
        )

    def task(self) -> Task:
        """A model with the seed's weights."""
        prepared, params = self._prepared, self._params
        seeding.seed_everything(params.seed)
        model = build_model(
            prepared.source, prepared.tokenizer, params, device=CPU, precision="fp32", tell=_silent
        )
        return CausalLmTask(prepared.material, model, params, fingerprint=prepared.fingerprint)

    def model(self, task: Any) -> nn.Module:
        """The decoder."""
        found: nn.Module = task.modules()["model"].model
        return found

    def plain_loss(self, task: Any, batch: Any) -> Tensor:
        """Cross-entropy of the tokens that are learned; logits of no others."""
        found = self.model(task)(
            input_ids=batch.ids_BT, attention_mask=batch.mask_BT, position_ids=batch.position_BT,
            logits_to_keep=batch.predicts_BT, use_cache=False,
        )  # fmt: skip
        return F.cross_entropy(found.logits, batch.targets)

    def for_trainer(self, batch: Any) -> dict[str, Tensor]:
        """With labels, which the model shifts itself; -100 is not learned."""
        labels = torch.full_like(batch.ids_BT, -100)
        labels[:, 1:] = torch.where(batch.predicts_BT[:, :-1], batch.ids_BT[:, 1:], labels[:, 1:])
        return {
            "input_ids": batch.ids_BT, "attention_mask": batch.mask_BT, "position_ids": batch.position_BT,
            "labels": labels,
        }  # fmt: skip


MAKERS: Final[dict[str, Callable[[str, Path], Contender]]] = {
    "two_tower": TwoTower,
    "text_classification": TextClassification,
    "causal_lm": CausalLm,
}


def _silent(detail: str, fraction: float) -> None:
    """Nobody waits for it."""
