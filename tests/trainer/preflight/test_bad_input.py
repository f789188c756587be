"""Input that nothing can be made of, for every recipe: told in one line, with place and remedy, at once.

The ways in (``trainer run``, ``trainer preflight``, ``POST /api/runs`` and ``/api/preflight``) all ask the
survey and the suspicions that are asked here; ``trainer datasets check`` asks the readers directly.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from tests.trainer.tasks.causal_lm.small_corpus import silent
from trainer.datasets.checking import check
from trainer.datasets.records import DatasetError
from trainer.environment.doctor.check import Check, Verdict
from trainer.preflight.declaration import preflight_of
from trainer.preflight.question import Question
from trainer.preflight.registry import GENERAL
from trainer.recipes.registry import ParameterError, recipes, validate

LANGUAGE: Final = ("causal_lm", "text_classification")
TEXTS: Final = (*LANGUAGE, "two_tower")
ROWS: Final = 60


def rows(recipe: str, count: int = ROWS) -> list[dict[str, str]]:
    """Sound rows."""
    made = {
        "causal_lm": lambda n: {"prompt": f"question {n}\n", "completion": f"answer {n}"},
        "text_classification": lambda n: {"text": f"some text {n}", "label": "ab"[n % 2]},
        "two_tower": lambda n: {"query": f"question {n}", "document": f"answer {n}"},
    }
    return [made[recipe](number) for number in range(count)]


def lines(recipe: str, count: int = ROWS) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows(recipe, count))


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def examined(recipe: str, dataset: Path | str, **params: Any) -> list[Check]:
    """Everything the light checks say, in their order."""
    declared = recipes()[recipe]
    folder = Path(dataset).parent
    fitting = {"batch_size": 4, **({} if recipe != "two_tower" else {"dim": 8, "hidden_dim": 8})}
    question = Question(
        recipe=recipe,
        declaration=declared.preflight,
        dataset=str(dataset),
        params=validate(declared, {**fitting, **params}),
        datasets_dir=folder / "datasets",
        runs_dir=folder / "runs",
    )
    preflight = preflight_of(declared.preflight)
    known = preflight.survey(question)
    checks = list(known.checks)
    if known.outlook is not None:
        for suspicion in (*GENERAL, *preflight.suspicions):
            checks += suspicion.look(question, known)
    return checks


def red(checks: Sequence[Check]) -> Check:
    """The one that is red, in one line with a remedy."""
    found = [check for check in checks if check.verdict is Verdict.PROBLEM]
    assert found, checks
    assert "\n" not in found[0].found
    assert found[0].remedy
    return found[0]


def long_line(path: Path, recipe: str) -> Path:
    """10 GB without a line end; sparse, so it takes no room."""
    with path.open("wb") as file:
        file.write(lines(recipe).encode())
        file.truncate(10 * 2**30)
    return path


def linked(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def with_row(recipe: str, **changed: object) -> str:
    return lines(recipe) + json.dumps({**rows(recipe, 1)[0], **changed}) + "\n"


FILES: Final[dict[str, tuple[Callable[[Path, str], Path], str]]] = {
    "wrong columns": (lambda p, r: written(p, '{"a": "1"}\n{"a": "2"}\n'), "line 1"),
    "an empty row": (lambda p, r: written(p, with_row(r, **dict.fromkeys(rows(r, 1)[0], " "))), "line 61"),
    "a null": (lambda p, r: written(p, with_row(r, **dict.fromkeys(rows(r, 1)[0]))), "line 61"),
    "numbers for texts": (lambda p, r: written(p, with_row(r, **dict.fromkeys(rows(r)[0], 1.5))), "line 61"),
    "bytes that are no UTF-8": (lambda p, r: written(p, lines(r).encode() + b"\xff\n"), "line 61: byte 1"),
    "UTF-16": (lambda p, r: written(p, lines(r).encode("utf-16")), "is UTF-16 text; save it as UTF-8"),
    "UTF-16 without a mark": (lambda p, r: written(p, lines(r).encode("utf-16-be")), "is UTF-16 text"),
    "a line of 10 GB": (long_line, "line 61: is longer than 16,000,000 bytes"),
    "an empty file": (lambda p, r: written(p, ""), "is empty"),
    "blank lines only": (lambda p, r: written(p, "\n \n"), "holds no"),
    "a folder": (lambda p, r: folder(p), "is a folder; name the file in it"),
    "a device": (lambda p, r: linked(p), "is not a regular file"),
    "no file": (lambda p, r: p, "cannot be read (No such file"),
    "a list in JSON lines": (lambda p, r: written(p, json.dumps(rows(r))), "line 1: must be an object"),
    "no JSON": (lambda p, r: written(p, lines(r) + "{'a': 1}\n"), "line 61: is not JSON"),
    "nesting without end": (lambda p, r: written(p, "[" * 200_000 + "]" * 200_000), "line 1: is not JSON"),
    "an id twice": (lambda p, r: written(p, with_row(r, id="7")), "'7' is already the id of line 7"),
    "an unknown ending": (lambda p, r: written(p.with_suffix(".parquet"), lines(r)), "must end in one of"),
}  # fmt: skip


@pytest.mark.parametrize("recipe", TEXTS)
@pytest.mark.parametrize("what", FILES)
def test_a_file_that_cannot_be_read_is_named_with_its_place(tmp_path: Path, recipe: str, what: str) -> None:
    make, said = FILES[what]
    path = make(tmp_path / "mine.jsonl", recipe)
    found = red(examined(recipe, path))
    assert said in found.found
    assert path.name in found.found
    assert not (tmp_path / "runs").exists()
    with pytest.raises(DatasetError) as refused:
        check(path, silent, kind_names=recipes()[recipe].dataset_kinds)
    assert "\n" not in str(refused.value)
    assert path.name in str(refused.value)


@pytest.mark.parametrize("recipe", TEXTS)
def test_a_byte_order_mark_is_no_fault(tmp_path: Path, recipe: str) -> None:
    path = written(tmp_path / "mine.jsonl", b"\xef\xbb\xbf" + lines(recipe).encode())
    assert not [one for one in examined(recipe, path) if one.verdict is Verdict.PROBLEM]
    assert check(path, silent, kind_names=recipes()[recipe].dataset_kinds).num_pairs == ROWS


@pytest.mark.parametrize("recipe", TEXTS)
def test_a_batch_larger_than_the_data_is_red(tmp_path: Path, recipe: str) -> None:
    found = red(examined(recipe, written(tmp_path / "mine.jsonl", lines(recipe)), batch_size=64))
    assert "larger than all 54 to train on" in found.found
    assert "Lower batch_size" in found.remedy


@pytest.mark.parametrize(
    ("recipe", "params"),
    [(recipe, {"max_length": value}) for recipe in LANGUAGE for value in (0, -1, 10**9)]
    + [(recipe, {"batch_size": 0}) for recipe in TEXTS]
    + [("text_classification", {"label_aliases": "ai"})],
)
def test_numbers_out_of_bounds_are_refused_by_name(recipe: str, params: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        validate(recipes()[recipe], params)
    assert refused.value.field == next(iter(params))


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"role": "user", "content": "a"}], "holds no message of the assistant"),
        ([{"role": "system", "content": "a"}], "holds no message of the assistant"),
        ([{"role": "wizard", "content": "a"}], r"messages[1]: its role must be one of"),
        ([{"role": "user"}, {"role": "assistant", "content": "b"}], "messages[1]: is missing"),
        ([{"role": "assistant", "content": "b"}], "begins with the assistant"),
        ("hello", "must be a list"),
        ([], "must be a list"),
    ],
)
def test_conversations_without_anything_to_learn_are_named(
    tmp_path: Path, messages: object, said: str
) -> None:
    path = written(tmp_path / "mine.jsonl", json.dumps({"messages": messages}) + "\n")
    assert said in red(examined("causal_lm", path)).found


def test_prompts_that_leave_no_room_are_counted_and_refused_when_they_are_all(tmp_path: Path) -> None:
    def file(long: int) -> Path:
        made = [
            {"prompt": f"question {n} " * (200 if n < long else 1), "completion": f"yes {n}"}
            for n in range(ROWS)
        ]
        return written(tmp_path / "mine.jsonl", "".join(json.dumps(row) + "\n" for row in made))

    assert "no answer is left to learn" in red(examined("causal_lm", file(ROWS), max_length=32)).found
    (amber,) = [one for one in examined("causal_lm", file(30), max_length=32) if one.id == "lengths"]
    assert (amber.verdict, "50% by their prompts alone" in amber.found) == (Verdict.WARNING, True)
    assert not [one for one in examined("causal_lm", file(0)) if one.verdict is Verdict.PROBLEM]


@pytest.mark.parametrize(
    ("content", "params", "said"),
    [
        ("text,label\nx,a\ny,a\n", {}, "mine.csv: all 2 rows have the label 'a'"),
        ("a,b\n1,2\n", {}, "line 2, column text: is missing; the columns are 'a', 'b'"),
        ("text;label\na;b\n", {}, "the columns are 'text;label'"),
        ("text,label\n", {}, "holds no text"),
        ("text,text,label\na,b,c\n", {}, "column text is there more than once"),
        ("text,label\na,b,c\n", {}, "line 2: has 3 cells"),
        ('text,label\n"a,b\nc,d\n', {}, "is a quote left open?"),
        ("text,label\n" + "same,a\nsame,b\n" * 9, {}, "mine.csv: 18 examples form a single group"),
        ("sound", {"label_aliases": "gpt=a"}, "mine.csv: label_aliases names 'gpt', which is no label"),
        ("sound", {"label_aliases": "b=a"}, "mine.csv: all 60 rows have the label 'a'"),
        ("sound+one,c\n", {}, "the label 'c' (mine.csv, line 62)"),
    ],
)
def test_labels_that_cannot_be_learned_or_measured_are_named(
    tmp_path: Path, content: str, params: dict[str, Any], said: str
) -> None:
    sound = "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows("text_classification"))
    whole = sound + content.removeprefix("sound+") if content.startswith("sound") else content
    path = written(tmp_path / "mine.csv", whole.removesuffix("sound"))
    assert said in red(examined("text_classification", path, **params)).found


def vectors(path: Path, **changed: Any) -> Path:
    numbers = np.random.default_rng(0).normal(size=(2, ROWS, 8)).astype(np.float32)
    np.savez(path, **{"query_vectors": numbers[0], "document_vectors": numbers[1], **changed})
    return path


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"query_vectors": np.full((ROWS, 8), np.nan, dtype=np.float32)}, "row 0: holds NaN or infinity"),
        ({"query_vectors": np.array([{}] * ROWS, dtype=object)}, "Python objects, which are never loaded"),
        ({"ids": np.array(["x"] * ROWS)}, "'x' is already the id of row 0"),
        ({"query_vectors": np.ones((ROWS, 8), dtype=np.int64)}, "must be float16, float32 or float64"),
        ({"document_vectors": np.ones((3, 8), dtype=np.float32)}, "document_vectors"),
    ],
)
def test_vectors_that_cannot_be_used_are_named(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    path = vectors(tmp_path / "mine.npz", **changed)
    assert said in red(examined("two_tower", path)).found
    with pytest.raises(DatasetError):
        check(path, silent)


def test_a_truncated_npz_is_named(tmp_path: Path) -> None:
    path = vectors(tmp_path / "mine.npz")
    written(path, path.read_bytes()[:-200])
    assert "is not a readable NPZ file" in red(examined("two_tower", path)).found


def test_columns_of_no_kind_are_told_with_those_of_every_kind(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError, match=r"its columns are 'a', and needed .* query and document \(pairs\)"
    ):
        check(written(tmp_path / "mine.jsonl", '{"a": 1}\n'), silent)
    with pytest.raises(DatasetError, match="holds no text; a row needs a text and a label"):
        check(written(tmp_path / "mine.csv", "text,label\n"), silent)


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny folder of the shape of a Llama: headers and configuration are all that is looked at."""
    return model_folder(tmp_path_factory.mktemp("models") / "tiny")


