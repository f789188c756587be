"""What the two-tower answerer finds is what the run's own probes found with the same weights."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainer.tasks.two_tower.small_material import params, silent, vector_pairs
from trainer.asking.chosen import choose, file_of
from trainer.asking.declaration import QuestionError, answerer_of
from trainer.protocol.events import snapshot_name
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.questions import checked
from trainer.recipes.registry import recipes
from trainer.recipes.two_tower_question import ALL, EVALUATION, QUESTION
from trainer.tasks.two_tower.answerer import TwoTowerAnswerer, open_answerer
from trainer.tasks.two_tower.material import from_vectors
from trainer.tasks.two_tower.model import vector_towers

pytestmark = pytest.mark.process


def ask(answerer: TwoTowerAnswerer, **question: Any) -> dict[str, Any]:
    return answerer.answer(checked(QUESTION, question))


def test_every_probe_of_the_last_snapshot_is_answered_alike(trained: RunPaths) -> None:
    assert answerer_of(recipes()["two_tower"].answerer) is open_answerer
    last = choose(trained, "last")
    snapshot = json.loads(gzip.decompress((trained.snapshots / snapshot_name(last.step)).read_bytes()))
    first = json.loads(gzip.decompress((trained.snapshots / snapshot_name(0)).read_bytes()))
    answerer = open_answerer(RunSpec.load(trained), trained, file_of(trained, last), silent)
    assert len(first["probes"]["examples"]) == len(snapshot["outputs"]) == 5
    for probe, output in zip(first["probes"]["examples"], snapshot["outputs"], strict=True):
        found = ask(answerer, query=probe["input"], among=EVALUATION)["documents"]
        np.testing.assert_allclose(
            [one["score"] for one in found], [score for _, score in output["top"]], atol=2e-6
        )
        assert found[0]["id"] == output["top"][0][0] or found[0]["score"] - found[1]["score"] < 1e-5


def test_more_documents_than_there_are_gives_all_of_them_once(trained: RunPaths) -> None:
    answerer = open_answerer(RunSpec.load(trained), trained, file_of(trained, choose(trained, None)), silent)
    found = ask(answerer, query="a query of words it has never seen: ß 漢字", count=100)
    ids = [one["id"] for one in found["documents"]]
    assert len(ids) == len(set(ids)) == min(100, found["num_candidates"])
    assert ask(answerer, query="?!", count=1)["documents"], "a text without a word is a question too"


def test_a_model_of_vectors_is_asked_with_the_id_of_a_pair(tmp_path: Path) -> None:
    pairs, settings = vector_pairs(), params()
    material = from_vectors(pairs, settings)
    towers = vector_towers(
        settings,
        query_dim=pairs.query_vectors.shape[2],
        document_dim=pairs.document_vectors.shape[1],
        device=torch.device("cpu"),
    )
    answerer = TwoTowerAnswerer(material, towers, settings, tell=silent)
    found = ask(answerer, query=f" {pairs.ids[3]} ", count=2, among=ALL)
    assert len(found["documents"]) == 2
    with pytest.raises(QuestionError, match="none called 'unheard'; there are") as caught:
        ask(answerer, query="unheard")
    assert caught.value.field == "query"
