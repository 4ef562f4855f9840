"""Submissions that try to read, to break out, to use up the machine, or to do harm: what each gets for it, and that
the next submission of the same warm process is graded rightly.

Each attack runs inside a cell that the exercise needs, in front of a right solution: so the verdict tells whether the
attack was survived, and what it prints tells what it reached.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from studio import paths
from studio.grading import sandbox
from studio.grading.grader import Report
from tests.webapp.grading.book import HEAD, SOLUTION

pytestmark = [pytest.mark.alone, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs Linux")]
RIGHT = HEAD + SOLUTION


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For code that does not heed its alarm, and is ended from outside: each test would wait for that."""
    monkeypatch.setattr(sandbox, "GRACE_SECONDS", 0.5)


def after(attack: str) -> str:
    """A cell that attacks and then holds the right solution."""
    return f"{textwrap.dedent(attack)}\n\n{RIGHT}"


@pytest.fixture
def attacked(graded: Callable[..., Report]) -> Iterator[Callable[..., Report]]:
    """Grades an attack; after the test the next submission has to be graded rightly."""
    yield lambda cell, *more, limit=10.0: graded(cell, *more, limit=limit)
    assert graded(RIGHT).passed, "the next submission"


def said(report: Report) -> str:
    """What the attack printed, before the visible check printed its own."""
    return report.output.split("autograd.unbroadcast: 5 of 5 cases")[0].strip()


READ = """
import pathlib
reached = []
for name in {names!r}:
    try:
        path = pathlib.Path(name)
        reached.append((name, sorted(path.iterdir()) if path.is_dir() else path.read_bytes()[:20]))
    except OSError:
        pass
print("reached", reached)
"""


def test_reading_the_checks_the_course_other_work_and_secrets(attacked, course, tmp_path):
    other = tmp_path / "other.ipynb"
    other.write_text("somebody else's")
    root = paths.NOTEBOOKS.parent
    names = [
        *(course, course.parent / "checks" / "lesson.py", other, tmp_path),
        *(paths.NOTEBOOKS, root / ".git", root / "tests", root / "README.md", paths.workspace()),
        *(
            "/etc/passwd",
            "/etc/shadow",
            "/etc/hostname",
            "/root/.ssh",
            "/root/.bashrc",
            Path.home() / ".profile",
        ),
        *("/var", "/run", "/srv", "/mnt", "/proc/1/environ/x", "/sys", "/dev/mem", "/dev/kmsg", "/dev/fuse"),
    ]
    report = attacked(after(READ.format(names=[str(name) for name in names])))
    assert report.passed and said(report) == "reached []"


def test_the_environment_and_the_processes_of_others(attacked, monkeypatch):
    monkeypatch.setenv("JUPYTER_TOKEN", "top-secret")
    report = attacked(
        after(
            """
            import glob, os
            print(dict(os.environ))
            for name in glob.glob("/proc/[0-9]*"):
                print(os.path.basename(name), open(name + "/environ", "rb").read(), open(name + "/cmdline").read())
            print("others", [pid for pid in os.listdir("/proc") if pid.isdecimal() and pid != "1"])
            """
        )
    )
    assert report.passed and said(report).endswith("others []")
    assert "top-secret" not in said(report) and "JUPYTER" not in said(report)


def test_writing_outside_of_the_work_folder(attacked, tmp_path):
    tmp_path.chmod(0o777)
    places = [
        str(tmp_path),
        str(paths.PACKAGE),
        str(paths.NOTEBOOKS),
        "/usr",
        "/",
        "/etc",
        "/dev",
        "/home",
        "/var/tmp",
    ]
    report = attacked(
        after(
            f"""
            import os, sys, sampan
            written = []
            for place in {places!r} + [sys.prefix, sys.base_prefix, os.path.dirname(sampan.__file__), "/proc/sys/kernel"]:
                try:
                    open(os.path.join(place, "left-behind"), "w").close()
                    written.append(place)
                except OSError:
                    pass
            for name in (sampan.__file__, sys.executable, "/proc/self/exe", "/proc/sys/user/max_user_namespaces"):
                for act in (lambda: open(name, "r+b"), lambda: os.chmod(name, 0o777), lambda: os.unlink(name)):
                    try:
                        act()
                        written.append(name)
                    except OSError:
                        pass
            open("mine", "w").write("allowed")
            print("written", written)
            """
        )
    )
    assert report.passed and said(report) == "written []"
    assert not (tmp_path / "left-behind").exists()


