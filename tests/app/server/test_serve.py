"""The server as a process: one per folder, quick to stop, hard to lose anything with."""

from __future__ import annotations

import os
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import socketio

from tests.app.serving import Dashboard, wait_for

pytestmark = pytest.mark.process


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    running = Dashboard(tmp_path / "instance")
    yield running
    running.close()


def logged_in_socket(dashboard: Dashboard) -> socketio.Client:
    client = socketio.Client(reconnection=False)
    headers = {"Authorization": f"Bearer {dashboard.token()}"}
    client.connect(
        dashboard.url, namespaces=["/viewer"], headers=headers, transports=["websocket"], wait_timeout=10
    )
    return client


def test_it_starts_says_where_it_is_and_stops_in_time_with_open_sockets(dashboard: Dashboard) -> None:
    dashboard.start()
    assert f"Signalbox listens on {dashboard.url}" in dashboard.output
    client = logged_in_socket(dashboard)
    before = time.monotonic()
    assert dashboard.terminate() == 0
    assert time.monotonic() - before <= 5
    wait_for(lambda: not client.connected, what="the good-bye")
    client.disconnect()
    assert "Traceback" not in dashboard.output


def test_the_login_link_works_once(dashboard: Dashboard) -> None:
    dashboard.start()
    page = {"Origin": dashboard.url, "X-Requested-By": "signalbox"}
    code = dashboard.login_code()
    status, _, headers = dashboard.request("POST", "/api/login", body={"code": code}, headers=page)
    assert status == 200
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert dashboard.request("GET", "/api/runs", headers={"Cookie": cookie})[0] == 200
    assert dashboard.request("POST", "/api/login", body={"code": code}, headers=page)[0] == 401
    fresh = dashboard.run_app("login-link").partition("#code=")[2]
    assert dashboard.request("POST", "/api/login", body={"code": fresh}, headers=page)[0] == 200


def test_a_second_server_on_the_same_folder_leaves_with_one_line(dashboard: Dashboard) -> None:
    dashboard.start()
    second = Dashboard(dashboard.instance).spawn()
    output, _ = second.communicate(timeout=20)
    assert second.returncode == 2
    assert "another server" in output
    assert "SIGNALBOX_INSTANCE" in output
    assert len(output.strip().splitlines()) == 1
    assert dashboard.is_up()


def test_a_taken_port_is_named_with_who_has_it(dashboard: Dashboard) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", dashboard.port))
        other.listen()
        process = dashboard.spawn()
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert f"port {dashboard.port}" in output
    assert f"pid {os.getpid()}" in output
    assert "SIGNALBOX_PORT" in output


def test_bad_settings_are_said_in_one_line_each(tmp_path: Path) -> None:
    process = Dashboard(tmp_path, SIGNALBOX_MAX_RUNS="many", SIGNALBOX_LOG_LEVEL="loud").spawn()
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert len(output.strip().splitlines()) == 2
    assert "Traceback" not in output


def test_other_machines_are_let_in_only_once_there_is_an_owner_token(tmp_path: Path) -> None:
    dashboard = Dashboard(
        tmp_path / "instance", SIGNALBOX_HOST="0.0.0.0", SIGNALBOX_ALLOWED_HOSTS="box.example"
    )
    process = dashboard.spawn()
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "token create --scope owner" in output


def test_a_killed_worker_comes_back_by_itself(dashboard: Dashboard) -> None:
    dashboard.start()
    token = dashboard.token()
    first = dashboard.worker()
    first.kill()
    wait_for(lambda: dashboard.is_up() and dashboard.worker().pid != first.pid, what="a new worker")
    assert dashboard.request("GET", "/api/runs", token=token)[0] == 200


def test_after_a_killed_parent_the_next_start_takes_over(dashboard: Dashboard) -> None:
    dashboard.start()
    client = logged_in_socket(dashboard)
    orphan = dashboard.worker()
    assert dashboard.process is not None
    dashboard.process.send_signal(signal.SIGKILL)
    dashboard.process.wait(10)
    again = Dashboard(dashboard.instance, port=dashboard.port)
    try:
        again.start()
        assert not psutil.pid_exists(orphan.pid) or orphan.status() == psutil.STATUS_ZOMBIE
    finally:
        again.close()
        client.disconnect()


def test_what_it_writes_is_for_its_owner_only(dashboard: Dashboard) -> None:
    dashboard.start()
    open_to_others = [
        path
        for path in dashboard.instance.rglob("*")
        if stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO)
    ]
    assert open_to_others == []


def test_the_log_holds_no_secret_and_one_line_per_event(dashboard: Dashboard) -> None:
    dashboard.start()
    token = dashboard.token()
    page = {"Origin": dashboard.url, "X-Requested-By": "signalbox"}
    dashboard.request("POST", "/api/login", body={"code": "x\ny 2026 fake line"}, headers=page)
    dashboard.request("GET", "/api/none%0afake%1b[31m", token=token)
    wait_for(lambda: "login refused" in dashboard.output, what="the audit line")
    assert token not in dashboard.output
    assert not any(line.startswith("y 2026 fake") for line in dashboard.lines)
    assert "\x1b" not in dashboard.output
