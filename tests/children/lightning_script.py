"""A user's script: Lightning trains a small classifier until it is stopped, and reports by the callback."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytorch_lightning as lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from trainer.telemetry.integrations.lightning import SignalboxCallback

FEATURES = 4


class Report(SignalboxCallback, lightning.Callback):
    """Made one of the library's own, as the docs say."""


class Sign(lightning.LightningModule):
    """Whether the features add up to more than nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(FEATURES, 2)

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        features, labels = batch
        loss = torch.nn.functional.cross_entropy(self.layer(features), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        features, labels = batch
        self.log("val_loss", torch.nn.functional.cross_entropy(self.layer(features), labels))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def answer(model: Any, probes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Which of the two it takes each probe for."""
    features = torch.tensor([[float(word) for word in str(probe["input"]).split()] for probe in probes])
    labels = torch.tensor([int(probe["expected_output"]) for probe in probes])
    logits = model.layer(features)
    losses = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    return [
        {"output": str(said), "loss": loss}
        for said, loss in zip(logits.argmax(-1).tolist(), losses.tolist(), strict=True)
    ]


def main() -> None:
    """Train."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    features = torch.randn(64, FEATURES)
    data = TensorDataset(features, (features.sum(-1) > 0).long())
    probes = [
        {"input": " ".join(f"{value:.2f}" for value in row.tolist()), "expected_output": str(int(label))}
        for row, label in (data[place] for place in range(4))
    ]
    trainer = lightning.Trainer(
        max_epochs=100_000, accelerator="cpu", logger=False, enable_checkpointing=False,
        default_root_dir=sys.argv[1], callbacks=[Report(probes=probes, answer=answer)],
    )  # fmt: skip
    trainer.fit(Sign(), DataLoader(data, 4, shuffle=True), DataLoader(data, 16))


if __name__ == "__main__":
    main()
