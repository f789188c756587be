"""``/api/diagnose``: why a training died, told from its log, also of runs Signalbox never saw."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from app.routes.answers import FindingListAnswer
from app.routes.inputs import takes_body
from app.routes.replies import reply
from app.routes.requests import DiagnosisRequest
from app.security.access import requires
from trainer.diagnosis.diagnose import diagnose
from trainer.diagnosis.evidence import Evidence, exit_of
from trainer.protocol.rungs import in_words

bp = APIBlueprint("diagnosis_api", __name__, url_prefix="/api/diagnose")


@bp.post("")
@requires("owner")
@takes_body(DiagnosisRequest)
@bp.output(FindingListAnswer)
@bp.doc(tags=["Run details"])
def diagnose_log(body: DiagnosisRequest) -> Response:
    """Tell from a log why a training died, best first; nothing is stored."""
    code, number = exit_of(body.exit_code, platform=body.platform)
    evidence = Evidence(
        log=body.text,
        exit_code=code,
        signal=number,
        stop_requested=body.stopped_by_user,
        platform=body.platform,
    )
    found = diagnose(evidence)
    return reply({"findings": [{**one.to_json(), "rungs_in_words": in_words(one.rungs)} for one in found]})
