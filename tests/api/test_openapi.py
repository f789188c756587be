"""The OpenAPI document is complete, and the API keeps what it says, whatever is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import BaseSchema, checks
from schemathesis.core.result import Ok

from tests.app.routes.api_rig import Api, open_api, report_points, report_snapshot

EXAMPLES_PER_OPERATION = 12
FUZZING = settings(
    max_examples=EXAMPLES_PER_OPERATION,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# Whether a recipe, a dataset or a parameter exists is beyond what a JSON schema can say, so valid-looking
# bodies may be refused; and an unknown parameter of a query string is ignored on purpose.
SEMANTIC_CHECKS = [
    checks.positive_data_acceptance,
    checks.negative_data_rejection,
    checks.ensure_resource_availability,
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    opened = open_api(tmp_path_factory.mktemp("openapi") / "instance")
    run_id = opened.new_run()
    report_points(opened, run_id, [1.0, 2.0])
    report_snapshot(opened, run_id, 5, num_correct=1)
    yield opened
    opened.parts.store.close()


@pytest.fixture(scope="module")
def document(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = api.get("/openapi.json")
    return found


@pytest.fixture(scope="module")
def api_schema(api: Api) -> BaseSchema:
    host = api.parts.settings.base_url.removeprefix("http://")
    return schemathesis.openapi.from_wsgi("/openapi.json", api.app, headers={"Host": host})


def test_every_address_keeps_what_the_document_says(api: Api, api_schema: BaseSchema) -> None:
    headers = {
        "Host": api.parts.settings.base_url.removeprefix("http://"),
        "Authorization": f"Bearer {api.token}",
    }
    operations = list(api_schema.get_all_operations())
    assert len(operations) > 30
    for found in operations:
        assert isinstance(found, Ok), found
        operation = found.ok()

        @given(case=operation.as_strategy())
        @FUZZING
        def ask(case: Any) -> None:
            case.call_and_validate(headers=headers, excluded_checks=SEMANTIC_CHECKS)

        ask()


def test_every_api_address_is_in_the_document(api: Api, document: dict[str, Any]) -> None:
    for rule in api.app.url_map.iter_rules():
        if not rule.rule.startswith("/api/"):
            continue
        path = re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", r"{\1}", rule.rule)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            assert method.lower() in document["paths"].get(path, {}), f"{method} {path}"


def test_every_operation_says_who_may_call_it_what_it_answers_and_how_it_fails(
    document: dict[str, Any],
) -> None:
    ids = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            place = f"{method} {path}"
            ids.append(operation["operationId"])
            assert operation["summary"], place
            assert operation["x-scope"] in ("anonymous", "viewer", "owner", "run"), place
            assert bool(operation["security"]) == (operation["x-scope"] != "anonymous"), place
            assert any(status.startswith("2") for status in operation["responses"]), place
            assert {"401", "403", "404", "422"} <= operation["responses"].keys(), place
    assert len(ids) == len(set(ids))


def test_credentials_are_described(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes["token"]["scheme"] == "bearer"
    assert schemes["session"]["in"] == "cookie"


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    known = document["components"]["schemas"]
    for reference in re.findall(r"#/components/schemas/([^'\"]+)", str(document)):
        assert reference in known, reference
