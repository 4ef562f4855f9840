"""Limits bind a process and its children before the first line runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from studio.compute import machine
from studio.compute.cgroup import sweep
from studio.compute.limits import Limits

pytestmark = [pytest.mark.servers, pytest.mark.skipif(sys.platform == "win32", reason="rlimits are POSIX")]
ROOMY = Limits(memory=1 << 30, processes=64)


def run(code: str, limits: Limits, **options: object) -> subprocess.CompletedProcess[str]:
    """A Python process bound by `limits` (and, as root, a person of its own: the process limit does not bind root)."""
    apply = (
        "import sys; sys.path.insert(0, {path!r})\n"
        "from studio.compute.limits import Limits\n"
        "import psutil, resource, os\n"
        "{before}\n{limits!r}.apply()\n"
    ).format(path=str(Path(__file__).parents[3] / "webapp"), limits=limits, before=options.pop("before", ""))
    return subprocess.run([sys.executable, "-c", apply + code], capture_output=True, text=True, timeout=60)


def test_memory_ends_in_a_memory_error_and_not_in_a_dead_machine() -> None:
    code = "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    print('refused')\nbytearray(100 << 20); print('still well')"
    result = run(code, ROOMY)
    assert result.stdout.split("\n")[:2] == ["refused", "still well"], result.stderr


def test_children_are_bound_as_well() -> None:
    code = (
        "import subprocess; subprocess.run([sys.executable, '-c', "
        "'import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[1])'])"
    )
    assert run(code, ROOMY).stdout.strip() == str(1 << 30)


def test_processes_are_counted_on_top_of_those_that_run() -> None:
    # The limit does not apply to root, so root switches to another account first.
    become = "os.getuid() == 0 and os.setuid(54321)"
    code = (
        "children = []\n"
        "try:\n"
        "    for _ in range(40):\n"
        "        pid = os.fork()\n"
        "        if pid == 0:\n"
        "            import signal; signal.pause()\n"
        "        children.append(pid)\n"
        "except BlockingIOError:\n"
        "    print('stopped at', len(children))\n"
        "finally:\n"
        "    for pid in children: os.kill(pid, 9)\n"
    )
    result = run(code, Limits(memory=1 << 30, processes=8), before=become)
    assert result.stdout.split()[:2] == ["stopped", "at"], result.stderr
    assert int(result.stdout.split()[2]) <= 8


def test_files_cores_and_cpu_time() -> None:
    code = (
        "names = ['CORE', 'NOFILE', 'FSIZE', 'CPU']\n"
        "print([resource.getrlimit(getattr(resource, 'RLIMIT_' + n)) for n in names])"
    )
    limits = Limits(memory=1 << 30, processes=64, files=100, file_bytes=1000, cpu_seconds=7)
    assert run(code, limits).stdout.strip() == "[(0, 0), (100, 100), (1000, 1000), (7, 12)]"


def test_a_limit_never_rises() -> None:
    code = "Limits(memory=2 << 30, processes=64).apply(); print(resource.getrlimit(resource.RLIMIT_DATA)[1])"
    assert run(code, ROOMY).stdout.strip() == str(1 << 30)


def lay_out(root: Path) -> None:
    """A tree as cgroup v2 shows it, in which our own group's nearest ancestor hands on what is needed."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if own is None:
        pytest.skip("this kernel shows no cgroup v2")
    (root / own).mkdir(parents=True, exist_ok=True)
    (root / "cgroup.controllers").write_text("cpu memory pids")
    (root / "cgroup.subtree_control").write_text("memory pids")
    (root / "cgroup.procs").write_text("")


def test_cgroup_is_made_beside_ours_where_that_is_handed_on(tmp_path: Path) -> None:
    """The files that cgroup v2 shows, laid out as Linux does; a real one needs a machine that delegates it."""
    assert ROOMY.cgroup("none", root=tmp_path) is None
    lay_out(tmp_path)
    (tmp_path / "cgroup.subtree_control").write_text("")
    assert ROOMY.cgroup("not-handed-on", root=tmp_path) is None
    lay_out(tmp_path)
    group = ROOMY.cgroup("a1", root=tmp_path)
    assert group is not None
    assert (group.folder / "memory.max").read_text() == str(1 << 30)
    assert (group.folder / "pids.max").read_text() == "64"
    group.add(os.getpid())
    assert (group.folder / "cgroup.procs").read_text() == str(os.getpid())
    (group.folder / "memory.events").write_text("low 0\noom 3\noom_kill 1\n")
    assert group.out_of_memory()


def test_groups_of_makers_that_are_gone_are_swept_and_no_others(tmp_path: Path) -> None:
    lay_out(tmp_path)
    mine = ROOMY.cgroup("mine", root=tmp_path)
    assert mine is not None
    me = machine.holder(os.getpid())
    begin = mine.folder.name.removesuffix(f"{me.pid}-{me.started:.0f}-mine")
    assert begin != mine.folder.name
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = tmp_path / f"{begin}{ended.pid}-123-grading-7"
    full = tmp_path / f"{begin}{ended.pid}-123-cannot-be-removed-yet"
    same_number = tmp_path / f"{begin}{os.getpid()}-1-a-process-before-this-one"
    elsewhere = tmp_path / f"sampan-1-{ended.pid}-123-in-another-container"
    not_ours = tmp_path / f"{begin}nobody"
    for folder in (left, full, same_number, elsewhere, not_ours):
        folder.mkdir()
    (full / "cgroup.kill").write_text("")
    assert sweep(tmp_path) == sorted([left.name, same_number.name])
    assert (full / "cgroup.kill").read_text() == "1"
    assert all(folder.is_dir() for folder in (mine.folder, full, elsewhere, not_ours))
    (full / "cgroup.kill").unlink()  # the kernel takes its files along; here they are files
    assert sweep(tmp_path) == [full.name]