def model_folder(path: Path) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"model_type": "llama", "max_position_embeddings": 64}))
    (path / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    shapes = {
        "model.layers.0.self_attn.q_proj.weight": [16, 16],
        "model.layers.0.mlp.up_proj.weight": [64, 16],
    }
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * shape[1]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    raw = json.dumps(header).encode()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(raw)) + raw + bytes(end))
    return path


def changed_config(**changes: object) -> Callable[[Path], object]:
    return lambda path: (path / "config.json").write_text(json.dumps(changes))


def pickled(path: Path) -> None:
    (path / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(b"\x80\x02.")


def cut(path: Path) -> None:
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])


MODELS: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "no tokenizer": (lambda path: (path / "tokenizer.json").unlink(), "holds no tokenizer"),
    "a broken tokenizer": (lambda path: (path / "tokenizer.json").write_text("{}"), "holds no tokenizer"),
    "no config": (lambda path: (path / "config.json").unlink(), "holds no config.json"),
    "a config that is a list": (lambda path: (path / "config.json").write_text("[]"), "must hold a JSON"),
    "a config nested without end": (
        lambda path: (path / "config.json").write_text("[" * 100_000),
        "is not JSON",
    ),
    "no kind of model": (changed_config(hidden_size=16), "names no model_type"),
    "pickles only": (pickled, "pickled weights can run code"),
    "cut off": (cut, "is cut off"),
    "no weights": (lambda path: (path / "model.safetensors").unlink(), "holds no model.safetensors"),
}  # fmt: skip


