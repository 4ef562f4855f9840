"""Sessions over HTTP, with a real Studio: what a start without a free place answers, a restart, kill -9 of the server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator

import pytest
import requests

from studio.compute import machine
from studio.compute.sql import open_store
from tests.webapp.running import Studio, start_studio, until

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A Studio with one place for sessions."""
    home = tmp_path_factory.mktemp("crowded")
    studio = start_studio(home / "sampan", HOME=str(home), SAMPAN_CPU_SLOTS="1", MY_CLOUD_TOKEN="do-not-tell")
    yield studio
    studio.process.kill()
    studio.process.communicate()


@pytest.fixture(scope="module")
def api(crowded: Studio) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        session.headers.update(crowded.headers)
        yield session


def test_the_life_of_a_kernel(crowded: Studio, api: requests.Session) -> None:
    kernels = f"{crowded.url}api/kernels"
    database = crowded.home / ".studio" / "compute.sqlite3"
    with open_store(f"sqlite:///{database}") as store:
        kernel = api.post(kernels, json={"name": "sampan"}).json()["id"]
        (lease,) = store.leases()
        assert lease.holder is not None and machine.alive(lease.holder)

        refused = api.post(kernels, json={"name": "sampan"})
        assert refused.status_code == 503
        assert refused.json()["message"].startswith("All places are in use")
        assert "All places are in use" in refused.reason
        chinese = {"Accept-Language": "en", "Cookie": "sampan_lang=zh"}  # the setting, not the browser
        refused = api.post(kernels, json={"name": "sampan"}, headers=chinese)
        assert refused.status_code == 503 and refused.json()["message"].startswith("现在没有空位，排在你前面")
        page = api.get(f"{crowded.url}studio/page/tape", headers={"Accept-Language": "zh"})
        assert page.status_code == 503 and "没有空位" in page.text
        assert store.queue() == []

        assert api.post(f"{kernels}/{kernel}/restart").status_code == 200
        (again,) = store.leases()
        assert again.id == lease.id and again.holder != lease.holder and again.holder is not None
        os.kill(again.holder.pid, signal.SIGKILL)  # Jupyter starts it again by itself

        def restarted() -> bool:
            # Not by `leases`, which takes back what died. Who looks before Jupyter starts it again takes it back too:
            # then there is no lease for a moment, and another one afterwards.
            with sqlite3.connect(database) as connection:
                held = [pid for (pid,) in connection.execute("select pid from lease")]
            return len(held) == 1 and held[0] not in (again.holder.pid, crowded.process.pid)

        until(restarted)
        # Jupyter cannot end a kernel (500) between the moment when it runs and that when it has said so.
        until(lambda: api.delete(f"{kernels}/{kernel}").status_code == 204)
        assert store.leases() == []


def test_the_command_stops_a_kernel_through_its_server(crowded: Studio, api: requests.Session) -> None:
    """Killed behind the server's back, it would be started again."""
    kernel = api.post(f"{crowded.url}api/kernels", json={"name": "sampan"}).json()["id"]
    with open_store(f"sqlite:///{crowded.home}/.studio/compute.sqlite3") as store:
        (lease,) = store.leases()
        command = [sys.executable, "-m", "studio.cli", "session", "stop", lease.id[:6]]
        environment = {**os.environ, "SAMPAN_HOME": str(crowded.home), "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, f"Stopped {lease.id[:8]}.\n"), done.stderr
        assert store.leases() == []
    assert kernel not in [found["id"] for found in api.get(f"{crowded.url}api/kernels").json()]


def test_kill_of_the_server_takes_its_kernels_and_gives_the_leases_back(
    crowded: Studio, api: requests.Session
) -> None:
    with open_store(f"sqlite:///{crowded.home}/.studio/compute.sqlite3") as store:
        api.post(f"{crowded.url}api/kernels", json={"name": "sampan"})
        (lease,) = store.leases()
        crowded.process.kill()
        crowded.process.wait()
        assert lease.holder is not None
        until(lambda: not machine.alive(lease.holder), 20)  # type: ignore[arg-type]
        until(lambda: store.leases() == [])
