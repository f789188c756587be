"""A causal language model as the engine sees it: batches, loss, evaluation, probes, export."""

from __future__ import annotations

import copy
import dataclasses
import logging
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from torch import nn
from torch.nn import functional
from torch.optim import Optimizer

from trainer.datasets.records import DatasetError, Tell
from trainer.engine.task import LossOutput, ProbeAnswers
from trainer.protocol.probe_files import AddedProbe, ProbeRowError
from trainer.protocol.run_folder import RunSpec
from trainer.recipes.causal_lm import CausalLmParams
from trainer.recipes.pinned_probes import pinned_ids
from trainer.tasks.causal_lm.added_probes import refused_prompts, with_prompts
from trainer.tasks.causal_lm.asking import ASKED_AT_ONCE, completions, perplexity, token_log_probabilities
from trainer.tasks.causal_lm.batches import Batch, Batches
from trainer.tasks.causal_lm.examples import prompt_end
from trainer.tasks.causal_lm.exporting import export
from trainer.tasks.causal_lm.material import Material
from trainer.tasks.causal_lm.model import LanguageModel, build_optimizers
from trainer.tasks.causal_lm.probes import answer_probes, choose_probes, describe_probes

log = logging.getLogger(__name__)
_EVALUATING: Final = 9  # stream of random numbers
_SMOKE_PROMPTS, _SMOKE_TOKENS = 4, 16
_SHOWN_CHARACTERS: Final = 100
_ASKED_PER_TRAINED: Final = 4  # without gradients an example takes a fraction of the memory
_CHEAP_FLOP: Final = 1e11  # about a second on two cores


