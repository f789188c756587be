"""What a trained language model is asked."""

from __future__ import annotations

from typing import Final

from trainer.recipes.questions import QuestionField

QUESTION: Final = (
    QuestionField(
        "prompt",
        "Prompt",
        "What the model goes on from; written as the prompts it was trained on.",
        most_characters=32_000,
    ),
    QuestionField(
        "max_tokens", "Tokens", "Longest completion.", type="int", default=64, minimum=1, maximum=2048
    ),
    QuestionField(
        "temperature",
        "Temperature",
        "0 always takes the most probable token; 1 draws as the model thinks.",
        type="float",
        default=0.0,
        minimum=0.0,
        maximum=5.0,
    ),
    QuestionField(
        "seed",
        "Seed",
        "The same seed draws the same completion.",
        type="int",
        default=0,
        minimum=0,
        maximum=2**31,
    ),
)
