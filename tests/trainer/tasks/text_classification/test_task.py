import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer.tasks.text_classification.small_texts import SMALL, silent, write_texts
from trainer.datasets.records import DatasetError
from trainer.engine.task import ExplainsEvaluation, GoesBackItself, LeavesAnExport, Task
from trainer.language.sources import ModelError
from trainer.recipes.text_classification import TextClassificationParams
from trainer.tasks.text_classification.forecast import scratch_weights
from trainer.tasks.text_classification.model import Classifier
from trainer.tasks.text_classification.split import split_texts
from trainer.tasks.text_classification.task import TextClassificationTask
from trainer.tasks.text_classification.train import Prepared, read_dataset

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def texts_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("texts") / "things.csv")


def prepared(path: Path, **params: Any) -> tuple[TextClassificationTask, Prepared]:
    complete = TextClassificationParams(**{**SMALL, "dropout": 0.0, **params})
    folder = path.parent / "datasets"
    texts = read_dataset(str(path), complete, datasets_dir=folder, tell=silent)
    ready = Prepared(texts, complete, datasets_dir=folder, tell=silent)
    return ready.task(CPU, silent), ready


def gradients(task: TextClassificationTask) -> dict[str, torch.Tensor]:
    named = task.modules()["classifier"].named_parameters()
    return {name: one.grad.clone() for name, one in named if one.grad is not None}


def test_it_is_all_the_engine_asks_for(texts_file: Path) -> None:
    task: Task = prepared(texts_file)[0]
    assert isinstance(task, GoesBackItself)
    assert isinstance(task, ExplainsEvaluation)
    assert isinstance(task, LeavesAnExport)


def test_parts_of_a_batch_give_the_loss_and_gradients_of_the_whole(texts_file: Path) -> None:
    whole, _ = prepared(texts_file, class_weights="balanced", label_smoothing=0.1)
    parts, _ = prepared(texts_file, class_weights="balanced", label_smoothing=0.1, micro_batch_size=5)
    for weighed in (False, True):
        outputs = []
        for task in (whole, parts):
            task.modules()["classifier"].zero_grad()
            outputs.append(task.backward(next(task.micro_batches(0, start=0)), weighed=weighed))
        assert outputs[0].loss.item() == pytest.approx(outputs[1].loss.item(), rel=1e-5)
        one, other = gradients(whole), gradients(parts)
        assert one.keys() == other.keys()
        for name, gradient in one.items():
            torch.testing.assert_close(gradient, other[name], rtol=2e-4, atol=2e-5)


def test_an_untrained_model_costs_about_what_guessing_does(texts_file: Path) -> None:
    task, _ = prepared(texts_file)
    output = task.loss(next(task.micro_batches(0, start=0)))
    assert output.chance_loss == pytest.approx(math.log(3), abs=0.01)
    assert output.loss.item() == pytest.approx(output.chance_loss, abs=0.4)


def test_skipping_to_a_batch_gives_that_batch(texts_file: Path) -> None:
    task, _ = prepared(texts_file)
    every = [batch.ids.tolist() for batch in task.micro_batches(2, start=0)]
    assert len(every) == task.num_micro_batches(2)
    assert [batch.ids.tolist() for batch in task.micro_batches(2, start=7)] == every[7:]


def test_probes_are_of_all_labels_and_their_answers_agree_with_the_model(texts_file: Path) -> None:
    task, _ = prepared(texts_file)
    probes = task.probes()
    task.modules()["classifier"].eval()
    with torch.no_grad():
        answers = task.probe()
    assert len(probes) == SMALL["num_probes"]
    assert len({probe["expected_output"] for probe in probes}) == 3
    for row, (probe, output) in enumerate(zip(probes, answers.outputs, strict=True)):
        shown = dict(output["probabilities"])
        assert sum(shown.values()) == pytest.approx(1.0, abs=1e-4)
        assert output["output"] == max(shown, key=lambda label: shown[label])
        assert answers.columns["correct"][row] == float(output["output"] == probe["expected_output"])
        assert answers.columns["loss"][row] == pytest.approx(
            -math.log(shown[probe["expected_output"]]), abs=1e-3
        )


def test_details_of_an_evaluation_agree_with_its_numbers(texts_file: Path) -> None:
    task, _ = prepared(texts_file)
    task.modules()["classifier"].eval()
    with torch.no_grad():
        numbers = task.evaluate(silent)
    details = task.evaluation_details()
    total = sum(count for _, _, count in details["confusion"])
    right = sum(count for truth, prediction, count in details["confusion"] if truth == prediction)
    assert right / total == numbers["accuracy"]
    assert numbers["chance_accuracy"] == pytest.approx(1 / 3, abs=0.01)


