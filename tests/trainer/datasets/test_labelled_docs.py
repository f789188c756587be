import re

import pytest

from trainer.datasets import labelled_docs, python_docs
from trainer.datasets.labelled_docs import BLANK, LEAST_FUNCTIONS, STANDARD_LIBRARY, labelled, package_of
from trainer.datasets.records import TextPairs


def corpus(packages: list[str], *, count: int = LEAST_FUNCTIONS) -> TextPairs:
    rows = [(package, number) for package in packages for number in range(count)]
    ids = [f"{package}.m{number % 10}.f{number}" for package, number in rows]
    return TextPairs(
        name="python_docs",
        ids=ids,
        queries=[
            f"Add {number} to a NumPy array, {package[::-1]}, of {package}." for package, number in rows
        ],
        documents=[
            f"{name}(x)\n\nFor {package}, PyTorch.\n>>> np.add(1)\narray(1)\n\nimport {package}\nFlaskClient."
            for name, (package, _) in zip(ids, rows, strict=True)
        ],
        titles=ids,
        groups=[name.rpartition(".")[0] for name in ids],
        content_hash="hash",
    )


def test_the_answer_is_never_in_the_question() -> None:
    found = labelled(corpus(["numpy", "torch", "sqlalchemy"]))
    names = re.compile("|".join((*python_docs.PACKAGES, "pytorch")), re.IGNORECASE)
    assert set(found.labels) == {"numpy", "torch", "sqlalchemy"}
    for text in found.texts:
        assert not names.search(text), text
        assert ">>>" not in text
        assert "array(1)" not in text
        assert BLANK in text


def test_packages_with_too_little_are_left_out_and_the_standard_library_is_one() -> None:
    pairs = corpus(["json", "email", "numpy"])
    assert set(labelled(pairs).labels) == {STANDARD_LIBRARY, "numpy"}
    assert package_of("json.decoder") == STANDARD_LIBRARY
    small = corpus(["numpy", "torch"], count=LEAST_FUNCTIONS - 1)
    assert len(labelled(small)) == 0


def test_modules_are_the_groups_and_the_content_decides_the_hash() -> None:
    one, other = labelled(corpus(["numpy", "torch"])), labelled(corpus(["numpy", "torch"]))
    assert one.content_hash == other.content_hash
    assert set(one.groups) == {f"{name}.m{number}" for name in ("numpy", "torch") for number in range(10)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words only",
        "NumPy, np.add, unnamed np, xnp np2 NP",
        "torch pytorch PyTorch_geometric in flask_socketio",
        "Torch\u00fcre torch np",
        "fla\u017fk and wer\u212azeug",
    ],
)
def test_names_are_blanked_as_by_the_pattern_of_all_names(text: str) -> None:
    whole = labelled_docs._pattern(labelled_docs._NAMES)
    assert labelled_docs._blanked(text) == whole.sub(labelled_docs.BLANK, text)
