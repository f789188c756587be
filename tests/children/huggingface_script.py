"""A user's script: a tiny language model from scratch, trained by the Hugging Face Trainer.

``huggingface_script FOLDER plain`` prints, as such scripts do; ``callback`` reports through the callback.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from trainer.telemetry.integrations.huggingface import SignalboxCallback

VOCABULARY = 16


class Counting(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Sequences that count upwards from anywhere: learnt at once."""

    def __init__(self, num_rows: int) -> None:
        self._num_rows = num_rows

    def __len__(self) -> int:
        return self._num_rows

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = torch.arange(index, index + 8) % VOCABULARY
        return {"input_ids": ids, "labels": ids}


def answer(model: Any, probes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Continue each number by one."""
    assert not model.training
    torch.rand(3)  # whoever draws here must not change the training
    found = []
    for probe in probes:
        logits = model(input_ids=torch.tensor([[int(probe["input"])]])).logits[0, -1]
        target = torch.tensor(int(probe["expected_output"]))
        loss = torch.nn.functional.cross_entropy(logits, target)
        found.append({"output": str(int(logits.argmax())), "loss": float(loss)})
    return found


def main() -> None:
    """Train."""
    folder, way = Path(sys.argv[1]), sys.argv[2]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=16, n_embd=16, n_layer=1, n_head=2)
    args = TrainingArguments(
        output_dir=str(folder / "out"), max_steps=20 if way == "plain" else 100_000, logging_steps=5,
        eval_strategy="steps", eval_steps=10, save_strategy="steps", save_steps=10, save_total_limit=2,
        per_device_train_batch_size=4, learning_rate=0.01, use_cpu=True, report_to=[],
        dataloader_pin_memory=False,
    )  # fmt: skip
    probes = [{"input": str(n), "expected_output": str(n + 1)} for n in range(4)]
    callbacks: list[Any] = [] if way == "plain" else [SignalboxCallback(probes=probes, answer=answer)]
    Trainer(
        model=GPT2LMHeadModel(config), args=args, train_dataset=Counting(64), eval_dataset=Counting(16),
        callbacks=callbacks,
    ).train()  # fmt: skip


if __name__ == "__main__":
    main()