def test_sockets_of_the_machine(attacked, tmp_path):
    """A server on this machine, by port, by abstract name and by path; families that no namespace confines."""
    with (
        socket.socket() as port,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
    ):
        port.bind(("127.0.0.1", 0))
        name = f"\0sampan-test-{os.getpid()}"
        abstract.bind(name)
        path = tempfile.mktemp(prefix="sampan-", dir="/tmp")
        named.bind(path)
        os.chmod(path, 0o777)
        for server in (port, abstract, named):
            server.listen()
        report = attacked(
            after(
                f"""
                import socket
                reached = []
                def attempt(family, kind, address):
                    try:
                        with socket.socket(family, kind) as made:
                            made.settimeout(1)
                            made.connect(address)
                        reached.append((family, address))
                    except OSError:
                        pass
                attempt(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {port.getsockname()[1]}))
                attempt(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53))
                attempt(socket.AF_UNIX, socket.SOCK_STREAM, {name!r})
                attempt(socket.AF_UNIX, socket.SOCK_STREAM, {path!r})
                for family in range(3, 50):
                    if family != socket.AF_INET6:
                        try:
                            socket.socket(family, socket.SOCK_RAW).close()
                            reached.append(family)
                        except OSError:
                            pass
                print("reached", reached)
                """
            )
        )
        os.unlink(path)
    assert report.passed and said(report) == "reached []"


def test_namespaces_and_calls_that_look_into_the_kernel(attacked):
    """Each call is made as it is; EPERM (or ENOSYS for clone3) has to come back before the kernel looks at arguments."""
    report = attacked(
        after(
            """
            import ctypes, errno, pyseccomp
            libc = ctypes.CDLL(None, use_errno=True)
            def call(name, *arguments):
                number = pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)
                answer = libc.syscall(number, *map(ctypes.c_long, arguments))
                return "went through" if answer >= 0 else errno.errorcode[ctypes.get_errno()]
            told = {name: call(name, 0, 0, 0, 0, 0, 0) for name in (
                "bpf", "io_uring_setup", "io_uring_enter", "keyctl", "add_key", "perf_event_open", "userfaultfd", "ptrace",
                "process_vm_readv", "process_vm_writev", "mount", "umount2", "pivot_root", "chroot", "open_tree", "fsopen",
                "move_mount", "setns", "kexec_load", "init_module", "open_by_handle_at", "reboot", "syslog", "kcmp")}
            for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
                told["unshare", flag] = call("unshare", flag)
                told["clone", flag] = call("clone", flag | 17, 0, 0, 0, 0)
            told["clone3"] = call("clone3", 0, 0)
            print("wrong", {name: came for name, came in told.items() if came != ("ENOSYS" if name == "clone3" else "EPERM")})
            print("capabilities", {line for line in open("/proc/self/status") if line.startswith("Cap") and int(line.split()[1], 16)})
            """
        )
    )
    assert report.passed
    assert said(report).splitlines() == ["wrong {}", "capabilities set()"]


def test_a_process_that_is_left_behind(attacked):
    mark = f"{3000 + os.getpid() % 1000}.{os.getpid()}"
    report = attacked(
        after(
            f"""
            import os, subprocess
            for _ in range(3):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork():
                        os._exit(0)
                    os.execvp("sleep", ["sleep", "{mark}"])
            left = subprocess.Popen(["sleep", "{mark}"], start_new_session=True)
            """
        )
    )
    assert report.passed  # and when the report is here, they are gone
    assert not [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]


def test_killing_everything_in_sight(attacked):
    report = attacked(
        after(
            """
            import os, signal
            for pid in [-1, 0, *range(2, 400)]:
                for number in (signal.SIGSTOP, signal.SIGKILL):
                    if pid != 0:
                        try:
                            os.kill(pid, number)
                        except OSError:
                            pass
            print("still here")
            """
        )
    )
    assert report.passed and said(report) == "still here"


def test_a_fork_bomb(attacked):
    report = attacked(
        after(
            """
            import os, time
            def bomb():
                born = 0
                while True:
                    try:
                        if os.fork() == 0:
                            time.sleep(1000)
                        born += 1
                    except OSError:
                        return born
            print("born", bomb())
            """
        )
    )
    assert report.passed and int(said(report).removeprefix("born ")) <= 24


