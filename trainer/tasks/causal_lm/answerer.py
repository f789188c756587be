"""A trained language model that is asked: how it goes on from a prompt.

It needs the run's tokenizer, kept in the run's folder, and nothing of the dataset.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor

from trainer.asking.declaration import QuestionError, Tell
from trainer.engine import checkpoints, devices
from trainer.language import precision
from trainer.language.completion import Pick, complete, greedy
from trainer.language.loading import fetched, keep_quiet, load_tokenizer
from trainer.language.sources import ModelError, ModelSource, find_source, model_roots
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.causal_lm import CausalLmParams
from trainer.tasks.causal_lm.model import LanguageModel, build_model
from trainer.tasks.causal_lm.rendering import chat_prompt
from trainer.tasks.causal_lm.train import tokenizer_folder


class CausalLmAnswerer:
    """Implements :class:`trainer.asking.declaration.Answerer`."""

    def __init__(self, model: LanguageModel, *, kind: str, prompt_end: str) -> None:
        """Prepare.

        Args:
            model: trained, in evaluation mode.
            kind: what it was trained on, see :class:`trainer.datasets.conversations.Conversations`.
            prompt_end: the white space at the end of every prompt it was trained on.
        """
        self._model, self._kind, self._prompt_end = model, kind, prompt_end

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The completion of ``prompt``."""
        model, prompt = self._model, self._prompt(str(question["prompt"]))
        ids = model.tokenizer.backend_tokenizer.encode(
            prompt, add_special_tokens=self._kind != "messages"
        ).ids
        while ids and ids[-1] in model.end_ids:
            ids.pop()  # added by the tokenizer: a prompt has not ended
        if len(ids) >= model.max_length:
            raise QuestionError(
                "prompt", f"has {len(ids):,} tokens and the model reads {model.max_length:,}; shorten it"
            )
        with torch.inference_mode():
            written = complete(
                model.step,
                [ids],
                max_new_tokens=min(int(question["max_tokens"]), model.max_length - len(ids)),
                max_length=model.max_length,
                end_ids=model.end_ids,
                pad_id=int(model.tokenizer.pad_token_id or 0),
                device=model.device,
                pick=_pick(float(question["temperature"]), int(question["seed"])),
            )[0]
        return {
            "kind": "completion",
            "prompt": str(question["prompt"]),
            "completion": str(model.tokenizer.decode(written.ids, skip_special_tokens=True)),
            "num_tokens": len(written.ids),
            "ended": "end" if written.has_ended else "length",
        }

    def _prompt(self, text: str) -> str:
        """``text`` as the prompts of the training were written."""
        if self._kind == "messages":
            try:
                return chat_prompt(self._model.tokenizer, text)
            except TemplateError as exc:
                raise QuestionError("prompt", f"the model's chat template refuses it: {exc}") from exc
        return text if text.endswith(self._prompt_end) else text + self._prompt_end


def open_answerer(spec: RunSpec, paths: RunPaths, checkpoint: Path, tell: Tell) -> CausalLmAnswerer:
    """The model of ``checkpoint``, ready to be asked.

    Raises:
        ModelError: the tokenizer or the model under a LoRA run is not there any more.
        CheckpointError: the checkpoint cannot be read.
    """
    keep_quiet()
    params = CausalLmParams.model_validate(spec.params)
    folder = tokenizer_folder(paths)
    if not folder.is_dir():
        raise ModelError(f"{folder}: the run's tokenizer is not there; start the run once more to write it")
    tell("loading the tokenizer", 0.0)
    tokenizer = load_tokenizer(ModelSource("folder", folder.name, folder))
    source = fetched(find_source(params.model, roots=model_roots(Path(spec.datasets_dir))), tell)
    device = devices.pick(params.device)
    tell("building the model", 0.3)
    numbers = precision.choose(params.precision, device)
    model = build_model(source, tokenizer, params, device=device, precision=numbers, tell=tell)
    tell(f"loading {checkpoint.name}", 0.7)
    state = checkpoints.load(checkpoint)
    model.saved.load_state_dict(state["modules"]["model"])
    model.model.eval()
    task = state["task"]
    return CausalLmAnswerer(model, kind=str(task["kind"]), prompt_end=str(task["prompt_end"]))


def _pick(temperature: float, seed: int) -> Pick:
    if temperature <= 0:
        return greedy
    generator = torch.Generator().manual_seed(seed)

    def draw(logits_BV: Tensor) -> Tensor:
        probabilities = torch.softmax(logits_BV.double().cpu() / temperature, dim=-1)
        return torch.multinomial(probabilities, 1, generator=generator)[:, 0].to(logits_BV.device)

    return draw
