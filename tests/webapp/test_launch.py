"""Starting the Studio: where it is, what a second start does, and what it says when it cannot start."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Any

import psutil
import pytest
import requests

from studio import cli, runtime
from studio import launch as launching
from studio.launch import about_former, alone, base
from studio.paths import WorkspaceError, checkout, state_folder, workspace
from tests.webapp.running import Studio, free_port, start_studio, studio_command

pytestmark = pytest.mark.servers

READY_S = 10  # the promise of `make studio`, run again
COLD = {
    "SAMPAN_WARM_KERNELS": "0"
}  # no kernel is started in it: the imports of the warm process would be for nothing


def run_studio(home: Path, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        studio_command(*arguments),
        env={**os.environ, "SAMPAN_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_ready_in_time_and_stopped_by_one_interrupt(tmp_path: Path) -> None:
    studio = start_studio(tmp_path)
    try:
        # Its own computing time: on a machine with nothing else to do that is the time a person waits.
        used = psutil.Process(studio.process.pid).cpu_times()
        assert used.user + used.system < READY_S
        assert (state_folder(tmp_path) / f"studio-{studio.port}.json").stat().st_mode & 0o077 == 0
    finally:
        printed = studio.stop()
    assert studio.process.returncode == 0
    assert f"http://127.0.0.1:{studio.port}/studio?token={studio.token}" in printed
    assert "Traceback" not in printed and "Warning" not in printed and "[W" not in printed, printed
    assert list(state_folder(tmp_path).glob("studio-*.json")) == []


@pytest.mark.parametrize("moment", ["starting", "starting again"])
def test_it_stops_while_kernels_start(tmp_path: Path, moment: str) -> None:
    """Jupyter refuses to end a kernel just then; the Studio asks again, and leaves none behind."""
    studio = start_studio(tmp_path)
    ours = psutil.Process(studio.process.pid)
    kernels = f"{studio.url}api/kernels"
    with ThreadPoolExecutor(4) as pool:
        # One that never starts: Jupyter keeps its number for ever among those that are about to.
        requests.post(kernels, json={"name": "python3"}, headers=studio.headers, timeout=60)
        replies = [
            pool.submit(requests.post, kernels, json={"name": "sampan"}, headers=studio.headers, timeout=60)
            for _ in range(4)
        ]
        if moment == "starting again":
            for reply in replies:
                again = f"{kernels}/{reply.result().json()['id']}/restart"
                pool.submit(requests.post, again, headers=studio.headers, timeout=60)
        time.sleep(0.2)
        below = ours.children(recursive=True)
        studio.stop()
    assert studio.process.returncode == 0
    assert psutil.wait_procs(below, timeout=60)[1] == []


def test_a_second_studio_points_at_the_first(studio: Studio) -> None:
    before = os.times()
    second = run_studio(studio.home)
    used = os.times().children_user - before.children_user
    assert second.returncode == 0, second.stderr
    assert f"http://127.0.0.1:{studio.port}/studio?token={studio.token}" in second.stdout
    assert used < READY_S  # 0.6 s by itself: it loads no server


def test_with_a_port_a_second_studio_starts(studio: Studio) -> None:
    port = free_port()
    second = start_studio(studio.home, "--port", str(port), **COLD)
    try:
        assert second.port == port and second.token != studio.token
    finally:
        second.stop()
    assert runtime.find(state_folder(studio.home)).pid == studio.process.pid  # type: ignore[union-attr]


def test_port_taken_by_another_program(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run_studio(tmp_path, "--port", str(port))
    assert result.returncode == 1
    assert f"Port {port} is in use by another program" in result.stderr and "--port" in result.stderr
    assert "Traceback" not in result.stderr


def test_port_taken_by_a_studio_names_its_address(studio: Studio) -> None:
    result = run_studio(studio.home, "--port", str(studio.port))
    assert result.returncode == 1
    assert f"Port {studio.port}" in result.stderr and studio.token in result.stderr


def test_without_a_port_the_next_free_one_is_taken(tmp_path: Path) -> None:
    first = start_studio(tmp_path / "one", **COLD)
    try:
        second = start_studio(tmp_path / "two", **COLD)
        second.stop()
    finally:
        first.stop()
    assert second.port != first.port


def test_two_starts_at_the_same_moment_make_one_studio(tmp_path: Path) -> None:
    environment = {**os.environ, "SAMPAN_HOME": str(tmp_path), **COLD}
    both = [
        subprocess.Popen(studio_command(), env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        done = None
        deadline = time.monotonic() + 60
        while done is None and time.monotonic() < deadline:
            done = next((process for process in both if process.poll() is not None), None)
            time.sleep(0.05)
        assert done is not None and done.returncode == 0
        assert "already running" in done.communicate()[0]
        assert [process.poll() for process in both].count(None) == 1
    finally:
        for process in both:
            process.terminate()
            process.communicate(timeout=30)


def test_a_killed_studio_is_forgotten(tmp_path: Path) -> None:
    studio = start_studio(tmp_path, **COLD)
    family = psutil.Process(studio.process.pid).children(recursive=True)
    assert not any("zygote" in " ".join(child.cmdline()) for child in family)  # as it was told
    studio.process.kill()
    studio.process.communicate()
    assert list(state_folder(tmp_path).glob("studio-*.json")) != []
    assert runtime.find(state_folder(tmp_path)) is None
    assert list(state_folder(tmp_path).glob("studio-*.json")) == []


def test_a_studio_that_hangs_is_named(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    monkeypatch.setattr(launching, "ANSWER_S", 1.0)
    state = state_folder(tmp_path)
    state.mkdir(parents=True)
    with socket.socket() as silent:  # listens, never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        runtime.write(state, runtime.this_process(port, f"http://127.0.0.1:{port}/", "secret"))
        assert launching.launch(None, browser=False) == 1
    said = capsys.readouterr().err
    assert f"process {os.getpid()}" in said and "does not answer" in said


def test_a_studio_that_is_slow_to_answer_is_waited_for(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    studio = start_studio(tmp_path, **COLD)
    try:
        studio.process.send_signal(signal.SIGSTOP)
        Timer(4, lambda: studio.process.send_signal(signal.SIGCONT)).start()
        assert launching.launch(None, browser=False) == 0
    finally:
        studio.process.send_signal(signal.SIGCONT)
        studio.stop()
    assert "already running" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"pid": 1}', "not json", '{"pid": 1, "more": 2}'], ids=repr
)
def test_a_foreign_runtime_file_is_put_away(tmp_path: Path, content: str) -> None:
    (tmp_path / "studio-8866.json").write_text(content)
    assert runtime.find(tmp_path) is None
    assert not (tmp_path / "studio-8866.json").exists()


def test_a_reused_process_number_is_not_the_studio(tmp_path: Path) -> None:
    mine = runtime.this_process(8866, "http://127.0.0.1:8866/", "t")
    assert mine.lives()
    other = runtime.Running(mine.pid, mine.started - 60, mine.port, mine.url, mine.token)
    assert not other.lives()


def test_a_zombie_is_not_running() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        started = process.create_time()
        deadline = time.monotonic() + 10
        while process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.02)
        assert process.status() == psutil.STATUS_ZOMBIE
        assert not runtime.Running(child.pid, started, 1, "", "").lives()


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"before")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        runtime.write_atomically(target, b"after")
    assert target.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("port", ["0", "65536", "-1", "eight", "", "80.5"])
def test_a_port_that_is_none(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["studio", f"--port={port}"])
    assert stopped.value.code == 2
    assert "from 1 to 65535" in capsys.readouterr().err


def test_a_workspace_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run_studio(tmp_path / "file")
    assert result.returncode == 1
    assert "must be a folder" in result.stderr and "Traceback" not in result.stderr


def test_workspace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path / "mine"))
    assert workspace() == tmp_path / "mine"
    monkeypatch.delenv("SAMPAN_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert workspace() == tmp_path / "sampan-work" and about_former(workspace()) == ""
    monkeypatch.setenv("SAMPAN_HOME", "here")
    with pytest.raises(WorkspaceError, match="'here'"):
        workspace()


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder in which SAMPAN_HOME is not set."""
    monkeypatch.delenv("SAMPAN_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def clone(folder: Path) -> Path:
    """The layout of a checkout."""
    for part in ("lib/sampan", "webapp/studio", "notebooks/checks"):
        (folder / part).mkdir(parents=True)
    return folder


def test_a_workspace_of_an_earlier_version_is_kept(person: Path) -> None:
    state_folder(person / "sampan").mkdir(parents=True)
    assert workspace() == person / "sampan"
    assert "as before" in about_former(workspace())
    (person / "sampan-work").mkdir()  # the person has changed over
    assert workspace() == person / "sampan-work" and about_former(workspace()) == ""


def test_a_folder_named_sampan_without_a_workspace_in_it_is_left_alone(person: Path) -> None:
    (person / "sampan").mkdir()
    (person / "sampan" / "letter.txt").write_text("")
    assert workspace() == person / "sampan-work" and about_former(workspace()) == ""


def test_a_clone_in_the_home_folder_is_not_the_workspace(person: Path) -> None:
    clone(person / "sampan")
    assert workspace() == person / "sampan-work" and about_former(workspace()) == ""
    state_folder(person / "sampan").mkdir()  # an earlier version had worked in the clone
    assert workspace() == person / "sampan-work"
    said = about_former(workspace())
    assert "is a checkout" in said and str(person / "sampan" / "notebooks") in said


@pytest.mark.parametrize("where", ["", "notebooks", "work/deep"])
def test_a_workspace_in_a_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    root = clone(tmp_path / "mine")
    (tmp_path / "link").symlink_to(root)
    for folder in (root, tmp_path / "link"):
        monkeypatch.setenv("SAMPAN_HOME", str(folder / where))
        with pytest.raises(WorkspaceError, match=f"outside of every checkout .* is in {root}: .*SAMPAN_HOME"):
            workspace()
    assert not (root / "work").exists()


def test_copies_that_a_link_would_put_into_a_checkout_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = clone(tmp_path / "mine")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("SAMPAN_HOME", str(home))
    assert workspace() == home and checkout(home) is None
    (home / "notebooks").symlink_to(root / "notebooks")
    with pytest.raises(WorkspaceError, match="notebooks is in"):
        workspace()


@pytest.mark.parametrize("command", [["studio", "--no-browser"], ["session", "list"], ["job", "list"]])
def test_every_command_refuses_this_repository_as_workspace(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).resolve().parents[2]
    before = (root / ".studio").exists()
    monkeypatch.setenv("SAMPAN_HOME", str(root))
    monkeypatch.delenv("SAMPAN_STORE", raising=False)
    assert cli.main(command) == 1
    assert "The workspace cannot be used: " in capsys.readouterr().err
    assert (root / ".studio").exists() == before


@pytest.mark.parametrize("command", ["studio --no-browser", "job list", "grade ."])
def test_without_the_studio_extra_a_command_says_what_to_install(command: str) -> None:
    code = f"import sys; sys.modules['psutil'] = None; from studio import cli; sys.exit(cli.main({command.split()}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "needs the package psutil" in result.stderr and "sampan[studio]" in result.stderr
    assert "Traceback" not in result.stderr


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.startswith("sampan ")


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    assert alone(None, "t", open_browser=False).ServerApp.ip == "127.0.0.1"
    settings = base(tmp_path)
    assert settings.ServerApp.terminals_enabled is False
    assert json.dumps(settings.ServerApp.jpserver_extensions) == '{"jupyterlab": true, "studio.server": true}'


def test_a_studio_whose_pages_failed_is_not_ready(tmp_path: Path) -> None:
    """The database of leases cannot be opened, so the extension fails."""
    state = state_folder(tmp_path)
    (state / "compute.sqlite3").mkdir(parents=True)
    run = run_studio(tmp_path)
    assert run.returncode == 1
    assert "ready" not in run.stdout
    assert run.stderr.count("The Studio could not start.") == 1 and "compute.sqlite3" in run.stderr


# The command, which waits a second for another's transaction, where the Studio waits ten.
IMPATIENT = (
    "import sys; from studio import cli; from studio.compute import opening; opening.WAIT_S = 1.0; "
    "sys.exit(cli.main(sys.argv[1:]))"
)


def test_a_locked_database_is_named(tmp_path: Path) -> None:
    state = state_folder(tmp_path)
    state.mkdir(parents=True)
    with closing(sqlite3.connect(state / "compute.sqlite3", isolation_level=None)) as other:
        other.execute("create table t (x)")
        other.execute("begin exclusive")
        run = subprocess.run(
            [sys.executable, "-c", IMPATIENT, "studio", "--no-browser"],
            env={**os.environ, "SAMPAN_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert run.returncode == 1 and "ready" not in run.stdout
    assert "locked" in run.stderr and str(tmp_path) in run.stderr and "Traceback" not in run.stderr