@pytest.mark.parametrize("recipe", [*LANGUAGE, "two_tower"])
@pytest.mark.parametrize("what", MODELS)
def test_a_model_that_cannot_be_used_is_named_before_anything_is_loaded(
    tmp_path: Path, recipe: str, what: str
) -> None:
    spoil, said = MODELS[what]
    model = model_folder(tmp_path / "tiny")
    spoil(model)
    path = written(tmp_path / "mine.jsonl", lines(recipe))
    assert said in red(examined(recipe, path, model=str(model), max_length=32)).found


@pytest.mark.parametrize("recipe", [*LANGUAGE, "two_tower"])
def test_more_tokens_than_the_model_reads_are_red(tmp_path: Path, language_model: Path, recipe: str) -> None:
    path = written(tmp_path / "mine.jsonl", lines(recipe))
    found = red(examined(recipe, path, model=str(language_model), max_length=65))
    assert "max_length is 65 and the model reads at most 64 tokens" in found.found
    assert "64" in found.remedy


@pytest.mark.parametrize("recipe", LANGUAGE)
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"lora_rank": 4, "lora_targets": "c_attn"}, "names no layer of the model"),
        ({"precision": "fp16", "device": "cpu"}, "fp16 on cpu overflows"),
        ({"precision": "fp16", "device": "mps"}, "fp16 on mps overflows"),
    ],
)
def test_parameters_that_do_not_fit_the_model_are_red(
    tmp_path: Path, language_model: Path, recipe: str, params: dict[str, Any], said: str
) -> None:
    path = written(tmp_path / "mine.jsonl", lines(recipe))
    settings = {"model": str(language_model), "max_length": 32, **params}
    assert said in red(examined(recipe, path, **settings)).found


