"""The warm process, as it is: real forks, real kernels, real kills. It imports only what a test needs."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from studio.compute.limits import Limits
from studio.compute.zygote import client as zygote_client
from studio.compute.zygote.client import SOCKET, UNKNOWN_STATUS, Child, NotReady, Zygote, ask, through
from studio.compute.zygote.spawn import Spawn, encode, open_pair

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(sys.platform != "linux", reason="the warm process needs Linux"),
]

WAIT_S = 60
T = TypeVar("T")


def until(what: Callable[[], T | None], why: str) -> T:
    deadline = time.monotonic() + WAIT_S
    while (found := what()) is None:
        assert time.monotonic() < deadline, f"not within {WAIT_S} s: {why}"
        time.sleep(0.01)
    return found


class Nest:
    """A zygote in a folder of its own, and what it was asked to fork."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.zygote = Zygote(folder)
        self.children: list[Child] = []
        self.output_file = folder / "output"

    def warm(self) -> int:
        """Waits until it is ready; returns its process number."""
        try:
            until(self._ready, "a warm process")
        except AssertionError as error:
            raise AssertionError((self.folder / "zygote.log").read_text()) from error
        assert self.zygote._running is not None
        return self.zygote._running[0].pid

    def _ready(self) -> bool | None:
        try:
            asyncio.run(self.zygote.ensure())
        except NotReady:
            return None
        return True

    def spawn(self, wanted: Spawn) -> Child:
        child = asyncio.run(self.zygote.spawn(wanted))
        self.children.append(child)
        return child

    def script(self, source: str, *arguments: str, **fields: Any) -> Child:
        """The source as a script, its output in `output()`."""
        path = self.folder / f"script{len(self.children)}.py"
        path.write_text(source)
        self.output_file = path.with_suffix(".out")
        env = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", **fields.pop("env", {})}
        return self.spawn(
            Spawn("script", [str(path), *arguments], env, str(self.folder), output=self.output_file, **fields)
        )

    def said(self, source: str, *arguments: str, **fields: Any) -> Any:
        """What the script printed, as JSON."""
        child = self.script(source, *arguments, **fields)
        status = child.wait(WAIT_S)
        assert status == 0, self.output()
        return json.loads(self.output())

    def output(self) -> str:
        return self.output_file.read_text()

    def close(self) -> None:
        for child in self.children:
            child.end()
        self.zygote.stop()
        for process, _ in self.zygote._retired:
            process.wait(WAIT_S)


