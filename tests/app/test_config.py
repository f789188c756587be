"""Settings: precedence, and one helpful line per mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import Settings, SettingsError


def test_defaults_are_local_and_absolute() -> None:
    settings = Settings.from_env({})
    assert settings.host == "127.0.0.1"
    assert settings.base_url == "http://127.0.0.1:8421"
    assert settings.instance == Path("instance").absolute()
    assert settings.database_url == f"sqlite:///{settings.instance}/signalbox.db"
    assert settings.dataset_roots == (settings.instance / "datasets", settings.instance / "inbox")


def test_variables_win_over_the_file_which_wins_over_defaults(tmp_path: Path) -> None:
    file = tmp_path / "signalbox.toml"
    file.write_text('port = 9000\nmax_runs = 3\nallowed_hosts = ["box.example"]\n')
    settings = Settings.from_env({"SIGNALBOX_PORT": "9100"}, toml_path=file)
    assert (settings.port, settings.max_runs, settings.max_sockets) == (9100, 3, 200)
    assert settings.allowed_hosts == ("box.example",)


def test_a_missing_file_stands_for_an_empty_one(tmp_path: Path) -> None:
    assert Settings.from_env({}, toml_path=tmp_path / "none.toml").port == 8421


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("SIGNALBOX_PORT", "http", "whole number from 1 to 65535"),
        ("SIGNALBOX_PORT", "0", "whole number from 1 to 65535"),
        ("SIGNALBOX_PORT", "", "whole number"),
        ("SIGNALBOX_MAX_RUNS", "0", "from 1 to 256"),
        ("SIGNALBOX_STOP_GRACE_S", "nan", "seconds from 0 to 3600"),
        ("SIGNALBOX_INSTANCE", " ", "path of a folder"),
        ("SIGNALBOX_DATABASE_URL", "mysql://x", "sqlite:///PATH"),
        ("SIGNALBOX_ALLOWED_HOSTS", "*.example", "exact host name"),
        ("SIGNALBOX_ALLOWED_HOSTS", "box.example:80", "exact host name"),
        ("SIGNALBOX_LOG_LEVEL", "loud", "one of debug"),
        ("SIGNALBOX_THREADS", "100", "SIGNALBOX_MAX_SOCKETS + 32 = 232"),
        ("SIGNALBOX_PROT", "1", "did you mean SIGNALBOX_PORT?"),
    ],
)
def test_a_bad_value_is_named_with_its_remedy(variable: str, value: str, remedy: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({variable: value})
    assert variable in str(caught.value)
    assert remedy in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"SIGNALBOX_PORT": "x", "SIGNALBOX_MAX_RUNS": "y"})
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("text", ["port = [", "prot = 1"])
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "signalbox.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"signalbox\.toml"):
        Settings.from_env({}, toml_path=file)


def test_other_machines_are_let_in_by_name_only() -> None:
    with pytest.raises(SettingsError, match="SIGNALBOX_ALLOWED_HOSTS"):
        Settings.from_env({"SIGNALBOX_HOST": "0.0.0.0"})
    opened = Settings.from_env({"SIGNALBOX_HOST": "0.0.0.0", "SIGNALBOX_ALLOWED_HOSTS": "box.example"})
    assert not opened.is_loopback
    assert opened.base_url == "http://127.0.0.1:8421"


def test_the_example_file_holds_the_defaults(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "signalbox.toml.example"
    settings = [
        line[2:] for line in example.read_text().splitlines() if line.startswith("# ") and " = " in line
    ]
    file = tmp_path / "signalbox.toml"
    file.write_text("\n".join(settings))
    assert Settings.from_env({}, toml_path=file) == Settings.from_env({})
