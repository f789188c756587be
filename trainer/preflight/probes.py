"""Pinned and added probes against the dataset: what could not be asked is known before the training."""

from __future__ import annotations

from typing import Final

from trainer.datasets.pinned import pinned_rows
from trainer.datasets.records import DatasetError
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.outlook import Survey
from trainer.preflight.question import Question
from trainer.protocol.errors import ProtocolError
from trainer.protocol.launch_probes import named_probes
from trainer.protocol.probe_files import AddedProbe, ProbeRowError, refused_by
from trainer.recipes.pinned_probes import pinned_ids

TITLE: Final = "Probes"
SHOWN: Final = 3


def look(question: Question, survey: Survey) -> list[Check]:
    """Look for the pinned ids among what is held out, and at the rows of ``probe_file``."""
    if question.script:
        return []
    try:
        said = [*_pinned(question, survey), *_added(question, survey)]
    except DatasetError as exc:
        return [Check("probes", TITLE, Verdict.PROBLEM, f"{exc}.", "Or clear pinned_probes.")]
    except ProtocolError as exc:
        remedy = "Put that place right, or clear probe_file."
        return [Check("probes", TITLE, Verdict.PROBLEM, f"{exc}.", remedy)]
    return [Check("probes", TITLE, Verdict.OK, f"{', '.join(said)}.")] if said else []


def _pinned(question: Question, survey: Survey) -> list[str]:
    """What there is to say of the pinned ones.

    Raises:
        DatasetError: one does not exist, or is not held out.
    """
    wanted = pinned_ids(question.params.get("pinned_probes", ""))
    if not wanted:
        return []
    examples = survey.examples
    if examples is None or survey.outlook is None or survey.outlook.is_estimated:
        return [f"{len(wanted):,} pinned, looked for when the run starts"]
    pinned_rows(
        wanted,
        name="the dataset",
        ids=examples.ids,
        held_out=examples.held_out.tolist(),
        trained=examples.train.tolist(),
    )
    return [f"{len(wanted):,} pinned"]


def _added(question: Question, survey: Survey) -> list[str]:
    """What there is to say of the file's.

    Raises:
        ProtocolError: it cannot be read, or a row of it cannot be asked; names file and row.
    """
    found = named_probes(question.params, dataset=question.dataset, datasets_dir=question.datasets_dir)
    if found is None:
        return []
    refused = _refused(found, survey)
    if refused:
        shown = "; ".join(str(error) for error in refused[:SHOWN])
        more = f"; and {len(refused) - SHOWN:,} rows more" if len(refused) > SHOWN else ""
        raise ProtocolError(f"probe_file: {question.params['probe_file']}: {shown}{more}")
    return [f"{len(found):,} from {question.params['probe_file']}"]


def _refused(probes: list[AddedProbe], survey: Survey) -> list[ProbeRowError]:
    examples = survey.examples
    if examples is None or survey.outlook is None or survey.outlook.is_estimated:
        return []
    if examples.answers is None:
        return [ProbeRowError(1, "cannot be asked: the dataset holds vectors, and a probe is a text")]
    known = {text for texts in examples.answers for text in texts}

    def check(probe: AddedProbe, row: int) -> None:
        if known and probe.expected_output not in known:
            word = examples.words[1]
            raise ProbeRowError(
                row, f"{probe.expected_output[:60]!r} is no {word} of the dataset", field="expected_output"
            )

    return refused_by(check, probes)
