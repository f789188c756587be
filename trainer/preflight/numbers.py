"""Whether the numbers a run wants to calculate with are any good on the device it would get."""

from __future__ import annotations

from typing import Final

from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight import device
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question

TITLE: Final = "Precision"


def look(question: Question, survey: Survey) -> list[Check]:
    """fp16 anywhere but on a CUDA GPU: losses there overflow without an error."""
    if question.params["precision"] != "fp16":
        return []
    name = question.device
    if name == "auto" and question.platform == "darwin":
        name = "mps"
    elif name == "auto" and not device.could_accelerate(question):
        name = "cpu"
    if name not in ("cpu", "mps"):
        return []
    found = f"fp16 on {name} overflows to NaN or 0 without any error."
    return [Check("numbers", TITLE, Verdict.PROBLEM, found, "Set precision to auto, fp32 or bf16.")]
