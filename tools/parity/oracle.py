"""PaddlePaddle in a separate process and venv, which answers calls.

The client (`Oracle`) sends pickled requests through a pipe and reads pickled answers. A request that kills the
process is answered with None, and the next one starts a new process.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

ROOT = Path(__file__).resolve().parents[2]
UNSTEADY = {"unsupported": "another answer each time"}
PATIENCE = 120  # seconds for one request


def _send(stream: BinaryIO, value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def _receive(stream: BinaryIO) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0]))


class Oracle:
    """Answers for PaddlePaddle. python: the interpreter of its venv."""

    def __init__(self, python: str) -> None:
        self.python = python
        self.process: Any = None

    def ask(self, *request: Any) -> Any:
        """The answer to a request (see `serve`), or None when the process died of it or took too long."""
        if self.process is None:
            self.process = subprocess.Popen(
                [self.python, "-m", "tools.parity.oracle"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
            )
        try:
            _send(self.process.stdin, request)
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise EOFError
            kind, answer = _receive(self.process.stdout)
        except (EOFError, BrokenPipeError):
            self.close()
            return None
        if kind == "error":
            raise RuntimeError(f"the oracle failed on {request}:\n{answer}")
        return answer

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def answers(self, file: str, name: str, count: int) -> list[Any]:
        """PaddlePaddle's answers to the calls of a case table; one that kills it is {"crashed": true}."""
        every = self.ask("cases", file, name)
        if every is not None:
            return list(every)
        return [self.ask("case", file, name, index) or {"crashed": True} for index in range(count)]

    def aliases(self, file: str, name: str, count: int) -> list[Any]:
        """Which arrays of each of those calls share memory there: see aliasing.py."""
        every = self.ask("aliases", file, name)
        return [None] * count if every is None else list(every)


def serve() -> None:
    """Answer requests until the pipe closes: ("signatures", names), ("cases", file, name),
    ("case", file, name, index), ("call", name, call), ("aliases", file, name)."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what PaddlePaddle prints must not mix with the answers
    import json
    import traceback
    import warnings

    warnings.simplefilter("ignore")
    import paddle

    from . import cases
    from .aliasing import aliases
    from .perform import compare, perform
    from .surface import MISSING, signature

    def stirred(value: float, name: str, call: Any) -> dict[str, Any]:
        """The answer, after blocks of many small sizes were filled and freed."""
        for size in (*range(1, 65, 3), 100, 300, 1000):
            paddle.full([size], value, "float64")
        return perform(paddle, name, call)

    def steady(name: str, call: Any) -> dict[str, Any]:
        """The answer, unless a second call differs: uninitialised memory."""
        first, second = (stirred(value, name, call) for value in (1.5, -7e30))
        return UNSTEADY if compare(first, second) else first

    while True:
        try:
            kind, *rest = _receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if kind == "signatures":
                found = {name: signature(paddle, name) for name in rest[0]}
                answer: Any = {name: "missing" if s is MISSING else s for name, s in found.items()}
            elif kind == "cases":
                answer = [steady(rest[1], call) for call in cases.load()[rest[0]][rest[1]]]
            elif kind == "case":
                answer = steady(rest[1], cases.load()[rest[0]][rest[1]][rest[2]])
            elif kind == "aliases":
                answer = [aliases(paddle, rest[1], call) for call in cases.load()[rest[0]][rest[1]]]
            else:
                answer = perform(paddle, *rest)
            _send(answers, ("answer", json.loads(json.dumps(answer))))  # plain data only
        except Exception:
            _send(answers, ("error", traceback.format_exc()))


if __name__ == "__main__":
    serve()
