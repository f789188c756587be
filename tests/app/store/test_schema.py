"""Migrations bring any database to the newest shape, and never touch one that is newer."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
import zlib
from array import array
from pathlib import Path

import pytest
from alembic import command
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from app.domain.answer_lines import answer_in
from app.store import schema, snapshot_answers, snapshots
from app.store.connections import migration_engine
from app.store.engine import Store

ROOT = Path(__file__).resolve().parents[3]


def test_a_fresh_database_gets_the_newest_schema_and_a_second_upgrade_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a' / 'b' / 'signalbox.db'}"
    schema.upgrade(url)
    first = _revision(url)
    schema.upgrade(url)
    assert _revision(url) == first == ScriptDirectory(str(ROOT / "migrations")).get_current_head()


def _revision(url: str) -> str:
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_a_database_of_a_newer_version_is_refused_with_a_remedy(database_url: str) -> None:
    with sqlite3.connect(database_url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(schema.SchemaTooNew, match="newer Signalbox") as caught:
        schema.upgrade(database_url)
    assert "Update" in (caught.value.hint or "")


def test_a_migration_that_breaks_half_way_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations"
    (folder / "versions").mkdir(parents=True)
    (folder / "env.py").write_text((schema.MIGRATIONS / "env.py").read_text())
    (folder / "versions" / "0001_broken.py").write_text(
        "from alembic import op\nimport sqlalchemy as sa\n"
        "revision, down_revision = '0001', None\n"
        "def upgrade():\n"
        "    op.create_table('half', sa.Column('id', sa.Integer))\n"
        "    raise RuntimeError('the power is gone')\n"
    )
    monkeypatch.setattr(schema, "MIGRATIONS", folder)
    path = tmp_path / "signalbox.db"
    with pytest.raises(RuntimeError, match="power"):
        schema.upgrade(f"sqlite:///{path}")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()


FIRST_RUN = """
INSERT INTO runs (id, name, recipe, dataset, params, tags, policy, profile, state, stop_requested, priority,
                  queued_at, created_at, attempt, step, latest)
VALUES ('a', 'a', 'r', 'd', '{}', '[]', '{}', 'auto', 'queued', 0, 0, 1, 1, 0, 0, '{}')
"""


FIRST_RUN_NOW = FIRST_RUN.replace("latest)", "latest, columns, environment, rungs)").replace(
    "'{}')", "'{}', '{}', '{}', '[]')"
)


def test_runs_of_the_first_version_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "signalbox.db"
    path.touch()
    engine = migration_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = schema._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.exec_driver_sql(FIRST_RUN)
    engine.dispose()
    schema.upgrade(f"sqlite:///{path}")
    database = sqlite3.connect(path)
    assert database.execute("SELECT environment, rungs FROM runs").fetchall() == [("{}", "[]")]
    database.close()


def _migrate(path: Path, revision: str, *statements: tuple[str, dict[str, object]]) -> None:
    """Bring a database up or down to a revision, and then run these statements."""
    engine = migration_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = schema._config()
        config.attributes["connection"] = connection
        known = MigrationContext.configure(connection).get_current_revision()
        (command.downgrade if known and known > revision else command.upgrade)(config, revision)
        for statement, values in statements:
            connection.execute(text(statement), values)
    engine.dispose()


def test_answers_of_older_snapshots_move_into_blocks_and_back(tmp_path: Path) -> None:
    path = tmp_path / "signalbox.db"
    path.touch()
    probes = [{"example_id": f"{row}", "input": "", "expected_output": ""} for row in range(300)]
    outputs = [{"top": [[f"d{row}", 0.5]], "note": "ünï\n" * (row % 7)} for row in range(300)]
    packed = zlib.compress(json.dumps(outputs).encode())
    losses = array("d", [float(row) if row % 50 else math.nan for row in range(300)])
    _migrate(
        path,
        "0007_scripts_of_runs",
        (FIRST_RUN_NOW, {}),
        (
            "INSERT INTO probe_sets (hash, task, num_examples, examples) "
            "VALUES ('p', 'retrieval', 300, :packed)",
            {"packed": zlib.compress(json.dumps(probes).encode())},
        ),
        (
            "INSERT INTO snapshots (id, run_id, dataset, task, attempt, step, t, model_version, probe_set, "
            "num_examples, summary, outputs) VALUES (7, 'a', 'd', 'retrieval', 1, 50, 1, 'v', 'p', 300, "
            "'{}', :packed)",
            {"packed": packed},
        ),
        (
            "INSERT INTO snapshot_columns (snapshot_id, name, \"values\") VALUES (7, 'loss', :losses)",
            {"losses": losses.tobytes()},
        ),
    )  # fmt: skip
    schema.upgrade(f"sqlite:///{path}")
    store = Store(f"sqlite:///{path}")
    with store.read() as session:
        (moved,) = snapshots.list_snapshots(session, "a", dataset="d")
        answers = snapshot_answers.read(session, moved)
        (way,) = snapshots.answers_over_time(session, "a", dataset="d", probe_set="p", row=251)
    store.close()
    told = [answer_in(answers[row]) for row in range(300)]
    assert [(one["top"][0]["document_id"], one["note"]) for one in told] == [
        (output["top"][0][0], output["note"]) for output in outputs
    ]
    assert (told[50]["loss"], told[51]["loss"]) == (None, 51.0)
    assert way[1] == answers[251]
    _migrate(path, "0007_scripts_of_runs")
    database = sqlite3.connect(path)
    (again,) = database.execute("SELECT outputs FROM snapshots").fetchone()
    database.close()
    assert json.loads(zlib.decompress(again)) == outputs


@pytest.mark.process
def test_models_and_migrations_agree() -> None:
    program = [sys.executable, "-m", "alembic", "-c", "migrations/alembic.ini", "check"]
    check = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr
