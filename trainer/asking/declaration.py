"""What a recipe gives so that its trained models can be asked; loads no training library.

A recipe names ``Recipe.answerer = "module:function"`` and, where its question
is more than one text, ``Recipe.question``.  The function is an
:data:`OpenAnswerer`; it is imported and called in the process that answers only.

The page draws an answer by its ``kind``; an answerer may add further keys:

``ranking``
    ``{"kind": "ranking", "documents": [{"id", "title", "text", "score"}], "num_candidates"}``, best first.
``labels``
    ``{"kind": "labels", "label", "labels": [{"label", "probability"}]}``, most probable first.
``completion``
    ``{"kind": "completion", "prompt", "completion", "num_tokens", "ended"}``, where ``ended`` is ``end`` (the
    model had said all) or ``length`` (it was cut).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, cast

from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.questions import QuestionError, QuestionField

__all__ = ["KINDS", "Answerer", "OpenAnswerer", "QuestionError", "QuestionField", "Tell", "answerer_of"]

KINDS: Final = ("ranking", "labels", "completion")

Tell = Callable[[str, float], None]  # what is being done, for a person; share done 0..1


class Answerer(Protocol):
    """A trained model that is ready to be asked; used by one thread."""

    def answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question whose parts are complete and typed as the recipe declares them.

        Returns:
            Plain JSON types, with ``kind`` as the module says; NaN and infinities become null.

        Raises:
            QuestionError: this question has no answer; the message says what helps. Anything else
                counts as a fault of the model or of the program, and is told as such.
        """


OpenAnswerer = Callable[[RunSpec, RunPaths, Path, Tell], Answerer]
"""Called as ``open_answerer(spec, paths, checkpoint, tell)``.

``spec`` has the parameters the checkpoint was trained with; ``checkpoint`` is a
file whose bytes were verified against its manifest.  Whatever it raises is told
to the person, so messages name the place and the remedy.
"""


def answerer_of(declaration: str) -> OpenAnswerer:
    """The function called ``module:function``.

    Raises:
        TypeError: it names something that cannot be called.
    """
    module, _, name = declaration.partition(":")
    declared = getattr(importlib.import_module(module), name)
    if not callable(declared):
        raise TypeError(f"{declaration} is no function that opens a model to be asked")
    return cast(OpenAnswerer, declared)
