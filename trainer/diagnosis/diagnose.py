"""From evidence to findings, best first.

Precision before recall: a cause is named only when the log reports it in earnest and did not go on
afterwards; everything else that died is ``unknown``, with the log's own first and last words.
"""

from __future__ import annotations

from typing import Final

from trainer.diagnosis.crashes import crash_reading
from trainer.diagnosis.evidence import Evidence
from trainer.diagnosis.finding import Finding, Role
from trainer.diagnosis.log_text import Log
from trainer.diagnosis.matching import Match, matches_of, near
from trainer.diagnosis.memory import OOM_KILLER, killed_for_memory
from trainer.diagnosis.nothing_fits import unknown
from trainer.diagnosis.numerics import NAN_LOSS, ZERO_STEPS
from trainer.diagnosis.silent_ends import ended_in_nan, left_without_a_word, trained_nothing
from trainer.diagnosis.stuck import stuck_where
from trainer.diagnosis.tracebacks import Chain, chains_of, is_interrupt, main_chain

_SIGINT: Final = 2
_SIGKILL: Final = 9
_MOST_FINDINGS: Final = 4
_MOST_LINES: Final = 6
_LINE_CHARACTERS: Final = 400
_ROOT: Final = 6  # signatures of this rank explain a death although its traceback says something else


def diagnose(evidence: Evidence) -> list[Finding]:
    """Why it died, best first; empty where nothing went wrong or a person wanted the end."""
    if evidence.stop_requested:
        return []
    log = Log.of(evidence.log + ("\n" + evidence.stacks if evidence.stacks else ""))
    chains = chains_of(log)
    chain = main_chain(log, chains)
    if evidence.signal == _SIGINT or (chain is not None and is_interrupt(log, chain)):
        return []
    by_evidence = _beside_the_log(evidence, log)
    matches = [match for match in matches_of(log, chains=chains) if _counts(match, evidence, log, chain)]
    found = _ranked([match for match in matches if _is_cause(match)], log, chain)
    findings = _without_repeats([*by_evidence, *found])[:_MOST_FINDINGS]
    if findings or evidence.ended_well:
        return findings
    stuck = stuck_where(evidence, log)
    if stuck is not None:
        return [stuck]
    if chain is None and (crash := crash_reading(evidence, log)) is not None:
        return [crash]
    if evidence.left_silently:
        return [left_without_a_word(evidence, log, chain)]
    return _weaker(matches, evidence, log, chain)


def _beside_the_log(evidence: Evidence, log: Log) -> list[Finding]:
    """What figures prove without a word in the log."""
    found = []
    proof = killed_for_memory(evidence)
    if proof:
        sure = 0.97 if evidence.oom_kills_are_own else 0.8
        found.append(_finding(OOM_KILLER.id, Match(OOM_KILLER, ()), log, sure, said=(proof,)))
    if trained_nothing(evidence, log):
        found.append(_finding(ZERO_STEPS.id, Match(ZERO_STEPS, ()), log, 0.9, said=("steps done: 0",)))
    if evidence.last_loss_is_finite is False:
        found.append(
            _finding(NAN_LOSS.id, Match(NAN_LOSS, ()), log, 0.85, said=("the last loss is no number",))
        )
    return found


def _counts(match: Match, evidence: Evidence, log: Log, chain: Chain | None) -> bool:
    """Whether this match may explain this end."""
    signature = match.signature
    if signature is NAN_LOSS:
        return ended_in_nan(log, match.lines)
    if signature is ZERO_STEPS:
        return not any(index > match.last for index in log.progress)
    if evidence.ended_well:
        return signature.silent
    if chain is not None and evidence.signal != _SIGKILL and signature.rank < _ROOT:
        return near(match, chain)
    if chain is not None and signature.rank >= _ROOT:
        return near(match, chain) or signature.anywhere or signature.rank >= _ROOT + 2
    return True


def _is_cause(match: Match) -> bool:
    return match.signature.role in (Role.CAUSE, Role.HANG)


def _ranked(matches: list[Match], log: Log, chain: Chain | None) -> list[Finding]:
    """Roots before consequences; inside one chain the first exception, else what is nearest to the end."""

    def order(match: Match) -> tuple[int, int, int]:
        inside = chain is not None and any(chain.holds(index) for index in match.lines)
        return (-match.rank, 0 if inside else 1, match.first if inside else -match.last)

    ordered = sorted(matches, key=order)
    return [
        _finding(match.signature.id, match, log, 0.95 if place == 0 else round(0.5 / place, 2))
        for place, match in enumerate(ordered)
    ]


def _weaker(matches: list[Match], evidence: Evidence, log: Log, chain: Chain | None) -> list[Finding]:
    """No cause is known: symptoms, or ``unknown`` with what the log says, and warnings behind."""
    symptoms = sorted(
        (m for m in matches if m.signature.role is Role.SYMPTOM), key=lambda m: -m.signature.rank
    )
    warnings = [match for match in matches if match.signature.role is Role.WARNING]
    died = evidence.ended_badly or chain is not None
    telling = [match for match in symptoms if match.signature.rank > 0]
    found = [_finding(m.signature.id, m, log, 0.5) for m in telling if chain is None]
    if died and not found:
        found.append(unknown(evidence, log, chain))
    quiet = [match for match in symptoms if match not in telling] + warnings
    if chain is None and (evidence.ended_badly or not log.progress):
        found += [_finding(match.signature.id, match, log, 0.2) for match in quiet]
    return found[:_MOST_FINDINGS]


def _finding(name: str, match: Match, log: Log, confidence: float, *, said: tuple[str, ...] = ()) -> Finding:
    signature = match.signature
    lines = [log.lines[index].strip()[:_LINE_CHARACTERS] for index in match.lines]
    return Finding(
        id=name,
        cause=signature.cause,
        remedy=signature.remedy,
        confidence=confidence,
        lines=(*said, *dict.fromkeys(lines[-_MOST_LINES:])),
        source=signature.source,
        rungs=tuple(rung.value for rung in signature.rungs),
    )


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    return list({finding.id: finding for finding in reversed(findings)}.values())[::-1]
