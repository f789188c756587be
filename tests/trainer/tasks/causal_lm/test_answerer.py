import signal
from pathlib import Path

import pytest

from tests.trainer.tasks.causal_lm.small_corpus import pairs, silent, write_completions, write_messages
from tests.trainer.tasks.causal_lm.test_train import prepared
from trainer.asking.declaration import QuestionError
from trainer.engine.manifests import manifests
from trainer.engine.process import train_run
from trainer.protocol.run_folder import RunPaths, RunSpec
from trainer.recipes.causal_lm_question import QUESTION
from trainer.recipes.questions import checked
from trainer.tasks.causal_lm.answerer import CausalLmAnswerer, open_answerer


def opened(paths: RunPaths) -> CausalLmAnswerer:
    before = signal.getsignal(signal.SIGTERM)
    try:
        train_run(paths, attempt=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    newest = paths.checkpoints / manifests(paths)[-1].file
    return open_answerer(RunSpec.load(paths), paths, newest, silent)


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> CausalLmAnswerer:
    folder = tmp_path_factory.mktemp("asked")
    return opened(prepared(folder / "run", write_completions(folder / "c.jsonl"), num_epochs=10))


def test_a_trained_model_goes_on_as_it_has_learned(answerer: CausalLmAnswerer) -> None:
    prompt, said, _ = pairs()[0]
    answer = answerer.answer(checked(QUESTION, {"prompt": prompt.strip(), "max_tokens": 20}))
    assert (answer["kind"], answer["prompt"], answer["ended"]) == ("completion", prompt.strip(), "end")
    assert answer["completion"].endswith("of x.")
    assert answer["completion"].split()[1] == said.split()[1]
    assert 0 < answer["num_tokens"] <= 20
    assert answer == answerer.answer(checked(QUESTION, {"prompt": prompt, "max_tokens": 20})) | {
        "prompt": prompt.strip()
    }


def test_a_drawn_completion_depends_on_its_seed_alone(answerer: CausalLmAnswerer) -> None:
    def drawn(seed: int) -> str:
        question = {"prompt": "open_path(x)", "max_tokens": 12, "temperature": 3.0, "seed": seed}
        return str(answerer.answer(checked(QUESTION, question))["completion"])

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(4)}) > 1


def test_a_prompt_longer_than_the_model_is_refused(answerer: CausalLmAnswerer) -> None:
    with pytest.raises(QuestionError, match="the model reads 48; shorten it"):
        answerer.answer(checked(QUESTION, {"prompt": "open " * 80}))


def test_a_model_of_conversations_is_asked_as_one(tmp_path: Path) -> None:
    paths = prepared(tmp_path / "run", write_messages(tmp_path / "m.jsonl"), num_epochs=1, max_length=96)
    answer = opened(paths).answer(checked(QUESTION, {"prompt": "open_path(x)", "max_tokens": 5}))
    assert answer["num_tokens"] <= 5
