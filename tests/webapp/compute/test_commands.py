"""`sampan session`, `sampan run` and `sampan job`: what they print, and their exit statuses."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studio.cli import main
from studio.compute import commands, here, jobs, machine
from studio.compute.lease import Ask, Lease

pytestmark = pytest.mark.servers

SCRIPT = """
import sys, sampan
print(sys.argv[1:])
sampan.session.progress(1, 2, loss=0.5)
(sampan.session.artefacts() / "model.txt").write_text("weights")
raise SystemExit(int(sys.argv[1]))
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with one place, in English."""
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    monkeypatch.delenv("SAMPAN_STORE", raising=False)
    monkeypatch.setenv("SAMPAN_CPU_SLOTS", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "endless.py").write_text("import time; time.sleep(600)")
    yield tmp_path
    for job in jobs.all():
        jobs.cancel(job.id)
    end = time.monotonic() + 30
    while not all(job.over for job in jobs.all()):
        assert time.monotonic() < end
        time.sleep(0.05)
    here.store().close()


@pytest.fixture
def sampan(capfd: pytest.CaptureFixture[str]) -> Run:
    """`status, out, err = sampan("job", "list")`."""

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        status = main(words)
        return status, *capfd.readouterr()

    return run


def test_a_job_is_followed_to_its_end_and_its_status_is_ours(
    sampan: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = sampan(
        "run", "--memory", "1G", "train.py", "3", "--epochs", "5", "--follow", "--", "--gpu", "1"
    )
    assert status == 3
    begun, printed, over, made = out.splitlines()
    id = re.fullmatch(r"Job (\S+) has started on cpu:0\.", begun)
    assert id is not None
    assert printed == "['3', '--epochs', '5', '--gpu', '1']"  # what is no option of ours is the script's
    assert over == f"Job {id[1]}: failed." and made.startswith("Output files (1): ")
    assert jobs.find(id[1]).ask.memory == 1 << 30

    assert sampan("job", "log", id[1][-6:])[:2] == (0, f"{printed}\n")
    head, row = sampan("job", "list")[1].splitlines()
    assert head.split() == ["id", "state", "device", "progress", "runtime", "title"]
    assert row.split()[:4] == [id[1], "failed", "cpu:0", "50%"]
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "失败" in sampan("job", "list")[1]
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert sampan("job", "remove", id[1])[0] == 0
    assert sampan("job", "list")[1] == "There are no jobs.\n"


def test_a_session_of_a_job_is_listed_extended_and_stopped(sampan: Run) -> None:
    status, out, _ = sampan("run", "endless.py", "--time", "10m")
    assert status == 0 and "sampan job log" in out
    id = out.split()[1]
    end = time.monotonic() + 30
    while jobs.find(id).state != "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    head, row = sampan("session", "list")[1].splitlines()
    assert head.split()[:4] == ["id", "device", "owner", "type"]
    session, device, _, what, memory, _, left, title = row.split()
    assert (device, what, title) == ("cpu:0", "job", "endless.py")
    assert re.fullmatch(r"0\.\dG/4\.0G", memory) and re.fullmatch(r"0:09:\d\d|0:10:00", left)

    status, out, _ = sampan("session", "extend", session, "1h")
    assert status == 0 and re.search(r" 1:(09:\d\d|10:00)\.", out)
    status, out, _ = sampan("session", "extend", session, "40d")
    assert status == 0 and re.search(r" (23:5\d:\d\d|24:00:00)\.", out)  # as much as is allowed
    status, _, err = sampan("session", "extend", session, "1h")
    assert status == 1 and "24 hours" in err

    status, _, err = sampan("run", "train.py", "0")
    assert status == 1 and err.startswith("All places are in use")
    status, out, _ = sampan("run", "--queue", "train.py", "0")
    assert status == 0 and "is waiting in the queue" in out
    waiting = out.split()[1]
    assert sampan("job", "cancel", waiting)[0] == 0
    assert sampan("job", "remove", id)[0] == 1

    assert sampan("session", "stop", session)[0] == 0
    assert sampan("job", "log", id, "--follow")[0] == 1
    assert jobs.find(id).state == "cancelled"
    assert sampan("session", "list")[1] == "No session is running.\n"


def test_stopping_what_no_server_runs(sampan: Run) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        lease = here.store().take(Ask("ann", "notebook", memory=1 << 20), holder=machine.holder(process.pid))
        assert isinstance(lease, Lease)
        assert sampan("session", "list")[1] == "No session is running.\n"  # it is ann's
        assert lease.id[:8] in sampan("session", "list", "--everyone")[1]
        assert sampan("session", "stop", lease.id[:8])[0] == 0
        assert process.wait(timeout=60) != 0
    assert here.store().leases() == []


def test_a_job_outlives_the_terminal(home: Path) -> None:
    """The command is started in a session of its own, which is then hung up and killed."""
    command = [sys.executable, "-m", "studio.cli", "run", "endless.py", "--follow"]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True) as terminal:
        assert terminal.stdout is not None
        id = terminal.stdout.readline().split()[1]
        end = time.monotonic() + 30
        while jobs.find(id).state != "running":
            assert time.monotonic() < end
            time.sleep(0.05)
        os.killpg(terminal.pid, 1)
        os.killpg(terminal.pid, 9)
    (lease,) = here.store().leases()
    assert lease.holder is not None and machine.alive(lease.holder)
    assert jobs.find(id).state == "running"


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "train.py", "--gpu", "2"),
        ("run", "train.py", "--memory", "lots"),
        ("run", "train.py", "--time", "5"),
        ("run", "train.py", "--gpu", "1", "--cpu"),
        ("session", "extend", "abc", "later"),
    ],
)
def test_what_is_not_understood_has_status_2(sampan: Run, words: tuple[str, ...]) -> None:
    try:
        status = sampan(*words)[0]
    except SystemExit as end:
        status = end.code  # type: ignore[assignment]
    assert status == 2
    assert jobs.all() == []


@pytest.mark.parametrize(
    "words",
    [
        ("run", "nothing.py"),
        ("run", "train.py", "--gpu", "1"),
        ("session", "stop", "abc"),
        ("session", "extend", "abc", "1h"),
        ("job", "log", "abc"),
        ("job", "cancel", "abc"),
        ("job", "remove", "abc"),
    ],
)
def test_what_cannot_be_has_status_1_and_a_sentence(sampan: Run, words: tuple[str, ...]) -> None:
    status, out, err = sampan(*words)
    assert (status, out) == (1, "") and err.strip().endswith((".", "here."))


def test_sizes_and_times() -> None:
    assert [commands.size(text) for text in ("512M", "1.5G", "2GiB", "100k")] == [
        512 << 20,
        3 << 29,
        2 << 30,
        102400,
    ]
    assert [commands.duration(text) for text in ("90s", "30m", "1.5h", "1d")] == [90, 1800, 5400, 86400]
    for wrong in ("", "4", "G", "-1G", "0M", "1T"):
        with pytest.raises(argparse.ArgumentTypeError, match="512M"):
            commands.size(wrong)
    for wrong in ("", "4", "h", "-1h", "0m", "1w"):
        with pytest.raises(argparse.ArgumentTypeError, match="30m"):
            commands.duration(wrong)
