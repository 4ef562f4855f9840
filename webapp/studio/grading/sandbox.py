"""The learner's process, seen from outside: forked from a warm one, asked, and ended by the grader.

One warm process per grader, a fork for each submission: torch, numba, the library and IPython are imported once.
The alternative, a pool of sandboxes that are each used once, was measured (`benchmarks/grading.py`): for 90
submissions it costs four to five minutes of processor time for imports alone and 200 MB for each waiting sandbox;
forks cost ten seconds. A fork shares no writable state: it gets namespaces, a work folder and limits of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, NoReturn

import numpy as np

from sampan.learn.cases import Text
from studio.compute.limits import Limits

from . import bubble, guard, wire
from .cleaning import clean
from .isolation import LIMITS

START_SECONDS = 120.0  # imports of the warm process, on a busy machine
FORK_SECONDS = 30.0
FILE_SECONDS = 20.0  # to write or read a file
END_SECONDS = 20.0  # until the guard has seen the end of all the learner's processes
GRACE_SECONDS = 3.0  # after its own alarm, before it is killed
OUTPUT_TAIL = 4096
OWN_BYTES, OWN_TASKS = 1 << 30, 16  # for the warm process and the guard, in addition to the learner's


class NoSandbox(RuntimeError):
    """There is no sandbox on this machine, and running without one was not allowed; `why` in both languages."""

    def __init__(self, reason: Text) -> None:
        self.why = bubble.refusal(reason)
        super().__init__(self.why[0])


available, trusted = bubble.available, bubble.trusted


class Gone(Exception):
    """The learner's process has ended; `fault` says why, `verdict` is the kind of end."""

    def __init__(self, fault: Text, verdict: str) -> None:
        super().__init__(fault[0])
        self.fault, self.verdict = fault, verdict


