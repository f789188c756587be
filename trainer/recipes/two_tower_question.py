"""What a trained two-tower model is asked."""

from __future__ import annotations

from typing import Final

from trainer.recipes.questions import QuestionField

EVALUATION: Final = "evaluation documents"
ALL: Final = "all documents"

QUESTION: Final = (
    QuestionField(
        "query",
        "Find",
        "What is looked for, in words; in a dataset of vectors, the id of a pair whose query is taken.",
        type="line",
        most_characters=4000,
    ),
    QuestionField("count", "Documents", "How many to show.", type="int", default=10, minimum=1, maximum=100),
    QuestionField(
        "among",
        "Among",
        "The documents it was never trained on, or all of the dataset.",
        type="choice",
        default=EVALUATION,
        choices=(EVALUATION, ALL),
    ),
)
