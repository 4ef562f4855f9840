"""Jobs: a script runs in the background under a lease, and how it stands is always to be read."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from studio import identity
from studio.compute import here, jobs, machine
from studio.compute.jobs import Job
from studio.compute.lease import Ask, Lease, Refused
from studio.compute.zygote.client import Zygote
from tests.webapp.running import until

pytestmark = pytest.mark.servers

ENDLESS = "import time\nprint('begun', flush=True)\ntime.sleep(600)\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with one CPU slot; no job outlives its test."""
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    monkeypatch.delenv("SAMPAN_STORE", raising=False)
    monkeypatch.setenv("SAMPAN_CPU_SLOTS", "1")
    monkeypatch.setenv("MY_CLOUD_TOKEN", "do-not-tell")
    yield tmp_path
    for job in jobs.all():
        jobs.cancel(job.id)
        over(job)
    here.store().close()


def script(home: Path, text: str, *arguments: str, queue: bool = True, **ask: Any) -> Job:
    (home / "script.py").write_text(text)
    asked = Ask(identity.local().name, "job", "script.py", memory=ask.pop("memory", 2 << 30), **ask)
    return jobs.start("script.py", arguments, ask=asked, cwd=home, queue=queue)


def over(job: Job) -> Job:
    """The job when it has ended."""
    return until(lambda: now if (now := jobs.find(job.id)).over else None)  # type: ignore[no-any-return]


def running(job: Job) -> Lease:
    """The lease of a job whose script has begun."""
    until(lambda: "begun" in job.log())
    (lease,) = here.store().leases()
    return lease


def test_a_job_of_two_workers_gets_two_places_and_goes_on_after_one_was_killed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMPAN_CPU_SLOTS", "2")
    told = (
        "import os, sys, time\n"
        "import sampan as paddle, sampan.distributed as dist\n"
        "dist.init_parallel_env()\n"
        "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0':\n"
        "    print(f'begun {os.getpid()}\\n', end='', flush=True); time.sleep(600)\n"
        "total = paddle.to_tensor(dist.get_rank() + 1.0)\n"
        "dist.all_reduce(total)\n"
        "print(sys.argv[1:], total.item())\n"
    )
    job = script(home, told, "--lr", "1", places=2, seconds=100)
    lease = running(job)
    assert lease.devices == ("cpu:0", "cpu:1")
    os.kill(int(job.log().split()[1]), signal.SIGKILL)
    ended = over(job)
    assert (ended.state, ended.status) == ("done", 0), ended.log()
    assert ended.log().endswith("['--lr', '1'] 3.0\n")
    assert [path.name for path in ended.files()] == ["workerlog.0", "workerlog.1"]
    assert here.store().leases() == []


def test_a_job_runs_to_its_end(home: Path) -> None:
    told = (
        "import sys, os, sampan\n"
        "print(sys.argv[1:], 'token' in str(os.environ).lower())\n"
        "for n in range(3):\n"
        "    sampan.session.progress(n + 1, 3, loss=1 / (n + 1))\n"
        "(sampan.session.artefacts() / 'model.txt').write_text('weights')\n"
        "print(sampan.session.device(), sampan.session.time_left() < 100)\n"
    )
    job = script(home, told, "--epochs", "3", seconds=100)
    assert job.state == "waiting"
    ended = over(job)
    assert (ended.state, ended.status, ended.why) == ("done", 0, ""), ended.log()
    assert ended.log().splitlines() == ["['--epochs', '3'] False", f"{ended.device} True"]
    assert ended.curve() == {"loss": [(1, 1.0), (2, 0.5), (3, 1 / 3)]}
    progress = ended.progress()
    assert progress is not None and progress.part == 1.0
    assert [(path.name, path.read_text()) for path in ended.files()] == [("model.txt", "weights")]
    assert here.store().leases() == [] and list((here.state() / "sessions").iterdir()) == []
    jobs.remove(ended.id)
    assert jobs.all() == [] and not ended.folder.exists()


def test_a_job_that_fails_says_how(home: Path) -> None:
    ended = over(script(home, "raise SystemExit(3)"))
    assert (ended.state, ended.status, ended.why) == ("failed", 3, "")
    ended = over(script(home, "bytearray(3 << 30)"))
    assert (ended.state, ended.why) == ("failed", "memory") and "MemoryError" in ended.log()
    ended = over(script(home, "import os; os.kill(os.getpid(), 9)"))
    assert (ended.state, ended.status, ended.why) == ("failed", -9, "killed")
    crash = "import os; os.kill(os.getpid(), 11)"
    ended = over(script(home, crash))
    assert (ended.state, ended.status, ended.why) == ("failed", -11, "crashed") and ended.log() == ""


