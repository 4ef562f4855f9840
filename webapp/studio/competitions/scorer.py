"""The process that scores submissions: `python -m studio.competitions.scorer FOLDER`.

It takes one submission after another, files and notebooks in two threads so that no file waits for a notebook. A line
on its input says that something has arrived. It ends when its input is closed or nothing arrives, after what waits is
scored. Any number of these processes may run, and each may be killed at any moment.
"""

from __future__ import annotations

import logging
import os
import select
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

from studio import lean  # noqa: F401  before any import of nbformat
from studio.compute import machine

from . import metrics
from .records import Kind, Outcome
from .scoring import Scorer
from .store import Store

IDLE_S = 60.0
LOOK_S = 1.0  # between looks at the queue while nothing was announced
KINDS: tuple[Kind, ...] = ("predictions", "notebook")
log = logging.getLogger(__name__)


def drain(scorer: Scorer, kinds: Sequence[Kind] = KINDS) -> int:
    """Scores what waits; returns how many."""
    store, holder, done = scorer.store, machine.holder(os.getpid()), 0
    store.recover()
    while (claimed := store.claim(kinds, holder)) is not None:
        try:
            outcome = scorer.score(claimed)
        except Exception:  # nothing that a learner sends may stop the queue; the teacher reads what happened
            outcome = Outcome("failed", problems=[("metric_failed", {})], detail=traceback.format_exc())
            log.exception("scoring %s failed", claimed.id)
        done += store.finish(claimed, outcome)
    return done


def drain_alone(store: Store) -> int:
    """`drain` for a command: with a scorer of its own."""
    scorer = Scorer(store)
    try:
        return drain(scorer)
    finally:
        scorer.close()


def serve(folder: Path) -> None:
    """Until nothing has arrived for a while."""
    scorer = Scorer(Store(folder))
    arrived = {kind: threading.Event() for kind in KINDS}
    ended = threading.Event()
    workers = [threading.Thread(target=_work, args=(scorer, kind, arrived[kind], ended)) for kind in KINDS]
    for worker in workers:
        worker.start()
    idle = 0.0
    while idle < IDLE_S or scorer.store.pending():
        readable, _, _ = select.select([sys.stdin], [], [], LOOK_S)
        if readable and not os.read(sys.stdin.fileno(), 4096):
            break
        idle = 0.0 if readable else idle + LOOK_S
        for event in arrived.values():
            event.set()
    ended.set()
    for event in arrived.values():
        event.set()
    for worker in workers:
        worker.join()
    scorer.close()


def _work(scorer: Scorer, kind: Kind, arrived: threading.Event, ended: threading.Event) -> None:
    metrics.warm_up()
    while True:
        drain(scorer, (kind,))
        if ended.is_set():
            return
        arrived.wait()
        arrived.clear()


if __name__ == "__main__":
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO)
    serve(Path(sys.argv[1]))
