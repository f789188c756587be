"""Two snapshots beside each other, and the dynamics of all, in a browser: a story that is known."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard import Dashboard
from tests.e2e.snapshots import upload_to

pytestmark = [pytest.mark.browser, pytest.mark.process]

DATASET: Final = "odd name <b>"
STEPS: Final = (0, 500, 1000)
HOSTILE: Final = '<img src=x onerror="alert(1)"> \u202e\x1b[31m'
# per example whether it is right at each step, and its losses
STORY: Final[dict[str, tuple[str, tuple[float, float, float]]]] = {
    "always": ("111", (0.2, 0.2, 0.1)),
    "early": ("011", (3.0, 0.5, 0.4)),
    "late": ("001", (3.0, 2.5, 0.5)),
    "later by far": ("001", (5.0, 4.9, 0.2)),
    "lost": ("010", (2.0, 0.4, 2.6)),
    "never": ("000", (4.0, 4.0, 4.0)),
}


def content(step: int, story: dict[str, tuple[str, tuple[float, float, float]]]) -> dict[str, Any]:
    """A snapshot of a language model, as a trainer writes it."""
    at = STEPS.index(step)
    right = [told[at] == "1" for told, _ in story.values()]
    losses = [loss[at] for _, loss in story.values()]
    return {
        "format": 1, "task": "causal_lm", "dataset": DATASET, "step": step, "epoch": at, "t": 1.7e9 + step,
        "model_version": f"made@{step}", "probe_set": "story", "cost_s": 0.1,
        "columns": {"loss": losses, "correct": [float(one) for one in right],
                    "similarity": [float(one) for one in right]},
        "outputs": [
            {"output": f"the {'right' if one else 'wrong'} answer {HOSTILE}"} for one in right
        ],
        "documents": {},
        "probes": {"hash": "story", "examples": [
            {"example_id": name, "input": f"Question of {name}? {HOSTILE}",
             "expected_output": f"the right answer {HOSTILE}", "group": "all", "gold": None}
            for name in story
        ]},
        "summary": {"avg_loss": sum(losses) / len(losses), "accuracy": sum(right) / len(right),
                    "total_examples": len(right), "correct": sum(right),
                    "incorrect": len(right) - sum(right)},
    }  # fmt: skip


@pytest.fixture(scope="session")
def told(dashboard: Dashboard, finished: str) -> tuple[str, str]:
    """Two runs on one dataset: the story, and one where everything is right; the second is the newer."""
    other = dashboard.create_run("stdlib.jsonl", name="the other run", max_steps=1, snapshot_budget=1.0)
    dashboard.wait_for_state(other, "finished", "failed", timeout_s=120)
    for step in STEPS:
        upload_to(dashboard, finished, content(step, STORY))
    upload_to(dashboard, other, content(1000, dict.fromkeys(STORY, ("111", (0.1, 0.1, 0.1)))))
    return finished, other


def address(dashboard: Dashboard, kind: str, query: str) -> str:
    """Of a page of this dataset."""
    return f"{dashboard.url}/evolution/odd%20name%20%3Cb%3E/{kind}?{query}"


def shown_ids(page: Page) -> list[str]:
    """The examples listed, from top to bottom."""
    ids = page.get_by_test_id("compared").evaluate_all("items => items.map(item => item.dataset.example)")
    return [str(one) for one in ids]


def test_what_broke_between_two_steps_is_a_sentence_and_a_list(
    page: Page, dashboard: Dashboard, told: tuple[str, str]
) -> None:
    page.goto(address(dashboard, "compare", f"run={told[0]}&from=500&to=1000"))
    expect(page.get_by_test_id("sentence")).to_have_text(
        "2 fixed, 1 broken, 2 still right, 1 still wrong between step 500 and step 1,000."
    )
    expect(page.locator("#accuracies")).to_contain_text(
        re.compile(r"The loss fell for \d+ and rose for \d+;")
    )
    expect(page.get_by_test_id("compared")).to_have_count(2)
    assert shown_ids(page) == ["later by far", "late"], "the largest change comes first"
    page.get_by_test_id("outcome-broken").click()
    expect(page.get_by_test_id("compared")).to_have_count(1)
    assert shown_ids(page) == ["lost"]
    diff = page.get_by_test_id("diff")
    expect(diff.locator("del")).to_have_text("right")
    expect(diff.locator("ins")).to_have_text("wrong")
    expect(diff).to_contain_text("<img src=x")
    expect(page).to_have_url(re.compile("show=broken"))
    page.reload()
    expect(page.get_by_test_id("outcome-broken")).to_have_attribute("aria-pressed", "true")
    page.get_by_test_id("compared").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/examples/lost\?run=.*step=1000"))


def test_other_steps_and_another_run_can_be_chosen(
    page: Page, dashboard: Dashboard, told: tuple[str, str]
) -> None:
    page.goto(address(dashboard, "compare", f"run={told[0]}"))
    sentence = page.get_by_test_id("sentence")
    expect(sentence).to_contain_text("3 fixed, 0 broken, 1 still right, 2 still wrong between step 0")
    page.get_by_test_id("from-step").select_option("500")
    expect(sentence).to_contain_text("2 fixed, 1 broken")
    page.get_by_test_id("run-to").select_option(told[1])
    expect(sentence).to_have_text(
        "3 fixed, 0 broken, 3 still right, 0 still wrong between step 500 of the whole way "
        "and step 1,000 of the other run."
    )
    page.get_by_role("button", name="Swap").click()
    expect(sentence).to_contain_text("0 fixed, 3 broken")
    expect(page.locator("#evolution-tabs a").first).to_have_attribute("href", re.compile(f"run={told[1]}"))


def test_which_examples_were_learned_last_and_which_never_is_told(
    page: Page, dashboard: Dashboard, told: tuple[str, str]
) -> None:
    page.goto(address(dashboard, "dynamics", f"run={told[0]}"))
    last = page.get_by_test_id("list-last_learned").get_by_role("listitem")
    expect(last).to_have_count(3)
    expect(last.nth(0)).to_contain_text("from step 1,000 on")
    expect(last.nth(2)).to_contain_text("Question of early")
    expect(page.get_by_test_id("list-hardest").get_by_role("listitem").first).to_contain_text("never")
    expect(page.get_by_test_id("list-most_forgotten").get_by_role("listitem")).to_have_text(
        [re.compile("Question of lost.*1 time")]
    )
    expect(page.get_by_test_id("category-learned")).to_contain_text("4")
    expect(page.get_by_test_id("field")).to_have_attribute("data-points", "6")
    page.get_by_test_id("category-learned").click()
    expect(page.get_by_test_id("field")).to_have_attribute("data-points", "2")
    expect(page.get_by_test_id("step-bars").locator("g")).to_have_count(3)


def test_a_point_of_the_dataset_map_opens_its_example(
    page: Page, dashboard: Dashboard, told: tuple[str, str]
) -> None:
    page.goto(address(dashboard, "dynamics", f"run={told[0]}"))
    field = page.get_by_test_id("field")
    expect(field).to_have_attribute("data-points", "6")
    box = field.bounding_box()
    assert box is not None
    # "never" has the least confidence, 0.018, and no variability: the lower left corner of the field
    spot = {"x": 46.0, "y": box["height"] - 38 - 0.018 * (box["height"] - 50)}
    field.hover(position=spot)  # type: ignore[arg-type]
    expect(page.get_by_test_id("field-hint")).to_contain_text("Question of never")
    field.click(position=spot)  # type: ignore[arg-type]
    expect(page).to_have_url(re.compile(r"/examples/never\?run="))