class Warm:
    """The warm process. It starts at once, and the first `fork` waits for it; safe for several threads.

    Raises `NoSandbox` if there is none, unless `trust` (`walled` is False then).
    """

    def __init__(self, trust: bool = False, limits: Limits = LIMITS) -> None:
        reason = available()
        if reason is not None and not (trust or trusted()):
            raise NoSandbox(reason)
        self.walled, self._limits = reason is None, limits
        self._turn = threading.Lock()
        self._start()

    def _start(self) -> None:
        """If this machine allows it, a cgroup limits all processes together, in addition to the rlimits."""
        self._ready = False
        limits = self._limits
        group = Limits(limits.memory + OWN_BYTES, limits.processes + OWN_TASKS).cgroup(
            f"grading-{os.getpid()}-{id(self)}"
        )
        self._group = group
        self._control, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  open as long as the process
        number = theirs.fileno()
        how = ["walled" if self.walled else "open", json.dumps(asdict(self._limits))]
        program = [sys.executable, "-m", "studio.grading.sandboxed", str(number), *how]
        with theirs:
            self.process = subprocess.Popen(
                bubble.command(program) if self.walled else program,
                env={**bubble.environment(), "HOME": os.environ.get("HOME", "/")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                pass_fds=[number],
                start_new_session=True,
                preexec_fn=None if group is None else lambda: group.add(os.getpid()),
            )

    def fork(self, slot: str = "", absent: Iterable[str] = ()) -> Sandbox:
        """A fresh learner's process, without the library's own version of `slot` and of the `absent` functions.
        Raises `RuntimeError` with the warm process's last output if it has ended."""
        with self._turn:
            if self._ready and self.process.poll() is not None:  # it was killed: the next one
                self._stop()
                self._start()
            try:
                self._wait()
                return self._fork([slot, *absent] if slot else [])
            except (OSError, EOFError, wire.WireError) as error:
                raise RuntimeError(f"the learner's process did not start: {self._said() or error}") from error

    def _wait(self) -> None:
        if not self._ready:
            self._control.settimeout(START_SECONDS)
            if self._control.recv(1) != guard.READY:
                raise EOFError("the warm process ended")
            self._ready = True

    def _fork(self, absent: list[str]) -> Sandbox:
        ours, channel = socket.socketpair()
        lifeline, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            handed_over = [channel.fileno(), theirs.fileno(), writing]
            socket.send_fds(self._control, [json.dumps(absent).encode()], handed_over)
        finally:
            channel.close()
            theirs.close()
            os.close(writing)
        made = Sandbox(ours, lifeline, reading, self.walled)
        try:
            ready = wire.receive(ours, time.monotonic() + FORK_SECONDS)
        except BaseException:
            made.close()
            if made.output():
                raise EOFError(made.output()) from None
            raise
        if ready != {"ready": True}:
            made.close()
            raise EOFError(f"it sent {ready!r:.200}")
        return made

    def _said(self) -> str:
        self._words.seek(0)
        return self._words.read().decode(errors="replace").strip()[-2000:]

    def _stop(self) -> None:
        self._control.close()
        self.process.kill()
        self.process.wait()
        self._words.close()
        if self._group is not None:
            self._group.kill()
            self._group.remove()

    def close(self) -> None:
        """Ends it, with all that was forked from it."""
        with self._turn:
            self._stop()

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Sandbox:
    """The process of one submission, used once."""

    def __init__(self, channel: socket.socket, lifeline: socket.socket, output: int, walled: bool) -> None:
        self._channel, self._lifeline, self.walled = channel, lifeline, walled
        self._gone: Gone | None = None
        self._memory = False
        self._ended = False
        self._tail = b""
        self._reader = threading.Thread(target=self._drain, args=(output,), daemon=True)
        self._reader.start()

    def _drain(self, output: int) -> None:
        """Keeps only the end of the output, so memory is bounded."""
        with open(output, "rb", buffering=0) as stream:
            while part := stream.read(1 << 20):
                self._tail = (self._tail + part)[-OUTPUT_TAIL:]

    def ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The reply. Raises `Gone`, now and at every later call, if there is none: the process is ended then."""
        if self._gone is not None:
            raise self._gone
        deadline = time.monotonic() + seconds + GRACE_SECONDS
        try:
            wire.send(self._channel, message, deadline, most_text=None)
            reply = wire.receive(self._channel, deadline)
        except TimeoutError:
            self.end(
                f"the code did not end within {seconds:g} s and was stopped",
                f"代码在 {seconds:g} 秒内没有结束，已被停止",
                "timed_out",
            )
        except wire.WireError:
            self.end("the process sent something that is not a reply", "进程发回的不是应答")
        except (EOFError, OSError):
            self.end("the process ended while the code ran", "代码运行时进程意外结束")
        if not isinstance(reply, dict):
            self.end("the process sent something that is not a reply", "进程发回的不是应答")
        return reply

    def put(self, name: str, content: bytes, seconds: float = FILE_SECONDS, mode: int = 0o644) -> None:
        """Writes a file into the empty work folder; its folders are made."""
        message = {"kind": "put", "name": name, "content": np.frombuffer(content, np.uint8), "mode": mode}
        self.ask(message, seconds)

    def get(self, name: str, most: int, seconds: float = FILE_SECONDS) -> bytes | None:
        """A file from the work folder, cut after `most` bytes and one more; None if there is none. Whatever the process
        sends instead of a file is None too."""
        content = self.ask({"kind": "get", "name": name, "most": most}, seconds).get("content")
        return content.tobytes()[: most + 1] if isinstance(content, np.ndarray) else None

    @property
    def gone(self) -> bool:
        """Whether the process was ended because it did not answer as it should."""
        return self._gone is not None

    def end(self, why: str, why_zh: str, verdict: str = "error") -> NoReturn:
        """Ends the process for a reason, which every later `ask` raises."""
        self.kill()
        if self._memory:
            why, why_zh = (
                "the code used more memory than allowed and was stopped",
                "代码占用的内存超过限制，已被停止",
            )
            verdict = "out_of_memory"
        self._gone = Gone((why, why_zh), verdict)
        raise self._gone

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """Within the block none of the learner's processes runs, so that they cannot slow down what is timed here."""
        self._order(guard.STOP)
        try:
            yield
        finally:
            self._order(guard.GO_ON)

    def _order(self, order: bytes) -> None:
        if self._gone is not None:
            raise self._gone
        self._lifeline.settimeout(END_SECONDS)
        try:
            self._lifeline.sendall(order)
            answer = self._lifeline.recv(1)
        except OSError:
            answer = b""
        if answer != order:
            self._heard(answer)
            if answer == guard.MOVED:
                self.end(
                    "the code kept running, or could not be stopped, while something else was timed",
                    "计时期间代码仍在运行，或无法使其等待",
                )
            self.end("the process ended, or could not be stopped", "进程已结束，或无法使其等待")

    def _heard(self, answer: bytes) -> None:
        self._memory = self._memory or answer == guard.MEMORY

    def kill(self) -> None:
        """Ends all of its processes; returns when none is left."""
        if self._ended:
            return
        self._ended = True
        self._lifeline.settimeout(END_SECONDS)
        with contextlib.suppress(
            OSError
        ):  # the guard has already ended all processes, or died with the warm process
            self._lifeline.shutdown(socket.SHUT_WR)
            while answer := self._lifeline.recv(1):
                self._heard(answer)

    def output(self) -> str:
        """The end of what the learner's own code printed; complete once the process has ended."""
        if self._ended:
            self._reader.join(GRACE_SECONDS)
        return clean(self._tail.decode(errors="replace")).strip()

    def close(self) -> None:
        self.kill()
        self._channel.close()
        self._lifeline.close()