@pytest.mark.parametrize("text", ["import sampan", "import os; os.kill(os.getpid(), 11)"])
def test_a_job_with_too_little_memory_for_the_library_is_told_how_much_it_takes(
    home: Path, text: str
) -> None:
    """The second as with torch for CUDA, whose import ends so; that for the CPU ends with an error."""
    ended = over(script(home, text, memory=128 << 20))
    assert (ended.state, ended.why) == ("failed", "memory")
    told = re.search(r"may have 128 MB of memory, and importing the library takes (\d+) MB on", ended.log())
    assert told and "仅导入库就需要" in ended.log()
    needed = int(told[1]) << 20
    assert over(script(home, "import sampan; print('yes')", memory=2 * needed)).log() == "yes\n"


def test_the_time_of_a_job_is_up_unless_it_is_extended(home: Path) -> None:
    job = script(home, ENDLESS, seconds=5)
    longer = here.store().extend(job.lease, 2)
    ended = over(job)
    assert (ended.state, ended.why) == ("failed", "time") and ended.ended >= longer.ends >= longer.granted + 7


def test_a_cancelled_job_leaves_nothing_behind(home: Path) -> None:
    stubborn = (
        "import signal, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(f'begun {child.pid}\\n', end='', flush=True)\n"
        "while True: time.sleep(0.01)\n"  # a signal just before one long sleep would not end it
    )
    job = script(home, stubborn)
    running(job)
    child = int(job.log().split()[1])
    with pytest.raises(ValueError, match="cancel it first"):
        jobs.remove(job.id)
    jobs.cancel(job.id)
    ended = over(job)
    assert ended.state == "cancelled" and "KeyboardInterrupt" in ended.log()  # it could have saved its work
    assert machine.started(child) is None
    assert here.store().leases() == []


def test_a_job_waits_for_its_turn_or_not(home: Path) -> None:
    first = script(home, ENDLESS)
    running(first)
    with pytest.raises(Refused, match="All places are in use"):
        script(home, "print('never')", queue=False)
    second = script(home, "print('begun')")
    assert until(lambda: jobs.find(second.id).supervisor)
    assert jobs.find(second.id).state == "waiting" and len(here.store().queue()) == 1
    third = script(home, "print('never')")
    jobs.cancel(third.id)
    assert over(third).state == "cancelled" and over(third).log() == ""
    jobs.cancel(first.id)
    assert over(second).state == "done"
    assert [job.id for job in jobs.all()] == [third.id, second.id, first.id]


def test_whoever_is_killed_the_lease_comes_back(home: Path) -> None:
    job = script(home, ENDLESS)
    lease = running(job)
    supervisor = jobs.find(job.id).supervisor
    assert supervisor is not None and lease.holder is not None and psutil.Process(supervisor.pid).ppid() == 1
    os.kill(supervisor.pid, signal.SIGKILL)
    until(lambda: not machine.alive(lease.holder))
    assert over(job).state == "lost"
    until(lambda: here.store().leases() == [])


def test_a_job_comes_from_the_warm_process_and_outlives_the_studio(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "studio.compute.zygote.client.WARM", ("json",)
    )  # warm at once; what it knows is not tried here
    studio = Zygote(here.state())
    with studio.kept():
        door = here.state() / "zygote.sock"
        until(door.exists)
        ended = over(script(home, "import sys; print(sys.argv); raise SystemExit(4)", "a"))
        assert (ended.state, ended.status) == ("failed", 4)
        assert ended.log() == f"{[str(home / 'script.py'), 'a']}\n"
        job = script(
            home,
            "import os, time\nprint('begun', os.getppid())\nwhile not os.path.exists('go'): time.sleep(0.02)",
        )
        running(job)
        parent = int(job.log().split()[1])
        supervisor = jobs.find(job.id).supervisor
        assert supervisor is not None and parent != supervisor.pid  # it is a fork
        studio.stop()  # the Studio is stopped, or starts again
        assert machine.started(parent) is not None
        (home / "go").touch()
        assert over(job).state == "done"
        until(lambda: machine.started(parent) is None)


def test_what_cannot_be_started(home: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"script 'nothing\.py' was not found"):
        jobs.start("nothing.py", ask=Ask("ann", "job"), cwd=home)
    with pytest.raises(Refused, match="no GPU"):
        script(home, "", kind="gpu")
    with pytest.raises(LookupError):
        jobs.cancel("nothing")
    assert jobs.all() == [] and here.store().leases() == []