@pytest.fixture
def nest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nest]:
    """One that imports a small module of the test's, and may be started as often as one likes."""
    (tmp_path / "warmed.py").write_text("answer = 41\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(zygote_client, "WARM", ("warmed",))
    monkeypatch.setattr(zygote_client, "_PAUSE_S", 0)
    made = Nest(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nest]:
    """One that has imported what the Studio's has."""
    made = Nest(tmp_path_factory.mktemp("zygote"))
    yield made
    made.close()


# ---- a fork is a program of its own -----------------------------------------------------------------


def test_a_script_runs_as_if_it_had_been_started(nest: Nest) -> None:
    nest.warm()
    told = nest.said(
        "import json, os, sys\n"
        "opened = [f for f in map(int, os.listdir('/proc/self/fd')) if os.path.exists(f'/proc/self/fd/{f}')]\n"
        "print(json.dumps([__name__, sys.argv, os.getcwd(), dict(os.environ), opened, os.getsid(0) == os.getpid(),\n"
        "                  sys.path[0], sys.stdin.read(), 'warmed' in sys.modules]))",
        "a b",
        env={"MINE": "1"},
    )
    path = str(nest.folder / "script0.py")
    name, argv, cwd, environment, opened, leads, first_path, typed, warm = told
    assert (name, argv, cwd) == ("__main__", [path, "a b"], str(nest.folder))
    assert environment == {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "MINE": "1"}
    assert len(opened) == 4 and opened[:3] == [0, 1, 2]  # and the lifeline
    assert leads and warm and first_path == str(nest.folder) and typed == ""
    assert nest.output_file.stat().st_mode & 0o777 == 0o600


def test_other_programs_see_what_a_fork_runs(nest: Nest) -> None:
    warm = psutil.Process(nest.warm()).cmdline()
    child = nest.script("import time; time.sleep(600)", "a b", "ü")
    shown = [sys.executable, str(nest.folder / "script0.py"), "a b", "ü"]
    assert [word for word in psutil.Process(child.pid).cmdline() if word] == shown
    nest.script("import time; time.sleep(600)", "x" * 10_000)
    assert len(" ".join(psutil.Process(nest.children[-1].pid).cmdline())) <= len(" ".join(warm))
    assert psutil.Process(nest.warm()).cmdline() == warm


def test_no_secret_of_the_studio_is_in_the_zygote(nest: Nest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "do-not-tell")
    monkeypatch.setenv("DATABASE_URL", "do-not-tell")
    pid = nest.warm()
    assert "do-not-tell" not in json.dumps(psutil.Process(pid).environ())
    # A fork's own memory of how the zygote was started does not bypass it either.
    assert "do-not-tell" not in nest.said("import json; print(json.dumps(open('/proc/self/environ').read()))")


def test_a_module_runs_as_after_m(nest: Nest) -> None:
    nest.warm()
    (nest.folder / "own.py").write_text("import sys; print(__name__, sys.argv[1:]); sys.exit(4)")
    child = nest.spawn(Spawn("module", ["own", "x"], {}, str(nest.folder), output=nest.output_file))
    assert child.wait(WAIT_S) == 4 and nest.output() == "__main__ ['x']\n"


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('why')", 1),
        ("1 / 0", 1),
        ("import os; os._exit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import os; os.kill(os.getpid(), 15)", -15),
        ("raise KeyboardInterrupt", -2),
    ],
)
def test_the_exit_status_is_the_real_one(nest: Nest, source: str, status: int) -> None:
    nest.warm()
    child = nest.script(source)
    assert child.wait(WAIT_S) == status
    assert child.poll() == child.returncode == status


def test_the_end_is_as_pythons(nest: Nest) -> None:
    """Threads are waited for, then what was registered for the end runs, then what was printed is written."""
    nest.warm()
    child = nest.script(
        "import atexit, os, sys, threading, time\n"
        "sys.stdout = os.fdopen(os.dup(1), 'w', buffering=1000)\n"
        "atexit.register(print, 'registered')\n"
        "print('main')\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\n"
        "sys.exit(9)"
    )
    assert child.wait(WAIT_S) == 9 and nest.output() == "main\nthread\nregistered\n"


def test_a_traceback_begins_in_the_script(nest: Nest) -> None:
    nest.warm()
    nest.script("def f():\n    1 / 0\nf()").wait(WAIT_S)
    files = [line for line in nest.output().splitlines() if line.startswith("  File")]
    assert len(files) == 2 and all(str(nest.folder / "script0.py") in line for line in files)
    assert nest.output().endswith("ZeroDivisionError: division by zero\n")


def test_what_is_printed_is_there_at_the_end_of_the_line(nest: Nest) -> None:
    nest.warm()
    child = nest.script("import time\nprint('now')\ntime.sleep(600)")
    until(lambda: nest.output() == "now\n" or None, "the line")
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.01)


def test_what_cannot_be_set_up_is_told(nest: Nest) -> None:
    pid = nest.warm()
    with pytest.raises(OSError, match=r"FileNotFoundError.*nowhere"):
        nest.spawn(Spawn("script", ["x.py"], {}, "/nowhere"))
    assert nest.script("pass").wait(WAIT_S) == 0 and nest.warm() == pid


def test_limits_hold_in_the_child_alone(nest: Nest) -> None:
    pid = nest.warm()
    limits = Limits(memory=256 << 20, processes=50, files=64)
    said = nest.said(
        "import json, resource\n"
        "try: bytearray(300 << 20); got = 'memory'\n"
        "except MemoryError: got = 'none'\n"
        "print(json.dumps([got, resource.getrlimit(resource.RLIMIT_NOFILE)[0]]))",
        limits=limits,
    )
    assert said == ["none", 64]
    assert psutil.Process(pid).rlimit(psutil.RLIMIT_NOFILE)[0] != 64
    assert nest.said("print(len(bytearray(300 << 20)))") == 300 << 20


