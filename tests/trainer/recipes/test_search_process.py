import subprocess
import sys

import pytest

from trainer.recipes.registry import recipes, validate
from trainer.recipes.search_process import Home, Wish, home_of_search, isolated, loads_faiss_beside_torch


@pytest.mark.parametrize(
    ("wish", "platform", "home"),
    [
        ("auto", "linux", "shared"),
        ("auto", "darwin", "own"),
        ("auto", "win32", "shared"),
        ("own", "linux", "own"),
        ("own", "darwin", "own"),
        ("shared", "darwin", "shared"),
        ("shared", "win32", "shared"),
    ],
)
def test_torch_and_faiss_are_kept_apart_where_they_clash_unless_somebody_says_otherwise(
    wish: Wish, platform: str, home: Home
) -> None:
    assert home_of_search(wish, platform=platform) == home
    params = validate(recipes()["two_tower"], {"search_process": wish})
    assert loads_faiss_beside_torch(params, platform=platform) == (home == "shared")


def test_the_profile_safe_isolates_a_search_nobody_has_placed() -> None:
    for wish, placed in (("auto", "own"), ("own", "own"), ("shared", "shared")):
        params = validate(recipes()["two_tower"], {"search_process": wish})
        assert isolated(params, profile="safe") == {**params, "search_process": placed}
        assert isolated(params, profile="auto") == params
        assert loads_faiss_beside_torch(params, platform="linux", profile="safe") == (placed == "shared")
    assert isolated({"seed": 1}, profile="safe") == {"seed": 1}


def test_a_recipe_that_does_not_search_loads_no_faiss() -> None:
    assert not loads_faiss_beside_torch({"seed": 1}, platform="darwin")


def test_asking_loads_nothing_heavy() -> None:
    code = (
        "import sys, trainer.recipes.search_process;"
        "print(sorted({'pydantic', 'numpy', 'torch', 'faiss'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