def test_fewer_texts_are_of_all_labels_among_those_of_more_and_keep_the_tokenizer(texts_file: Path) -> None:
    texts = read_dataset(
        str(texts_file), TextClassificationParams(), datasets_dir=texts_file.parent, tell=silent
    )
    labels = texts.numbers_N()
    sizes = [30, 60, 90]
    rows = [
        set(split_texts(texts, TextClassificationParams(**{**SMALL, "max_examples": size})).train.tolist())
        for size in sizes
    ]
    assert [len(one) for one in rows] == sizes
    assert rows[0] < rows[1] < rows[2]
    assert sorted(labels[sorted(rows[0])].tolist()) == [0] * 10 + [1] * 10 + [2] * 10
    vocabularies = [
        prepared(texts_file, **limit)[1].chosen.tokenizer.get_vocab()
        for limit in ({"max_examples": 30}, {"train_fraction": 0.5}, {})
    ]
    assert vocabularies[0] == vocabularies[1] == vocabularies[2]


def test_a_label_in_a_single_group_is_refused_with_its_place_unless_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"text {number},{'ab'[number % 2]},g{number}" for number in range(40)]
    path.write_text("\n".join(["text,label,group", *lines, "odd one,c,x", "odder one,c,x"]))
    params = TextClassificationParams(**SMALL)
    texts = read_dataset(str(path), params, datasets_dir=tmp_path, tell=silent)
    with pytest.raises(DatasetError, match=r"label 'c' \(a.csv, line 42\) has all its 2 texts in one group"):
        split_texts(texts, params)
    allowed = split_texts(texts, params.model_copy(update={"unseen_labels": "allow"}))
    assert {40, 41} <= set(allowed.train.tolist())


def test_a_changed_dataset_is_no_place_to_go_on(texts_file: Path) -> None:
    task, _ = prepared(texts_file)
    state = task.state_dict()
    task.load_state_dict(state)
    with pytest.raises(DatasetError, match="has changed since the checkpoint"):
        task.load_state_dict({**state, "content_hash": "other"})


def test_the_forecast_counts_the_weights_of_a_model_from_scratch(texts_file: Path) -> None:
    task, ready = prepared(texts_file)
    params = {**SMALL, "vocab_size": len(ready.chosen.tokenizer)}
    counted, _ = scratch_weights(params, 3)
    assert counted == sum(one.numel() for one in task.modules()["classifier"].parameters())


def test_half_precision_is_refused_where_it_harms() -> None:
    with pytest.raises(ModelError, match="precision 'fp16' on cpu"):
        Classifier(torch.nn.Linear(2, 2), device=CPU, precision="fp16")
    assert Classifier(torch.nn.Linear(2, 2), device=CPU, precision="auto").loss_scale == 1.0


def test_lora_trains_little_and_names_the_layers_it_could_go_beside(texts_file: Path) -> None:
    task, _ = prepared(texts_file, lora_rank=2, lora_targets="Wqkv")
    model = task.modules()["classifier"]
    trained = sum(one.numel() for one in model.parameters() if one.requires_grad)
    assert 0 < trained < 0.4 * sum(one.numel() for one in model.parameters())
    assert isinstance(Classifier(model, device=CPU, precision="fp32").model, torch.nn.Module)
    with pytest.raises(ModelError, match=r"lora_targets 'nothing'.* Its layers are .*Wqkv"):
        prepared(texts_file, lora_rank=2, lora_targets="nothing")


@pytest.mark.parametrize("how", [{}, {"lora_rank": 4, "lora_targets": "Wqkv"}])
def test_the_vectors_of_the_probes_are_what_the_labels_are_made_from(
    texts_file: Path, how: dict[str, Any]
) -> None:
    task, _ = prepared(texts_file, **how)
    model = task.modules()["classifier"]
    model.eval()
    state = torch.random.get_rng_state()
    with torch.no_grad():
        answers = task.probe()
        again = task.probe()
    assert torch.equal(torch.random.get_rng_state(), state)
    vectors = answers.vectors_BD
    assert vectors is not None
    assert again.vectors_BD is not None
    assert vectors.shape == (len(answers.outputs), SMALL["hidden_dim"])
    assert (vectors == again.vectors_BD).all()
    heads = [one for one in model.modules() if isinstance(one, torch.nn.Linear)]
    head = next(
        one for one in reversed(heads) if one.out_features == len(answers.outputs[0]["probabilities"])
    )
    with torch.no_grad():
        probabilities = torch.softmax(head(torch.from_numpy(vectors)), dim=-1)
    assert probabilities.max(dim=-1).values.tolist() == pytest.approx(answers.columns["confidence"], abs=1e-4)