def test_many_at_once_each_with_its_own_answer(nest: Nest) -> None:
    nest.warm()
    path = nest.folder / "script.py"
    path.write_text("import sys; sys.exit(int(sys.argv[1]))")

    async def all_of_them() -> list[Child]:
        wanted = [Spawn("script", [str(path), str(number)], {}, str(nest.folder)) for number in range(20)]
        return await asyncio.gather(*map(nest.zygote.spawn, wanted))

    nest.children = asyncio.run(all_of_them())
    assert [child.wait(WAIT_S) for child in nest.children] == list(range(20))


# ---- who lives and who dies -------------------------------------------------------------------------


def test_an_end_takes_the_whole_group_however_stuck(nest: Nest) -> None:
    nest.warm()
    child = nest.script(
        "import os, signal\n"
        "for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)\n"
        "print(os.fork(), flush=True)\n"
        "sum(range(1 << 62))"  # holds the interpreter's lock: no thread of its own could end it
    )
    grandchild = int(until(lambda: next(filter(str.strip, nest.output().split()), None), "a fork"))
    child.end()
    assert child.returncode == -9
    until(lambda: True if not _runs(grandchild) else None, "the end of what it had started")


def test_what_a_child_leaves_behind_goes_too(nest: Nest) -> None:
    nest.warm()
    child = nest.script(
        "import os, time\nhear, say = os.pipe()\n"
        "if os.fork() == 0: print(os.getpid()); os.write(say, b'.'); time.sleep(600)\nos.read(hear, 1)"
    )
    assert child.wait(WAIT_S) == 0
    left = int(nest.output())
    until(lambda: True if not _runs(left) else None, "the end of what it had started")


def test_a_status_that_comes_late(nest: Nest) -> None:
    """The warm process is slow to say how its child ended; `poll` does not wait for that."""
    warm = nest.warm()
    child = nest.script("print('up'); import time; time.sleep(600)")
    until(lambda: nest.output() == "up\n" or None, "the script")
    os.kill(warm, signal.SIGSTOP)
    try:
        child.kill()
        until(lambda: True if psutil.Process(child.pid).status() == "zombie" else None, "its end")
        assert child.poll() is None
        time.sleep(1.0)
        assert child.poll() is None
    finally:
        os.kill(warm, signal.SIGCONT)
    assert child.wait(WAIT_S) == -9


def test_signals(nest: Nest) -> None:
    nest.warm()
    waiting = "import time\nprint('up')\nwhile True: time.sleep(0.01)"  # see test_provisioner
    for act, status in ((Child.terminate, -15), (Child.kill, -9), (lambda c: c.send_signal(2), -2)):
        child = nest.script(waiting)
        until(lambda: nest.output() == "up\n" or None, "the script")
        act(child)
        assert child.wait(WAIT_S) == status
        act(child)  # once more is nothing


_CLIENT = """
import asyncio, sys, time
from pathlib import Path
from studio.compute.zygote import client
from studio.compute.zygote.client import NotReady, Zygote
from studio.compute.zygote.spawn import Spawn
client.WARM = ("json",)
folder = Path(sys.argv[1])
zygote = Zygote(folder)
while True:
    try:
        asyncio.run(zygote.ensure())
        child = asyncio.run(zygote.spawn(Spawn("script", [sys.argv[2]], {}, str(folder))))
        break
    except NotReady:
        time.sleep(0.01)
print(zygote._running[0].pid if zygote._running else 0, child.pid, flush=True)
time.sleep(600)
"""


def _client(nest: Nest) -> tuple[subprocess.Popen[str], int, int]:
    """Another process with a fork: itself, its zygote (0: it uses ours), the fork."""
    script = nest.folder / "sleeper.py"
    script.write_text("import time; time.sleep(600)")
    process = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, str(nest.folder), str(script)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    owned, child = map(int, process.stdout.readline().split())
    return process, owned, child


