"""Any log over REST: the same findings as on the command line."""

from __future__ import annotations

from tests.app.routes.api_rig import Api


def test_a_pasted_log_is_diagnosed(api: Api) -> None:
    asked = {"text": "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n", "exit_code": 1}
    answer = api.call("POST", "/api/diagnose", asked)
    assert answer.status_code == 200
    assert [finding["id"] for finding in answer.get_json()["findings"]] == ["cuda_oom"]
    stopped = api.call("POST", "/api/diagnose", {**asked, "stopped_by_user": True})
    assert stopped.get_json() == {"findings": []}


def test_too_long_a_log_is_refused(api: Api) -> None:
    assert api.call("POST", "/api/diagnose", {"text": "x" * 1_000_001}).status_code in (413, 422)
    assert api.call("POST", "/api/diagnose", {"text": 5}).status_code == 422
