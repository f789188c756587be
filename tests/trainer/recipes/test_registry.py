import subprocess
import sys

import pytest

from trainer.recipes.registry import ParameterError, describe, recipes, validate


def test_every_recipe_describes_itself_completely() -> None:
    assert "two_tower" in recipes()
    for name, recipe in recipes().items():
        described = describe(recipe)
        assert described["name"] == name
        for parameter in described["parameters"]:
            assert parameter["help"], parameter["name"]
            assert parameter["group"], parameter["name"]
            if parameter["type"] in ("int", "float"):
                assert parameter["minimum"] is not None, parameter["name"]
                assert parameter["minimum"] <= parameter["default"] <= parameter["maximum"], parameter["name"]
            if parameter["type"] == "choice":
                assert parameter["default"] in parameter["choices"]


def test_every_preset_is_valid_and_every_bound_is_accepted() -> None:
    for recipe in recipes().values():
        assert len({preset.name for preset in recipe.presets}) == len(recipe.presets)
        for preset in recipe.presets:
            validate(recipe, preset.params)


def test_validate_fills_in_the_defaults() -> None:
    params = validate(recipes()["two_tower"], {"batch_size": 64})
    assert params["batch_size"] == 64
    assert set(params) == set(recipes()["two_tower"].Params.model_fields)


@pytest.mark.parametrize(
    ("params", "field", "words"),
    [
        ({"batchsize": 1}, "batchsize", "no such parameter"),
        ({"batch_size": 1}, "batch_size", "greater than or equal to 2, got 1"),
        ({"batch_size": "many"}, "batch_size", "integer"),
        ({"batch_size": True}, "batch_size", "must be a number"),
        ({"batch_size": 2.5}, "batch_size", "integer"),
        ({"learning_rate": float("nan")}, "learning_rate", "finite"),
        ({"learning_rate": 0}, "learning_rate", "greater"),
        ({"device": "tpu"}, "device", "'cpu'"),
        ({"mined_negatives": 8, "mine_depth": 4}, "mine_depth", "at least mined_negatives (8)"),
        ({"mined_negatives": 60}, "mine_depth", "at least mined_negatives (60)"),
        ({"seed": [1] * 100}, "seed", "…"),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        validate(recipes()["two_tower"], params)
    assert caught.value.field == field
    assert words in caught.value.message


@pytest.mark.process
def test_the_registry_loads_no_training_library() -> None:
    code = (
        "import sys; from trainer.recipes.registry import recipes; recipes(); "
        "print(sorted({'torch', 'faiss', 'numpy', 'transformers'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