def _bury(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_the_death_of_who_asked_ends_its_forks_and_no_others(nest: Nest) -> None:
    pid = nest.warm()
    process, owned, other = _client(nest)
    assert owned == 0  # one zygote serves both
    mine = nest.script("import time; time.sleep(600)")
    _bury(process)
    until(lambda: True if not _runs(other) else None, "the end of the fork")
    assert mine.poll() is None and _runs(pid)


def test_the_zygote_goes_with_its_studio(nest: Nest) -> None:
    process, owned, child = _client(nest)
    assert _runs(owned) and _runs(child)
    _bury(process)
    until(lambda: True if not _runs(owned) and not _runs(child) else None, "the end of both")


def test_let_go_while_it_imports_it_ends_at_once(nest: Nest, monkeypatch: pytest.MonkeyPatch) -> None:
    (nest.folder / "endless.py").write_text("import time\nwhile True: time.sleep(1)")
    monkeypatch.setenv("PYTHONPATH", f"{nest.folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(zygote_client, "WARM", ("endless",))
    with pytest.raises(NotReady, match="warming up"):
        asyncio.run(nest.zygote.ensure())
    assert nest.zygote._running is not None
    process, _ = nest.zygote._running
    nest.zygote.stop()
    assert process.returncode == -signal.SIGKILL


def test_when_it_dies_its_forks_live_on_and_it_comes_back(nest: Nest) -> None:
    pid = nest.warm()
    child = nest.script("import sys, time\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)")
    os.kill(pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=WAIT_S)
    with pytest.raises(NotReady):
        nest.script("pass")
    assert child.poll() is None
    assert nest.warm() != pid
    assert nest.script("pass").wait(WAIT_S) == 0
    (nest.folder / "go").touch()
    assert child.wait(WAIT_S) == UNKNOWN_STATUS  # the requester had already ended


def test_not_ready_is_said_at_once(nest: Nest) -> None:
    with pytest.raises(NotReady, match="no warm process"):
        nest.script("pass")
    with pytest.raises(NotReady, match="warming up"):
        asyncio.run(nest.zygote.ensure())


def test_killed_before_it_was_set_up(tmp_path: Path) -> None:
    """The zygote reports its end before any answer: the requester starts the process the ordinary way."""
    ours, theirs = open_pair()
    with theirs:
        theirs.send(encode(exit=-signal.SIGKILL))
        with pytest.raises(NotReady, match="ended at once, with status -9"):
            ask(ours, Spawn("module", ["this"], {}, str(tmp_path)))


def test_a_changed_package_makes_a_new_one(nest: Nest) -> None:
    old = nest.warm()
    tell = "import json, warmed; print(json.dumps(warmed.answer))"
    assert nest.said(tell) == 41
    running = nest.script(
        "import time, sys\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)\nsys.exit(5)"
    )
    (nest.folder / "warmed.py").write_text("answer = 42  # and of another size\n")
    with pytest.raises(NotReady):
        nest.said(tell)
    assert nest.warm() != old
    assert nest.said(tell) == 42
    (nest.folder / "go").touch()
    assert running.wait(WAIT_S) == 5  # the old one stays until its last fork has ended, to say how
    until(lambda: True if not _runs(old) else None, "the end of the old one")


def test_the_studio_keeps_one(nest: Nest) -> None:
    with nest.zygote.kept():
        until(lambda: True if (nest.folder / SOCKET).exists() else None, "a warm process")
        assert nest.zygote._running is not None
        pid = nest.zygote._running[0].pid
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


# ---- what makes it safe -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "import threading, time; threading.Thread(target=time.sleep, args=[600], daemon=True).start()",
            "1 more",
        ),
        (
            "import sys, types; torch = sys.modules['torch'] = types.ModuleType('torch')\n"
            "torch.cuda = types.SimpleNamespace(is_initialized=lambda: True)",
            "initialised CUDA",
        ),
    ],
)
def test_an_import_that_forks_badly_is_refused(nest: Nest, source: str, words: str) -> None:
    (nest.folder / "warmed.py").write_text(source)
    log = nest.folder / "zygote.log"
    with pytest.raises(NotReady):
        asyncio.run(nest.zygote.ensure())
    until(lambda: True if words in log.read_text() else None, "the reason in the log")


