"""Processes beside the server: a clean environment, and stopped with everything that they started."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress

import psutil

from .environment import ONE_THREAD, clean_environment

DRAIN_S = 2.0


async def start(command: Sequence[str], stdin: int = DEVNULL, longest_line: int = 65536) -> Process:
    """Start a program without secrets in its environment, one thread for its arithmetic; its output can be read.
    Cancelling leaves none behind."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
            env={**clean_environment(os.environ), **ONE_THREAD},
            stdin=stdin,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
            limit=longest_line,
        )
    )
    try:
        # Shielded: cancelled half-way, asyncio (3.11) can wait for ever for the pipes of the process it gave up.
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await stop(await starting)
        raise


async def stop(process: Process) -> None:
    """Kill it and its descendants, if it still runs; returns when it is gone."""
    if process.returncode is None:
        stop_tree(process.pid)
        with suppress(
            TimeoutError
        ):  # a process that fled the family may still hold the pipes: do not wait for it
            async with asyncio.timeout(DRAIN_S):
                await process.communicate()


async def end(pid: int, patience: float = 3.0) -> None:
    """Interrupt a process, ask it to end, then kill it; `patience` in seconds for each. Nothing of it is left."""
    family: list[psutil.Process] = []
    try:
        process = psutil.Process(pid)
        family = process.children(recursive=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and process.status() != psutil.STATUS_ZOMBIE:
                await asyncio.sleep(0.05)
    except psutil.NoSuchProcess:  # it went by itself; its children may not have
        for child in family:
            if child.is_running():
                stop_tree(child.pid)
    else:
        stop_tree(pid)


def stop_tree(pid: int) -> None:
    """Kill a process and all its descendants. A kernel leads a session of its own: a group is not enough."""
    try:
        family = [psutil.Process(pid)]
        family += family[0].children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            process.send_signal(signal.SIGSTOP)  # so that none starts another while we go through them
        except psutil.NoSuchProcess:
            continue
    try:
        family += [child for child in family[0].children(recursive=True) if child not in family]
    except psutil.NoSuchProcess:
        family = family[1:]
    for process in family:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
