"""The queue under load and under kill -9: with real processes, nothing is lost and nothing is scored twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from studio.competitions import scorer
from studio.competitions.competition import Competition
from studio.competitions.places import Places
from studio.competitions.records import Outcome, Submission
from studio.competitions.scoring import Scorer
from studio.competitions.store import Store
from studio.compute import machine
from studio.compute.lease import Ask, Lease
from studio.compute.machine import Device
from studio.compute.sql import SqlStore
from tests.webapp.competitions import rooms
from tests.webapp.competitions.rooms import NAME, room
from tests.webapp.running import until

SENDERS, EACH = 2, 100
PATIENCE_S = 120.0  # of a machine that is busy with other things


def scoring(folder: Path, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """A scorer process, whose input stays open."""
    command = [sys.executable, "-m", "studio.competitions.scorer", str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stderr)


@pytest.mark.servers
def test_200_at_once_while_a_scorer_is_killed(tmp_path: Path) -> None:
    store, _ = room(tmp_path)
    folder = str(store.folder)
    scorers = [scoring(store.folder)]
    senders = [
        subprocess.Popen(
            [sys.executable, rooms.__file__, folder, str(n * EACH), str(EACH)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(SENDERS)
    ]

    def scored() -> int:
        return sum(one.state == "scored" for one in store.submissions(NAME))

    try:
        until(lambda: scored() >= 20, PATIENCE_S)
        scorers[0].send_signal(signal.SIGKILL)  # in the middle: it may hold a claim
        scorers.append(scoring(store.folder))
        acknowledged = [
            line for sender in senders for line in sender.communicate(timeout=PATIENCE_S)[0].split()
        ]
        assert len(set(acknowledged)) == SENDERS * EACH
        until(lambda: not store.pending(), PATIENCE_S)
    finally:
        for one in scorers:
            one.kill()
            one.communicate()
    entries = {one.id: one for one in store.submissions(NAME)}
    assert set(acknowledged) < set(entries)  # the sample too
    assert Counter(store.scorings(NAME)) == Counter({(id, 1): 1 for id in entries})
    for id in acknowledged:
        entry = entries[id]
        right = int(entry.learner.removeprefix("learner")) % (rooms.ROWS + 1)
        assert entry.public is not None and entry.private is not None
        assert 10 * (entry.public + entry.private) == pytest.approx(right)  # 10 rows in each part


def test_the_claim_of_a_dead_process_is_given_back_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.competitions.store.MOST_CLAIMS", 2)
    store, _ = room(tmp_path)
    for number in (1, 2):
        claiming = f"import os, sys\nsys.path[:0] = {sys.path!r}\nfrom pathlib import Path\nfrom studio.compute import machine\n"
        claiming += (
            f"from studio.competitions.store import Store\nstore = Store(Path({str(store.folder)!r}))\n"
        )
        claiming += "assert store.claim(('predictions',), machine.holder(os.getpid())) is not None\nos.kill(os.getpid(), 9)\n"
        assert subprocess.run([sys.executable, "-c", claiming], check=False).returncode == -signal.SIGKILL
        (one,) = store.submissions(NAME)
        assert one.state == "running"
        assert store.recover() == 1 and store.recover() == 0
        (one,) = store.submissions(NAME)
        assert one.state == ("waiting" if number == 1 else "failed")
    assert one.problems == [("crashed", {})]


@pytest.mark.servers
def test_a_scorer_of_which_a_worker_fails_ends_so_that_another_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, competition = room(tmp_path)
    notebooks(store, competition, ["ada"])
    monkeypatch.setenv("SAMPAN_STORE", "no address of leases")
    ended = scoring(store.folder, stderr=subprocess.PIPE)
    try:
        assert ended.wait(PATIENCE_S) == 1  # while its input is open
    finally:
        ended.kill()
        said = ended.communicate()[1]
    assert b"SAMPAN_STORE must be a URL" in said
    assert [one.state for one in store.submissions(NAME)] == ["scored", "waiting"]  # the sample, and ada's


def test_the_queue_is_first_come_first_served_and_survives_any_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, competition = room(tmp_path)
    sent = [
        store.submit(competition, store.own_team(NAME, who), who, "predictions", "p.csv", rooms.answer(9))
        for who in ("ada", "bob")
    ]
    order = []
    real = Scorer.score

    def score(self: Scorer, submission: Submission) -> Outcome:
        order.append(submission.id)
        if submission.id == sent[0].id:
            raise RuntimeError("the label of r0 is a")
        return real(self, submission)

    monkeypatch.setattr(Scorer, "score", score)
    assert scorer.drain(Scorer(store)) == 3
    assert order[1:] == [one.id for one in sent]
    failed, good = (store.submission(one.id) for one in sent)
    assert (failed.state, failed.problems) == (
        "failed",
        [("metric_failed", {})],
    )  # a fixed sentence for the learner
    assert "the label of r0 is a" in failed.detail  # for the teacher
    assert good.state == "scored" and machine.alive(machine.holder(os.getpid()))


def notebooks(store: Store, competition: Competition, learners: Sequence[str]) -> None:
    for who in learners:
        store.submit(competition, store.own_team(NAME, who), who, "notebook", "n.ipynb", b"{}")


def test_notebooks_are_scored_at_the_same_time_while_there_are_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four workers and two places: never more than two at a time, two at some time, and each once."""
    store, competition = room(tmp_path)
    scorer.drain(Scorer(store))  # the sample
    notebooks(store, competition, [f"learner{n}" for n in range(6)])
    lock, running, most = threading.Lock(), 0, 0

    def score(self: Scorer, submission: Submission) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait(100.0)  # until a second one runs too
        with lock:
            running -= 1
        return Outcome("scored", 0.5, 0.5)

    together = threading.Barrier(2)
    monkeypatch.setattr(Scorer, "score", score)
    monkeypatch.setattr("studio.competitions.places.ASK_AGAIN_S", 0.02)
    machine_of_two = machine.Machine((Device("cpu:0", "cpu"), Device("cpu:1", "cpu")), 8 << 30)
    leases = SqlStore(f"sqlite:///{tmp_path / 'compute.sqlite3'}", machine=machine_of_two)
    places = Places(lambda: leases)

    def work() -> int:
        return scorer.drain(Scorer(store), ("notebook",), places.place)

    with ThreadPoolExecutor(4) as pool:
        done = sum(found.result(200) for found in [pool.submit(work) for _ in range(4)])
    assert (done, most) == (6, 2)
    assert leases.leases() == [] and leases.queue() == []
    assert Counter(id for id, _ in store.scorings(NAME)) == Counter(one.id for one in store.submissions(NAME))
    places.close()


def test_a_worker_that_waits_for_a_place_ends_at_the_end(tmp_path: Path) -> None:
    store, competition = room(tmp_path)
    scorer.drain(Scorer(store))
    notebooks(store, competition, ["ada"])
    machine_of_one = machine.Machine((Device("cpu:0", "cpu"),), 8 << 30)
    leases = SqlStore(f"sqlite:///{tmp_path / 'compute.sqlite3'}", machine=machine_of_one)
    held = leases.take(Ask("tia", "grading"), None, machine.holder(os.getpid()))
    assert isinstance(held, Lease)
    ended = threading.Event()
    places = Places(lambda: leases, ended)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(scorer.drain, Scorer(store), ("notebook",), places.place)
        until(lambda: leases.queue(), PATIENCE_S)
        assert not working.done() and store.waiting(("notebook",))  # it is not claimed: another could take it
        ended.set()
        assert working.result(60) == 0
    assert leases.queue() == [] and store.waiting(("notebook",))
    places.close()
