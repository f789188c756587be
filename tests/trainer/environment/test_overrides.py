"""The user's own variables: refused is only what would break supervision, and warnings name the harm."""

from __future__ import annotations

import pytest

from trainer.environment.build import build
from trainer.environment.overrides import OverrideError, check_overrides, override_warnings
from trainer.environment.secrets import HIDDEN, is_secret


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("", "x", "letters, digits"),
        ("1A", "x", "letters, digits"),
        ("A-B", "x", "letters, digits"),
        ("A=B", "x", "letters, digits"),
        ("A\n", "x", "letters, digits"),
        ("Ä", "x", "letters, digits"),
        ("A" * 129, "x", "at most 128"),
        ("PYTHONPATH", "/x", "not found"),
        ("pythonpath", "/x", "not found"),
        ("PYTHONUNBUFFERED", "0", "last lines"),
        ("PYTHONINSPECT", "1", "wait for a person"),
        ("LD_PRELOAD", "/x.so", "foreign code"),
        ("DYLD_INSERT_LIBRARIES", "/x.dylib", "foreign code"),
        ("SIGNALBOX_RUN_DIR", "/x", "Signalbox itself"),
        ("SIGNALBOX_LOADER_SPEED", "9", "Signalbox itself"),
        ("SIGNALBOX_LOADER_NUM_WORKERS", "many", "0 to 64"),
        ("A", "a\0b", "NUL"),
        ("A", "x" * 8193, "8192"),
        ("A", "\ud800", "UTF-8"),
        ("A", 5, "text"),
        ("A", None, "text"),
        ("HF_TOKEN", HIDDEN, "the secret itself"),
    ],
)
def test_what_may_not_be_set_is_refused_with_the_reason(name: str, value: object, words: str) -> None:
    with pytest.raises(OverrideError, match=words) as caught:
        check_overrides({"FINE": "1", name: value})
    assert caught.value.name == name[:128]


def test_anything_else_may_be_set() -> None:
    given = {
        "OMP_NUM_THREADS": "2",
        "_x": "",
        "HF_TOKEN": "hf_1",
        "A": "line\nline",
        "SIGNALBOX_LOADER_PIN_MEMORY": "0",
    }
    assert check_overrides(given) == given
    with pytest.raises(OverrideError, match="at most 64"):
        check_overrides({f"A{n}": "" for n in range(65)})


def warned(platform: str = "linux", **overrides: str) -> dict[str, str]:
    variables = build(platform=platform, physical_cores=4, overrides=overrides)
    return {one.name: one.message for one in override_warnings(overrides, variables)}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"KMP_DUPLICATE_LIB_OK": "TRUE"}, "silently produce incorrect"),
        ({"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0"}, "memory limit"),
        ({"FAISS_NUM_THREADS": "1"}, "no such variable"),
        ({"PYTORCH_NO_FORK": "1"}, "no such variable"),
        ({"PYTORCH_ENABLE_MPS": "1"}, "no such variable"),
        ({"OMP_NUM_THREADS": "1"}, "differ"),
        ({"MKL_NUM_THREADS": "1"}, "differ"),
    ],
)
def test_what_is_known_to_do_harm_or_nothing_is_said(overrides: dict[str, str], words: str) -> None:
    (name,) = overrides
    assert words in warned(**overrides)[name]


def test_what_does_no_harm_is_not_warned_of() -> None:
    assert warned(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1") == {}
    assert warned(KMP_DUPLICATE_LIB_OK="FALSE", PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.9", HF_HOME="/x") == {}
    assert warned(HF_HOME="/x") == {}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(
            (name, True)
            for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "WANDB_API_KEY", "hf_token")
        ),
        *(
            (name, True)
            for name in ("GITHUBTOKEN", "APIKEY", "MY_PASSPHRASE", "GOOGLE_CREDENTIALS", "DB_PWD")
        ),
        *((name, False) for name in ("TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY_BARS", "HF_HOME", "PWD")),
    ],
)
def test_secrets_are_told_by_their_names(name: str, secret: bool) -> None:
    assert is_secret(name) is secret