class CausalLmTask:
    """Implements :class:`trainer.engine.task.Task` and :class:`trainer.engine.task.LeavesAnExport`."""

    name = "language_model"

    def __init__(
        self, material: Material, model: LanguageModel, params: CausalLmParams, *, fingerprint: str
    ) -> None:
        """Prepare.

        Args:
            material: the dataset.
            model: what is trained.
            params: the recipe's parameters.
            fingerprint: of tokenizer and base model; a resumed run must find the same.
        """
        self._material, self._model, self._params = material, model, params
        self._fingerprint = fingerprint
        self._batches = Batches(
            material.sequences,
            material.train,
            batch_size=params.batch_size,
            seed=params.seed,
            pad_id=int(model.tokenizer.pad_token_id or 0),
            pack_length=params.max_length if params.packing else 0,
        )
        self._optimizers = build_optimizers(model.model, params)
        self._chance_loss = math.log(model.vocab_size)
        self._probes = choose_probes(
            material,
            count=params.num_probes,
            seed=params.seed,
            max_reference=params.probe_tokens,
            pinned=pinned_ids(params.pinned_probes),
        )
        self._evaluated = _chosen_for_evaluation(material, params)
        self._asked_at_once = min(ASKED_AT_ONCE, _ASKED_PER_TRAINED * params.batch_size)

    @property
    def num_rows(self) -> int:
        """Rows of an epoch: examples, or packed rows."""
        return self._batches.num_rows

    @property
    def evaluates(self) -> bool:
        """Whether held-out examples are measured at all."""
        return self._params.evaluate

    @property
    def is_cheap_to_evaluate(self) -> bool:
        """Whether an evaluation takes about a second at most, on any machine."""
        num_weights = sum(parameter.numel() for parameter in self._model.model.parameters())
        tokens = sum(len(self._material.sequences[number].ids) for number in self._evaluated.tolist())
        return 2.0 * num_weights * tokens < _CHEAP_FLOP

    def modules(self) -> dict[str, nn.Module]:
        """The model; a checkpoint of a LoRA run holds what was added only."""
        return {"model": self._model.saved}

    def optimizers(self) -> list[Optimizer]:
        """AdamW."""
        return self._optimizers

    def num_micro_batches(self, epoch: int) -> int:
        """Batches of an epoch, the same for every epoch."""
        return self._batches.num_batches

    def micro_batches(self, epoch: int, *, start: int, every: int = 1) -> Iterator[Batch]:
        """The batches of ``epoch`` from number ``start`` on."""
        return self._batches.batches(epoch, start=start, every=every)

    def loss(self, micro_batch: Batch) -> LossOutput:
        """Mean cross-entropy of the learned tokens, in nats."""
        logits_PV = self._model.logits(micro_batch)
        targets = micro_batch.targets.to(logits_PV.device, non_blocking=True)
        return LossOutput(
            loss=functional.cross_entropy(logits_PV, targets),
            chance_loss=self._chance_loss,
            num_examples=micro_batch.num_examples,
            extra={
                "masked_share": 1.0 - len(targets) / micro_batch.num_tokens,
                "padding_share": micro_batch.padding_share,
            },
            weight=float(len(targets)),
            num_tokens=micro_batch.num_tokens,
        )

    def backward(self, micro_batch: Batch, *, weighed: bool) -> LossOutput:
        """Loss and gradients of one batch; in fp16 the way back is scaled, the gradients are not."""
        output = self.loss(micro_batch)
        total = output.loss * (output.share if weighed else 1.0) * self._model.loss_scale
        total.backward()  # type: ignore[no-untyped-call]
        return dataclasses.replace(output, loss=output.loss.detach())

    def begin_epoch(self, epoch: int, tell: Tell) -> None:
        """Nothing to prepare."""

    def evaluate(self, tell: Tell) -> dict[str, float]:
        """Loss, perplexity and the share guessed right, over the learned tokens of held-out examples.

        Also writes a few completions: ``empty_completions`` is the share of those in which nothing came.
        """
        scores = token_log_probabilities(
            self._model,
            [self._material.sequences[number] for number in self._evaluated.tolist()],
            at_once=max(1, self._params.batch_size),
            tell=lambda fraction: tell("reading held-out examples", 0.9 * fraction),
        )
        loss = -float(np.concatenate([one.log_probabilities for one in scores]).mean())
        tell("writing completions", 0.9)
        return {
            "loss": loss,
            "perplexity": perplexity(loss),
            "accuracy": float(np.concatenate([one.is_first for one in scores]).mean()),
            "empty_completions": self._smoke_test(),
        }

    def probes(self) -> list[dict[str, Any]]:
        """The fixed held-out examples."""
        return describe_probes(self._material, self._probes, self._model)

    def probe(self) -> ProbeAnswers:
        """Complete the probes, and ask how probable their references are."""
        return answer_probes(
            self._model, self._probes, max_new_tokens=self._params.probe_tokens, at_once=self._asked_at_once
        )

    def refused_probes(self, probes: Sequence[AddedProbe]) -> list[ProbeRowError]:
        """The rows that are too long for the model, or that its template refuses."""
        return refused_prompts(self._material, self._model, probes)

    def with_probes(self, probes: Sequence[AddedProbe]) -> CausalLmTask:
        """The same model with other prompts; what each expects is how it should go on.

        Raises:
            ProbeRowError: one of them is too long for the model.
        """
        other = copy.copy(self)
        other._material, other._probes = with_prompts(self._material, self._model, probes)
        return other

    def export(self, folder: Path, *, run: RunSpec, step: int, metrics: dict[str, float], tell: Tell) -> None:
        """The model as a Hugging Face folder, LoRA merged into it."""
        tell("exporting the model", 0.0)
        export(folder, self._model, run=run, step=step, metrics=metrics, params=self._params)

    def state_dict(self) -> dict[str, Any]:
        """What the weights belong to."""
        return {
            "content_hash": self._material.conversations.content_hash,
            "fingerprint": self._fingerprint,
            "kind": self._material.conversations.kind,
            "prompt_end": prompt_end(self._material.conversations),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of :meth:`state_dict`.

        Raises:
            DatasetError: dataset, tokenizer or base model are not those the state was made with.
        """
        name = self._material.conversations.name
        mine = self.state_dict()
        for key, what in (
            ("content_hash", f"{name} has changed"),
            ("fingerprint", "the tokenizer or the model under it has changed"),
        ):
            if state[key] != mine[key]:
                raise DatasetError(
                    f"{what} since the checkpoint was written, so the run cannot go on as if nothing had "
                    "happened; put the old file back, or start a new run"
                )

    def _smoke_test(self) -> float:
        """Share of a few prompts to which the model writes nothing at all; logs the first answer."""
        prompts = [probe.prompt_ids for probe in self._probes[:_SMOKE_PROMPTS]]
        written = completions(self._model, prompts, max_new_tokens=_SMOKE_TOKENS, at_once=self._asked_at_once)
        first = str(self._model.tokenizer.decode(written[0].ids, skip_special_tokens=True))
        log.info("a completion now: %r", first[:_SHOWN_CHARACTERS])
        return sum(1 for one in written if not one.ids) / len(written)


def _chosen_for_evaluation(material: Material, params: CausalLmParams) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Held-out sequences, always the same; all where that is what is asked for."""
    held_out = material.held_out
    if not params.eval_examples or len(held_out) <= params.eval_examples:
        return held_out
    rng = np.random.default_rng([params.seed, _EVALUATING])
    chosen = rng.choice(held_out, size=params.eval_examples, replace=False)
    return np.asarray(np.sort(chosen), dtype=np.int64)
