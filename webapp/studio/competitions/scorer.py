"""The process that scores submissions: `python -m studio.competitions.scorer FOLDER`.

One thread takes files of predictions, one after another, so that no file waits for a notebook. Others take notebooks, each
in a sandbox of its own and with a place of the machine (`places.py`): as many at a time as there are notebooks and free
places. A line on its input says that something has arrived. It ends when its input is closed or nothing arrives, after what
waits is scored. Any number of these processes may run, and each may be killed at any moment.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

from studio import lean  # noqa: F401  before any import of nbformat
from studio.compute import machine
from studio.compute.sql import open_store

from . import metrics
from .places import Places
from .records import Kind, Outcome
from .scoring import Scorer
from .store import Store

IDLE_S = 60.0
LOOK_S = 1.0  # between looks at the queue while nothing was announced
KINDS: tuple[Kind, ...] = ("predictions", "notebook")
MOST_NOTEBOOKS = 4  # at a time: each has a sandbox with the library in memory
Place = Callable[[], AbstractContextManager[bool]]
log = logging.getLogger(__name__)


def free() -> AbstractContextManager[bool]:
    """Of what needs no place of the machine: a file is compared in milliseconds."""
    return nullcontext(True)


def drain(scorer: Scorer, kinds: Sequence[Kind] = KINDS, place: Place = free, least: int = 1) -> int:
    """Scores what waits, while `least` or more are in the queue, each in a `place`; returns how many."""
    store, holder, done = scorer.store, machine.holder(os.getpid()), 0
    store.recover()
    while store.pending(kinds) >= least and store.waiting(kinds):
        with place() as granted:
            claimed = store.claim(kinds, holder) if granted else None
            if claimed is None:  # another took it meanwhile
                break
            try:
                outcome = scorer.score(claimed)
            except Exception:  # nothing that is sent may stop the queue; the teacher reads what happened
                outcome = Outcome("failed", problems=[("metric_failed", {})], detail=traceback.format_exc())
                log.exception("scoring %s failed", claimed.id)
            done += store.finish(claimed, outcome)
    return done


def drain_alone(store: Store) -> int:
    """`drain` for a command: with a scorer of its own."""
    scorer, places = Scorer(store), Places(open_store)
    try:
        return drain(scorer, ("predictions",)) + drain(scorer, ("notebook",), places.place)
    finally:
        scorer.close()
        places.close()


def serve(folder: Path) -> None:
    """Until nothing has arrived for a while."""
    store, ended = Store(folder), threading.Event()
    places = Places(open_store, ended)
    scorers = [Scorer(store) for _ in range(1 + min(MOST_NOTEBOOKS, len(os.sched_getaffinity(0))))]
    drains = [
        partial(drain, scorers[0], ("predictions",)),
        # Every notebook is one for the first of them, whose sandbox is warm; the others come in when more wait.
        *(
            partial(drain, one, ("notebook",), places.place, least)
            for least, one in enumerate(scorers[1:], 1)
        ),
    ]
    arrived = [threading.Event() for _ in drains]
    with ExitStack() as stack:
        for close in (*(one.close for one in scorers), places.close):
            stack.callback(close)
        pool = stack.enter_context(ThreadPoolExecutor(len(drains)))
        workers = [
            pool.submit(_work, work, event, ended) for work, event in zip(drains, arrived, strict=True)
        ]
        try:
            _follow(store, arrived, workers)
        finally:  # else the pool would wait for them for ever
            ended.set()
            for event in arrived:
                event.set()
    for worker in workers:
        worker.result()  # raises what ended it


def _follow(store: Store, arrived: Sequence[threading.Event], workers: Sequence[Future[None]]) -> None:
    """Wakes the workers, until the input is closed, nothing has arrived for a while, or one of them has failed: what it
    would have scored waits for the next process."""
    idle = 0.0
    while (idle < IDLE_S or store.pending()) and not any(worker.done() for worker in workers):
        readable, _, _ = select.select([sys.stdin], [], [], LOOK_S)
        if readable and not os.read(sys.stdin.fileno(), 4096):
            return
        idle = 0.0 if readable else idle + LOOK_S
        for event in arrived:
            event.set()


def _work(work: Callable[[], int], arrived: threading.Event, ended: threading.Event) -> None:
    metrics.warm_up()
    while True:
        work()
        if ended.is_set():
            return
        arrived.wait()
        arrived.clear()


if __name__ == "__main__":
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO)
    serve(Path(sys.argv[1]))