@pytest.mark.usefixtures("impatient")
def test_a_fork_bomb_whose_children_fork_on(attacked):
    report = attacked(
        after(
            """
            import os
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
            """
        ),
        limit=1.0,
    )
    (result,) = report.exercises
    assert not result.passed and result.verdict in ("timed_out", "out_of_memory")


@pytest.mark.parametrize(
    "body",
    [
        "    return bytearray(10 << 30)",
        "    import torch\n    return torch.zeros(10 << 30, dtype=torch.uint8)",
    ],
    ids=["python", "torch"],
)
def test_more_memory_than_there_is(attacked, body):
    (result,) = attacked(HEAD + body).exercises
    assert result.verdict == "out_of_memory" and not result.passed


def test_more_memory_than_there_is_by_many_processes(attacked):
    body = """\
    import os, time
    for _ in range(20):
        if os.fork() == 0:
            kept = bytearray(b"x") * (120 << 20)
            time.sleep(60)
    time.sleep(60)"""
    (result,) = attacked(HEAD + body).exercises
    assert result.verdict == "out_of_memory" and "more memory than allowed" in result.message


def test_filling_the_disk(attacked):
    report = attacked(
        after(
            """
            import os
            for place in (".", "/tmp", "/dev/shm"):
                try:
                    for number in range(10_000):
                        with open(f"{place}/{number}", "wb") as file:
                            file.write(bytes(32 << 20))
                except OSError as error:
                    print(error.strerror)
            """
        )
    )
    first, *others = said(report).splitlines()
    assert report.passed and first == "No space left on device"
    # /tmp cannot be written at all where the project itself lies below it.
    assert len(others) == 2 and set(others) <= {first, "Read-only file system"}


def test_printing_a_gigabyte(attacked):
    report = attacked(
        after(
            "import os\nblock = b'x' * (1 << 20)\nfor _ in range(1024):\n    os.write(1, block)\nprint('the end')"
        )
    )
    assert report.passed and len(report.output) <= 4096 and said(report).endswith("the end")


LOOPS = {
    "cell": "while True:\n    pass",
    "cell that swallows": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "cell without alarm": "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass",
    "sleep": "import ctypes\nctypes.PyDLL(None).sleep(1000)",
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("attack", LOOPS.values(), ids=LOOPS)
def test_code_that_never_ends(attacked, attack):
    began = time.monotonic()
    report = attacked(after(attack), limit=4.0)
    (result,) = report.exercises
    assert result.verdict == "timed_out" and not result.passed
    assert [cell.number for cell in report.stopped] == [3]
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "attack",
    ["import os\nos._exit(0)", "raise SystemExit(0)", "import os\nos.kill(os.getpid(), 9)", "exit()"],
    ids=["_exit", "SystemExit", "suicide", "exit"],
)
def test_leaving_early_with_success(attacked, attack):
    inside = HEAD + textwrap.indent(attack, "    ")
    (result,) = attacked(inside).exercises
    assert not result.passed and result.verdict in ("error", "failed") and result.earned == 0


def hostile(change: Callable[[dict], object]) -> Callable[[dict], str]:
    def make(notebook: dict) -> str:
        change(notebook)
        return json.dumps(notebook)

    return make


METADATA = {
    "marks are a list": hostile(lambda n: n["cells"][2].update(metadata={"nbgrader": [1]})),
    "marks are a text": hostile(
        lambda n: [c.update(metadata={"nbgrader": "x", "tags": 5}) for c in n["cells"]]
    ),
    "metadata of all kinds": hostile(
        lambda n: n.update(metadata={"kernelspec": 7, "sampan": [None], "$array": 0})
    ),
    "another's grade ids": hostile(
        lambda n: n["cells"][2].update(metadata={"nbgrader": {"grade_id": ["t"]}})
    ),
    "deep": hostile(lambda n: n.update(metadata=json.loads("[" * 500 + "]" * 500))),
    "no outputs": hostile(lambda n: n["cells"][2].update(outputs="none", execution_count={})),
}


@pytest.mark.parametrize("make", METADATA.values(), ids=METADATA)
def test_metadata_decides_nothing(attacked, course, make, warm):
    from studio.grading import grader

    mine = course.parent / "hostile.ipynb"
    mine.write_text(make(json.loads(course.read_text())))
    assert grader.grade(mine, course, warm=warm).passed