def test_only_this_person_can_ask(nest: Nest) -> None:
    pid = nest.warm()
    path = nest.folder / SOCKET
    assert path.stat().st_mode & 0o777 == 0o600
    if os.geteuid() != 0:
        pytest.skip("needs another person's rights: run as root")
    for folder in (nest.folder, *nest.folder.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o111)
    path.chmod(0o666)  # even then
    stranger = os.fork()
    if stranger == 0:
        os._exit(_turned_away(path))
    assert os.waitstatus_to_exitcode(os.waitpid(stranger, 0)[1]) == 0
    assert _runs(pid)


def _turned_away(path: Path) -> int:
    """As another person: connects, and is hung up on without a word."""
    os.setgid(65534)
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.settimeout(WAIT_S)
        door.connect(str(path))
        return len(door.recv(100))


@pytest.mark.parametrize("message", [b"", b"nonsense", b"{}", b'{"limits": 3}', b"[1]", b"\xff\xfe"])
def test_nonsense_harms_nobody(nest: Nest, message: bytes) -> None:
    pid = nest.warm()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.connect(str(nest.folder / SOCKET))
        if message:
            door.send(message)
            door.settimeout(WAIT_S)
            assert b"error" in door.recv(1000)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect(str(nest.folder / SOCKET))
        assert nest.script("pass").wait(WAIT_S) == 0
    assert nest.warm() == pid


def test_reached_by_an_inherited_socket_alone(tmp_path: Path) -> None:
    """As in a sandbox, where no path is shared."""
    ours, theirs = open_pair()
    command = [
        sys.executable,
        "-m",
        "studio.compute.zygote.server",
        "--control",
        str(theirs.fileno()),
        "json",
    ]
    with theirs:
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    with ours:
        ours.settimeout(WAIT_S)
        assert ours.recv(100) == b'{"ready": true}'
        (tmp_path / "s.py").write_text("import sys; sys.exit('json' not in sys.modules)")
        children = [ask(through(ours), Spawn("script", ["s.py"], {}, str(tmp_path))) for _ in range(3)]
        assert [child.wait(WAIT_S) for child in children] == [0, 0, 0]
    assert process.wait(WAIT_S) == 0


# ---- with everything imported -----------------------------------------------------------------------


def test_it_has_one_thread_and_has_left_the_gpu_alone(full: Nest) -> None:
    process = psutil.Process(full.warm())
    assert process.num_threads() == 1
    assert not [link for link in _links(process.pid) if "nvidia" in link]
    # A driver reads the variable in C, at the first call that needs it. There is no GPU in this test: what it
    # shows is that the first call is still to come in a fork, and what it will read then.
    said = full.said(
        "import ctypes, json, torch\n"
        "getenv = ctypes.CDLL(None).getenv\n"
        "getenv.restype = ctypes.c_char_p\n"
        "print(json.dumps([torch.cuda.is_initialized(), getenv(b'CUDA_VISIBLE_DEVICES').decode()]))",
        env={"CUDA_VISIBLE_DEVICES": "3"},
    )
    assert said == [False, "3"]
    assert process.num_threads() == 1