@pytest.mark.parametrize("recipe", LANGUAGE)
def test_lora_that_fits_is_no_fault_and_a_rank_beyond_the_layers_is_amber(
    tmp_path: Path, language_model: Path, recipe: str
) -> None:
    path = written(tmp_path / "mine.jsonl", lines(recipe))
    fits = {"model": str(language_model), "max_length": 32, "learning_rate": 1e-5, "lora_targets": "q_proj"}
    named = {"model": Verdict.OK, "too many": Verdict.WARNING}
    for rank, verdict in ((4, named["model"]), (64, named["too many"])):
        checks = examined(recipe, path, lora_rank=rank, **fits)
        (model,) = [one for one in checks if one.id == "model"]
        assert model.verdict is verdict, model
        assert ("the narrowest layer is 16 wide" in model.found) == (rank == 64)


@pytest.mark.parametrize(
    ("config", "is_red"),
    [
        ({"model_type": "roberta"}, True),
        ({"model_type": "modernbert"}, True),
        ({"model_type": "t5"}, True),
        ({"model_type": "roberta", "is_decoder": True}, False),
        ({"model_type": "gpt2"}, False),
    ],
)
def test_a_model_that_does_not_write_is_no_language_model(
    tmp_path: Path, config: dict[str, Any], is_red: bool
) -> None:
    model = model_folder(tmp_path / "tiny")
    changed_config(**config)(model)
    path = written(tmp_path / "mine.jsonl", lines("causal_lm"))
    found = [one for one in examined("causal_lm", path, model=str(model)) if one.verdict is Verdict.PROBLEM]
    assert bool(found) == is_red, found
