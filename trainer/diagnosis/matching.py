"""Which signatures a log shows, and which of its words are only talk."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trainer.diagnosis.catalogue import compiled, signatures
from trainer.diagnosis.finding import Role, Signature
from trainer.diagnosis.log_text import Log
from trainer.diagnosis.tracebacks import Chain

_EXCEPTION_BEFORE: Final = re.compile(
    r"^\W*(?:\[?\w*rank\W?\d+\]?:?\s*)?(?:\w+\.)*\w*(?:Error|Exception|Warning)\b"
)
_GLOG_WARNING: Final = re.compile(r"\[W\w*[\d .:-]* ")
_TALK_BEFORE: Final = re.compile(
    r"\b(?:no(?! text)|(?<!could )(?<!can )(?<!Could )(?<!Can )not|never|if|when|whenever|unless"
    r"|without|against|avoids?|avoiding|prevents?"
    r"|fix(?:ed|es)?|handled?|handles"
    r"|handling|retry|retried|check(?:s|ed|ing)?|tests?|testing|like|such as|e\.g\.|known|recover(?:ed"
    r"|s)?|skip(?:ped)?"
    r"|caught|ignor(?:ed|ing)|expect(?:s|ed)?|simulat\w+|previous(?:ly)?|earlier|past|see|docs?|guard\w*"
    r"|example|watching"
    r"|monitor\w*|detect(?:or|ion)|search(?:ed|ing)?|grep|pattern|INFO|DEBUG)\b|(?<![-.\w])(?:0"
    r"|zero)\s+(?:\w+\s+){0,2}$|::test_",
    re.I,
)
_TALK_AFTER: Final = re.compile(
    r"\b(?:PASSED|SKIPPED|XFAIL|retrying|recovered|falling back|continuing|will retry|survived|handled"
    r"|not (?:found|seen"
    r"|detected)|none|avoided|prevented|resolved|successfully|\d+ passed)\b|:\s*(?:0|no|none|off|ok"
    r"|false)\b\s*$|\?\s*$"
)
_WARNING_BEFORE: Final = re.compile(r"\bWARN(?:ING)?\b")
_MOST: Final = 400
_VAGUE_RANK: Final = 1
_BEFORE_CHAIN: Final = 80


@dataclass(frozen=True)
class Match:
    """A signature and the lines of the log that show it, first to last."""

    signature: Signature
    lines: tuple[int, ...]
    is_vague: bool = False

    @property
    def rank(self) -> int:
        """How far in front it stands; vague words stand behind everything."""
        return _VAGUE_RANK if self.is_vague else self.signature.rank

    @property
    def first(self) -> int:
        return self.lines[0]

    @property
    def last(self) -> int:
        return self.lines[-1]


def matches_of(log: Log, *, chains: list[Chain]) -> list[Match]:
    """All signatures whose words are there in earnest, and were not survived."""
    raised = {index for chain in chains if not chain.noise for index in chain.exceptions}
    ignored = {index for chain in chains if chain.noise for index in range(chain.first, chain.last + 1)}
    found = []
    for signature in (one for one in signatures().values() if not one.in_stacks):
        for pattern in filter(None, (signature.pattern, signature.vague)):
            lines = _lines_of(log, signature, pattern, raised=raised) - ignored
            in_earnest = sorted(i for i in lines if signature.anywhere or not log.went_on_after(i))
            if in_earnest:
                found.append(Match(signature, tuple(in_earnest), is_vague=pattern is signature.vague))
                break
    return found


def near(match: Match, chain: Chain) -> bool:
    """Whether the match explains this traceback: inside it, printed shortly before it, or after it."""
    return any(index >= chain.first - _BEFORE_CHAIN for index in match.lines)


def _lines_of(log: Log, signature: Signature, pattern: str, *, raised: set[int]) -> set[int]:
    """Lines with these words in earnest; what a traceback ends with is no talk, however it is worded."""
    found: set[int] = set()
    start = 0 if signature.anywhere else log.start_of(log.survived_until)
    for count, hit in enumerate(compiled(pattern).finditer(log.text, start)):
        if count > _MOST:
            break
        index = log.line_at(hit.start())
        line = log.lines[index]
        column = hit.start() - log.start_of(index)
        if index in raised or not _is_talk(signature, line[:column], line[column + len(hit.group()) :]):
            found.add(index)
    return found


def _is_talk(signature: Signature, before: str, after: str) -> bool:
    """Whether a line mentions a failure instead of reporting one."""
    if _TALK_AFTER.search(after):
        return True
    if _EXCEPTION_BEFORE.match(before):
        return False
    if signature.role is not Role.WARNING and _WARNING_BEFORE.search(before):
        return True
    return bool(_TALK_BEFORE.search(before) or _GLOG_WARNING.search(before))