def _links(pid: int) -> list[str]:
    return [os.path.realpath(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]


def test_two_forks_draw_different_numbers(full: Nest) -> None:
    full.warm()
    draw = (
        "import json, random, numba, numpy, sampan, torch, uuid\n"
        "compiled = numba.njit(lambda: numpy.random.random())\n"
        "print(json.dumps([random.random(), numpy.random.rand(), torch.rand(1).item(), sampan.rand([1]).item(),\n"
        "                  compiled(), str(uuid.uuid4())]))"
    )
    first, second = full.said(draw), full.said(draw)
    assert len(first) == 6 and not set(first) & set(second)


def test_threads_are_those_that_were_granted(full: Nest) -> None:
    full.warm()
    said = full.said(
        "import json, numba, torch\n"
        "from threadpoolctl import threadpool_info\n"
        "import numpy\n"
        "granted = [torch.get_num_threads(), numba.get_num_threads(),\n"
        "           max(p['num_threads'] for p in threadpool_info() if p['user_api'] == 'blas')]\n"
        "torch.set_num_threads(2)\n"
        "x = torch.rand(600, 600)\n"
        "same = torch.allclose(x @ x, torch.from_numpy(x.numpy() @ x.numpy()), rtol=1e-3)\n"
        "total = numba.njit(parallel=True)(lambda a: (a + a).sum())(x.numpy())\n"
        "print(json.dumps([granted, same, abs(total - 2 * x.sum().item()) < 100]))",
        env={"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"},
    )
    assert said == [[2, 2, 2], True, True]


def test_a_data_loader_with_workers(full: Nest) -> None:
    full.warm()
    assert full.said(
        "import json, sampan\n"
        "class Squares(sampan.io.Dataset):\n"
        "    def __len__(self): return 40\n"
        "    def __getitem__(self, i): return i * i\n"
        "loader = sampan.io.DataLoader(Squares(), batch_size=10, num_workers=2)\n"
        "print(json.dumps(sum(int(batch.sum()) for batch in loader)))"
    ) == sum(i * i for i in range(40))


def test_a_kernel(full: Nest) -> None:
    full.warm()
    connection, _ = write_connection_file(str(full.folder / "kernel.json"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(full.folder), "OMP_NUM_THREADS": "1"}
    child = full.spawn(Spawn("kernel", ["-f", connection], environment, str(full.folder)))
    child.send_signal(signal.SIGINT)  # while it starts it ignores interrupts, as between its cells
    client = BlockingKernelClient(connection_file=connection)
    client.load_connection_file()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=WAIT_S)
        imported = "sorted({'torch', 'numba', 'sampan', 'ipywidgets', 'plotly'} - set(sys.modules))"
        assert _printed(client, f"import os, sys; print({imported}, __name__, os.getcwd())") == (
            f"[] __main__ {full.folder}\n"
        )
        # What looks around for a kernel when it is imported has found this one.
        assert "jupyter.widget.control" in _printed(
            client, "import comm; print(*comm.get_comm_manager().targets)"
        )
        # Its debugger skips the files of what was imported before.
        skipped = "len(get_ipython().kernel.debugger.kernel_modules) > 1000"
        assert _printed(client, f"print({skipped}, len(sys.modules) > 1000)") == "True True\n"
        assert _printed(client, "import plotly.io; print(plotly.io.renderers.default)") == "plotly_mimetype\n"
        # Without stop_on_error a kernel drops requests that come at once after an error, as the next one does.
        running = client.execute("print('up')\nwhile True: pass", stop_on_error=False)
        _until_printed(client, "up\n")
        child.send_signal(signal.SIGINT)
        reply = client.get_shell_msg(timeout=WAIT_S)
        assert reply["parent_header"]["msg_id"] == running
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        assert _printed(client, "print(6 * 7)") == "42\n"
        client.shutdown()
        assert child.wait(WAIT_S) == 0
    finally:
        client.stop_channels()


def _printed(client: BlockingKernelClient, source: str) -> str:
    texts: list[str] = []

    def keep(message: dict[str, Any]) -> None:
        content = message["content"]
        texts.extend(content[key] for key in ("text", "ename") if key in content)

    client.execute_interactive(source, timeout=WAIT_S, output_hook=keep)
    return "".join(texts)


def _until_printed(client: BlockingKernelClient, text: str) -> None:
    while True:
        try:
            message = client.get_iopub_msg(timeout=WAIT_S)
        except queue.Empty:
            raise AssertionError(f"the kernel did not print {text!r}") from None
        if message["content"].get("text") == text:
            return
