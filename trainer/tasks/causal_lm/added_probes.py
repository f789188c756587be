"""Prompts that people add: written as those of the training, each with how it should go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jinja2 import TemplateError

from trainer.protocol.probe_files import AddedProbe, ProbeRowError, refused_by
from trainer.tasks.causal_lm.examples import prompt_end
from trainer.tasks.causal_lm.material import Material
from trainer.tasks.causal_lm.model import LanguageModel
from trainer.tasks.causal_lm.probes import Probe
from trainer.tasks.causal_lm.rendering import chat_prompt


def refused_prompts(
    material: Material, model: LanguageModel, probes: Sequence[AddedProbe]
) -> list[ProbeRowError]:
    """The rows that are too long for the model, or that its template refuses."""
    return refused_by(lambda probe, row: _probe(material, model, probe, row - 1), probes)


def with_prompts(
    material: Material, model: LanguageModel, probes: Sequence[AddedProbe]
) -> tuple[Material, list[Probe]]:
    """``material`` with the names of the added probes, and the probes as tokens.

    Raises:
        ProbeRowError: one is too long for the model, or its template refuses it; names the row.
    """
    conversations = replace(
        material.conversations,
        ids=[probe.example_id for probe in probes],
        groups=[probe.group for probe in probes],
    )
    asked = [_probe(material, model, probe, place) for place, probe in enumerate(probes)]
    return replace(material, conversations=conversations), asked


def _probe(material: Material, model: LanguageModel, probe: AddedProbe, place: int) -> Probe:
    encode = model.tokenizer.backend_tokenizer.encode
    has_own_marks = material.conversations.kind == "messages"
    prompt = _prompt(material, model, probe, place)
    prompt_ids = list(encode(prompt, add_special_tokens=not has_own_marks).ids)
    while prompt_ids and prompt_ids[-1] in model.end_ids:
        prompt_ids.pop()  # added by the tokenizer: a prompt has not ended
    reference_ids = list(encode(probe.expected_output, add_special_tokens=False).ids)
    if not prompt_ids or not reference_ids:
        raise ProbeRowError(place + 1, "has no token of this model's language in one of its texts")
    total = len(prompt_ids) + len(reference_ids)
    if total > model.max_length:
        raise ProbeRowError(
            place + 1, f"has {total:,} tokens and the model reads {model.max_length:,}; shorten it"
        )
    return Probe(place, prompt_ids, reference_ids)


def _prompt(material: Material, model: LanguageModel, probe: AddedProbe, place: int) -> str:
    if material.conversations.kind == "messages":
        try:
            return chat_prompt(model.tokenizer, probe.input)
        except TemplateError as exc:
            raise ProbeRowError(place + 1, f"is refused by the model's chat template: {exc}") from exc
    end = prompt_end(material.conversations)
    return probe.input if probe.input.endswith(end) else probe.input + end
