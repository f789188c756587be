import pytest

from trainer.recipes.label_aliases import parse_aliases
from trainer.recipes.registry import ParameterError, recipes, validate


def test_ways_of_writing_become_labels() -> None:
    found = parse_aliases(" ai | ai-generated = machine ; person=human;")
    assert found == {"ai": "machine", "ai-generated": "machine", "person": "human"}
    assert parse_aliases("") == {}
    assert parse_aliases("a=b=c") == {"a=b": "c"}  # the last sign counts, so a label may be written with one


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ai", "part 1 .*must look like"),
        ("a=b;=c", "part 2"),
        ("a||b=c", "empty way"),
        ("a=b;a=c", "already"),
    ],
)
def test_the_wrong_part_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_aliases(text)


def test_the_recipe_refuses_aliases_it_cannot_read_and_widths_that_do_not_divide() -> None:
    recipe = recipes()["text_classification"]
    with pytest.raises(ParameterError, match="label_aliases"):
        validate(recipe, {"label_aliases": "ai"})
    with pytest.raises(ParameterError, match="multiple of twice num_heads"):
        validate(recipe, {"hidden_dim": 30, "num_heads": 4})
