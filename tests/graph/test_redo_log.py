"""The folder of a DynamicGraph: it always holds the last flush, and damage raises an error."""

import gc
import itertools
import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import rule

from sampan.graph import DynamicGraph, redo_log
from sampan.kernels import cpu_graph_dynamic as loops
from tests.graph.test_dynamic import Changes

ROOT = Path(__file__).resolve().parents[2]


def made(path=None):
    """A small graph with everything that a folder keeps."""
    return DynamicGraph(
        6,
        [(0, 1), (1, 2), (0, 1)],
        times=[1.0, 2.0, 3.0],
        node_feat={"x": np.arange(12, dtype=np.float32).reshape(6, 2), "name": np.array(["a"] * 6, "U3")},
        edge_feat={"w": np.zeros((3, 2), np.float16), "kind": np.array([1, 2, 3], np.int8)},
        path=path,
    )


def state(graph):
    """Everything that can be asked."""
    every = np.arange(graph.num_nodes)
    targets, edges, counts = graph.successors(every)
    found = [targets, edges, counts, *graph.predecessors(every), graph.edge_times(edges)]
    found += [graph.node_feat(name, every) for name in ("x", "name")]
    found += [graph.edge_feat(name, edges) for name in ("w", "kind")]
    found += [np.array([graph.has_node(node) for node in every]), np.array(graph.num_edges)]
    return found


def same(one, other):
    return len(one) == len(other) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True)
    )


def change(graph, turn):
    """One of every kind of update, by turn, with random arguments that depend on the turn and on the graph."""
    rng = np.random.default_rng(turn)
    nodes = np.flatnonzero([graph.has_node(node) for node in range(graph.num_nodes)])
    alive = graph.successors(np.arange(graph.num_nodes))[1]
    count = int(rng.integers(0, 9))
    ends, when = rng.choice(nodes, (2, count)), rng.random(count) + turn
    match rng.integers(0, 9):
        case 0:
            names = rng.choice(["b", "cd", "efg"], count)
            graph.add_nodes(count % 3, {"x": rng.random((count % 3, 2)), "name": names[: count % 3]})
        case 1 | 2 | 3:
            features = {"w": rng.random((count, 2)), "kind": rng.integers(0, 9, count)}
            graph.add_edges(*ends, times=when, edge_feat=features)
        case 4:
            for source, target, moment in zip(*ends, when, strict=True):
                graph.add_edge(source, target, time=moment, w=rng.random(2), kind=turn % 100)
        case 5:
            graph.remove_edges(edges=rng.choice(alive, min(count, len(alive)), replace=False))
            for edge in rng.permutation(graph.successors(nodes)[1])[:2]:
                source, target = graph._sources[edge], graph._targets[edge]
                graph.remove_edge(source, target)
        case 6:
            graph.remove_edges_before(turn - 10.0)
            if len(nodes) > 4:
                graph.remove_nodes(nodes[:1])
        case 7:
            graph.update_node_feat("x", nodes[:3], rng.random((len(nodes[:3]), 2)))
            graph.update_edge_feat("kind", alive[:4], rng.integers(0, 9, len(alive[:4])))
        case 8:
            graph.compact()


def left_open(graph):
    """As a kill leaves it: nothing is written any more, and the system opens the lock."""
    graph._log.compacted()
    graph._log._held.close()


class InAFolder(Changes):
    """Flushes, kills and reopening beside every update; networkx goes back to the last flush too."""

    def __init__(self):
        super().__init__()
        self.folder = Path(self.temporary())
        self.graph = DynamicGraph(7, edge_feat={"w": np.zeros(0)}, path=self.folder)
        self.flushed = self.oracle.copy()

    def temporary(self):
        import tempfile

        self.root = tempfile.TemporaryDirectory()
        return self.root.name

    @rule()
    def flush(self):
        self.graph.flush()
        self.flushed = self.oracle.copy()

    @rule()
    def kill(self):
        self.snapshots.clear()
        left_open(self.graph)
        self.graph, self.oracle = DynamicGraph.open(self.folder), self.flushed.copy()

    @rule()
    def close(self):
        self.snapshots.clear()
        self.graph.close()
        self.graph, self.flushed = DynamicGraph.open(self.folder), self.oracle.copy()

    def teardown(self):
        self.graph.close()
        self.root.cleanup()


TestInAFolder = InAFolder.TestCase
TestInAFolder.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


@pytest.fixture
def short_logs(monkeypatch):
    """Logs of a few hundred bytes are compacted, and records are written as they come."""
    monkeypatch.setattr(redo_log, "LEAST", 600)
    monkeypatch.setattr(redo_log, "SPILL", 100)


@pytest.mark.usefixtures("short_logs")
def test_at_every_moment_the_folder_holds_the_last_flush(tmp_path, monkeypatch):
    """The folder is copied before and after each operation on it: the state that a kill at that moment leaves."""
    folder, plain, found = tmp_path / "graph", made(), []
    graph = made(folder)
    allowed = [state(plain)]

    def look():
        copy = tmp_path / f"{len(found)}"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".*.tmp"))
        found.append((copy, list(allowed)))

    def looked_at(owner, method):
        before = getattr(owner, method)

        def call(*given, **names):
            look()
            try:
                return before(*given, **names)
            finally:
                look()

        monkeypatch.setattr(owner, method, call)

    with monkeypatch.context() as monkeypatch:
        for owner, method in ((redo_log.LogFile, "append"), (os, "replace"), (Path, "unlink")):
            looked_at(owner, method)
        for turn in range(60):
            change(graph, turn)
            change(plain, turn)
            if turn % 5 == 4:
                allowed.append(state(plain))
                graph.flush()
                graph._log.compacted()  # beside updates it is killed in a process of its own
                del allowed[0]
    left_open(graph)
    assert len(found) > 100 and len({path.name for copy, _ in found for path in copy.glob("base-*")}) > 3
    came_to = set()
    for copy, states in found:
        again = state(DynamicGraph.open(copy))
        at = [number for number, one in enumerate(states) if same(one, again)]
        assert at, f"{copy} holds no flush"
        came_to.add((len(states), at[0]))
    assert came_to == {(1, 0), (2, 0), (2, 1)}  # during a flush: the one before, or this one


WRITER = """
import os, pickle, sys
from sampan.graph import DynamicGraph, redo_log
from sampan.kernels import cpu_graph_dynamic as loops
from tests.graph.test_redo_log import change, state
redo_log.LEAST, redo_log.SPILL = 2000, 200
graph, turn = DynamicGraph.open(sys.argv[1]), int(sys.argv[2])
while True:
    for _ in range(3):
        turn += 1
        change(graph, turn)
    with open(sys.argv[3] + "/now", "wb") as file:
        pickle.dump(state(graph), file)
    os.rename(file.name, f"{sys.argv[3]}/{turn}")
    graph.flush()
    print(turn, flush=True)
"""
KILLS = int(os.environ.get("SAMPAN_KILLS", "3"))


@pytest.mark.servers
def test_killed_at_any_moment_the_folder_holds_the_last_flush(tmp_path):
    """SAMPAN_KILLS: how often; fifty and more by hand. More often if no log was compacted meanwhile."""
    rng, turn, folder, bases = np.random.default_rng(KILLS), 0, tmp_path / "graph", set()
    (tmp_path / "states").mkdir()
    made(folder).close()
    kills = 0
    while kills < KILLS or (len(bases) < 2 and kills < 20 * KILLS):
        kills += 1
        command = [sys.executable, "-c", WRITER, str(folder), str(turn), str(tmp_path / "states")]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        first = child.stdout.readline()
        time.sleep(rng.uniform(0, 0.5))
        child.kill()
        turn = int((first + child.communicate()[0]).split()[-1])  # the last flush that returned
        assert child.returncode == -signal.SIGKILL
        bases.update(path.name for path in folder.glob("base-*"))
        again = state(DynamicGraph.open(folder))
        states = {}
        for at in (turn, turn + 3):  # it may be killed after a flush and before it says so
            if (path := tmp_path / "states" / str(at)).exists():
                states[at] = pickle.loads(path.read_bytes())
        found = [at for at, expected in states.items() if same(expected, again)]
        assert found, f"the folder holds neither of the flushes {list(states)}"
        turn = found[0]
    assert len(bases) > 1  # there were compactions


# --- how long the files become ---


def size_of(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.usefixtures("short_logs")
@pytest.mark.parametrize("every", [1, 7, 10**9])
def test_the_folder_stays_small(tmp_path, every):
    """Flushed often, seldom or never: a few times the graph, which has 100 edges."""
    graph, sizes = DynamicGraph(50, path=tmp_path / "graph"), []
    rng = np.random.default_rng(every)
    graph.add_edges(*rng.integers(0, 50, (2, 100)))
    for turn in range(400):
        graph.remove_edges(edges=graph.successors(np.arange(50))[1][:20])
        graph.add_edges(*rng.integers(0, 50, (2, 20)))
        if turn % every == every - 1:
            graph.flush()
            graph._log.compacted()
        sizes.append(size_of(tmp_path / "graph"))
    assert max(sizes) < 12_000 and sum(len(part) for part in graph._log._parts) < 3000
    every_node = np.arange(50)
    expected = graph.successors(every_node), graph.predecessors(every_node)
    graph.close()
    again = DynamicGraph.open(tmp_path / "graph")
    assert same(again.successors(every_node), expected[0])
    assert same(again.predecessors(every_node), expected[1])


@pytest.mark.usefixtures("short_logs")
def test_compaction_beside_updates_snapshots_and_queries(tmp_path):
    """Nothing waits for a compaction; afterwards everything is as it is without a folder."""
    graph, plain, before = made(tmp_path / "graph"), made(), []
    stop, errors = threading.Event(), []

    def ask():
        while not stop.is_set():
            snapshot = graph.snapshot()
            one, other = snapshot.to_graph(), snapshot.to_graph()
            if one.edges.tolist() != other.edges.tolist():
                errors.append(one)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for turn in range(300):
            change(graph, turn)
            change(plain, turn)
            if turn % 3 == 0:
                graph.flush()
            if turn % 50 == 0:
                before.append((graph.snapshot(), plain.snapshot().to_graph().edges.tolist()))
    finally:
        stop.set()
        thread.join()
    assert not errors and all(sorted(s.to_graph().edges.tolist()) == sorted(e) for s, e in before)
    graph.close()
    numbered, again = state(plain), state(DynamicGraph.open(tmp_path / "graph"))
    assert same(state(graph), again)
    assert all(np.array_equal(numbered[i], again[i]) for i in (0, 2, 3, 5))  # numbers depend on snapshots


def test_a_flush_without_changes_writes_nothing(tmp_path):
    graph = made(tmp_path)
    graph.flush()
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    graph.flush()
    graph.add_edges([], [], [], {"w": np.zeros((0, 2)), "kind": []})
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


# --- who has it open ---


def test_one_at_a_time_has_the_folder_open(tmp_path):
    graph = made(tmp_path)
    with pytest.raises(ValueError, match=f"open: path: {tmp_path} is open in another DynamicGraph"):
        DynamicGraph.open(tmp_path)
    with pytest.raises(ValueError, match="is open in another DynamicGraph"):
        made(tmp_path)
    program = "import sys; from sampan.graph import DynamicGraph; DynamicGraph.open(sys.argv[1])"
    other = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, cwd=ROOT
    )
    assert "is open in another DynamicGraph" in other.stderr
    graph.close()
    again = DynamicGraph.open(tmp_path)
    del again
    gc.collect()
    with pytest.raises(ValueError, match=r"path: .* holds a graph, which DynamicGraph\.open continues"):
        made(tmp_path)
    assert same(state(DynamicGraph.open(tmp_path)), state(made()))


def test_a_closed_graph_answers_and_refuses_updates(tmp_path):
    graph = made(tmp_path)
    graph.add_edge(0, 5, time=9.0, w=[1, 2], kind=3)
    graph.close()
    graph.close()
    assert graph.has_edge(0, 5) and DynamicGraph.open(tmp_path).has_edge(0, 5)
    calls = {
        "add_edge": lambda: graph.add_edge(0, 1, 1.0, w=[0, 0], kind=0),
        "add_edges": lambda: graph.add_edges([], [], []),
        "remove_edges_before": lambda: graph.remove_edges_before(0.0),
        "remove_edges": lambda: graph.remove_edges([], []),
        "remove_edge": lambda: graph.remove_edge(0, 1),
        "remove_nodes": lambda: graph.remove_nodes([0]),
        "add_nodes": lambda: graph.add_nodes(0),
        "update_node_feat": lambda: graph.update_node_feat("x", [0], [[0, 0]]),
        "update_edge_feat": lambda: graph.update_edge_feat("kind", [0], [0]),
        "flush": graph.flush,
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"{name}: expected an open graph, got one that was closed"):
            call()


def test_a_graph_in_memory_is_saved_to_a_folder(tmp_path):
    graph = made()
    with pytest.raises(ValueError, match="flush: expected a graph with a path, got one in memory"):
        graph.flush()
    graph.close()
    for turn in range(20):
        change(graph, turn)
    graph.save(tmp_path / "a" / "b")
    again = DynamicGraph.open(tmp_path / "a" / "b")
    assert same(state(again), state(graph))
    again.save(tmp_path / "c")  # of a graph that has a folder itself
    with pytest.raises(ValueError, match=r"save: path: .* holds a graph"):
        again.save(tmp_path / "c")
    assert same(state(DynamicGraph.open(tmp_path / "c")), state(graph))


def test_an_empty_graph_and_one_without_times(tmp_path):
    DynamicGraph(path=tmp_path / "empty").close()
    assert DynamicGraph.open(tmp_path / "empty").num_nodes == 0
    DynamicGraph(2, [(0, 1)], path=tmp_path / "plain").close()
    graph = DynamicGraph.open(tmp_path / "plain")
    assert graph.successors([0, 1])[0].tolist() == [1] and graph._times is None
    with pytest.raises(ValueError, match="add_edge: time: expected None"):
        graph.add_edge(0, 1, time=1.0)
    assert graph.add_edge(1, 0) == 1


# --- damage ---


def flushed(folder):
    """A folder with a base and a log, and its state."""
    graph = made(folder)
    for turn in range(25):
        change(graph, turn)
    graph.close()
    return state(graph)


def test_what_is_behind_the_last_flush_is_cut_off(tmp_path):
    expected = flushed(tmp_path)
    log = tmp_path / "log-0.bin"
    whole = log.read_bytes()
    left = [
        tmp_path / name for name in (".base-1.bin.7-8.tmp", "base-1.bin", "log-1.bin")
    ]  # by a killed writer
    others = [tmp_path / name for name in ("log-mine.bin", ".mine.tmp", "base-0.txt")]
    for path in left + others:
        path.write_text("text")
    for tail in (b"\x03", bytes(24), whole[:40], os.urandom(500)):
        log.write_bytes(whole + tail)
        graph = DynamicGraph.open(tmp_path)
        assert same(state(graph), expected) and log.read_bytes() == whole
        assert [path.exists() for path in left + others] == [False] * 3 + [True] * 3
        del graph
        gc.collect()


def test_every_flipped_byte_and_every_cut_is_told(tmp_path):
    flushed(tmp_path)
    for name in ("base-0.bin", "log-0.bin", "graph.json"):
        path = tmp_path / name
        whole = path.read_bytes()
        assert len(whole) > 100
        for place in itertools.chain(range(0, len(whole), 7), [len(whole) - 1]):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
            with pytest.raises(ValueError, match=rf"DynamicGraph.open: path: .*{name}|expected format 1"):
                DynamicGraph.open(tmp_path)
            path.write_bytes(whole[:place])
            with pytest.raises(
                ValueError, match=f"{name} has {place} bytes instead of|description of a graph"
            ):
                DynamicGraph.open(tmp_path)
        path.unlink()
        with pytest.raises((ValueError, FileNotFoundError), match=f"{name} is missing|there is no {name}"):
            DynamicGraph.open(tmp_path)
        path.write_bytes(whole)
    DynamicGraph.open(tmp_path)


def test_records_that_do_not_fit_are_told(tmp_path):
    """A log whose checksum is right, with records of another graph: nothing is read out of bounds."""
    made(tmp_path).close()
    numbers, one = (lambda *given: np.array(given, np.int32)), np.ones(1)
    features = np.zeros((1, 2), np.float16), np.zeros(1, np.int8)
    wrong = {
        "expected a record at byte 0": (99, 1),
        "expected 4 bytes at byte 24": (redo_log_kind("REMOVE"), 1),
        "expected numbers from 0 to 5": (redo_log_kind("GONE"), 1, numbers(6)),
        "expected numbers from 0 to 1023|expected numbers from 0 to 2": (
            redo_log_kind("REMOVE"),
            1,
            numbers(-3),
        ),
        "from 0 to 5": (redo_log_kind("ADD"), 1, numbers(7), numbers(0), numbers(9), one, *features),
        "expected an edge once": (
            redo_log_kind("ADD"),
            1,
            numbers(0),
            numbers(0),
            numbers(1),
            one,
            *features,
        ),
        "from 0 to 2147483646": (
            redo_log_kind("ADD"),
            1,
            numbers(-1),
            numbers(0),
            numbers(1),
            one,
            *features,
        ),
    }
    meta = tmp_path / "graph.json"
    facts = json.loads(meta.read_text())
    del facts["check"]
    for text, given in wrong.items():
        log = redo_log.LogFile(tmp_path / "log-0.bin")
        log.append(redo_log.record(*given))
        facts["files"]["log-0.bin"] = list(log.sync())
        log.close()
        meta.write_text(json.dumps(facts | {"check": redo_log._check(facts)}))
        with pytest.raises(ValueError, match=f"log-0.bin has a record that does not fit: .*({text})"):
            DynamicGraph.open(tmp_path)


def redo_log_kind(name):
    from sampan.graph import redo_records

    return getattr(redo_records, name)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected the description of a graph in"),
        ("[1]", "expected the description of a graph in"),
        ("{}", "expected the description of a graph in"),
        ('{"format": 2}', "expected format 1 in .*graph.json, got 2"),
        ('{"format": 1}', "graph.json was changed: its CRC-32 is another"),
    ],
)
def test_a_description_of_something_else(tmp_path, text, words):
    made(tmp_path).close()
    (tmp_path / "graph.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        DynamicGraph.open(tmp_path)


def test_folders_without_a_graph(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"holds no graph, there is no graph\.json"):
            DynamicGraph.open(path)
    flushed(tmp_path / "graph")
    (tmp_path / "graph" / "graph.json").unlink()
    with pytest.raises(ValueError, match=r"has base-0.bin, log-0.bin, but no graph.json"):
        made(tmp_path / "graph")
    with pytest.raises(
        TypeError, match=r"path: edge_feat: expected numbers or text .* 'o', got dtype object"
    ):
        DynamicGraph(2, [(0, 1)], edge_feat={"o": np.array([None])}, path=tmp_path / "objects")


def test_a_graph_that_was_not_made_to_its_end_is_made_again(tmp_path, monkeypatch):
    def ends(*given):
        raise OSError("killed")

    with monkeypatch.context() as monkeypatch:
        monkeypatch.setattr(redo_log.RedoLog, "_base", ends)
        with pytest.raises(OSError, match="killed"):
            made(tmp_path)
    with pytest.raises(ValueError, match="the graph was not made to its end; make it again"):
        DynamicGraph.open(tmp_path)
    made(tmp_path).close()
    assert same(state(DynamicGraph.open(tmp_path)), state(made()))


@pytest.mark.parametrize(("limit", "failures"), [(10, 2), (700, 1)])
def test_a_disk_that_is_full_is_told_and_the_last_flush_counts(tmp_path, limit, failures, monkeypatch):
    monkeypatch.setattr(redo_log, "SPILL", 64)
    graph = made(tmp_path / "graph")
    before, first, unlimited = state(graph), state(made()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        for turn in range(40):  # updates do not fail
            change(graph, turn)
        for _ in range(failures):
            with pytest.raises(OSError, match="File too large"):
                graph.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    shutil.copytree(tmp_path / "graph", tmp_path / "killed")
    assert same(state(DynamicGraph.open(tmp_path / "killed")), before) and same(before, first)
    change(graph, 40)
    graph.flush()
    change(graph, 41)
    graph.close()
    assert same(state(DynamicGraph.open(tmp_path / "graph")), state(graph))


@pytest.mark.usefixtures("short_logs")
def test_a_compaction_that_fails_is_told_and_tried_again(tmp_path, monkeypatch):
    graph = made(tmp_path)

    def ends(*given):
        raise OSError("no space")

    told = pytest.warns(UserWarning, match="flush: the log in .* could not be compacted: no space")
    with monkeypatch.context() as monkeypatch, told:
        monkeypatch.setattr(redo_log.RedoLog, "_base", ends)
        for turn in range(25):
            change(graph, turn)
            graph.flush()
            graph._log.compacted()
        assert len(list(tmp_path.glob("log-*"))) > 1 and (tmp_path / "base-0.bin").exists()
        monkeypatch.undo()
        graph.flush()  # the last failure may not have been told yet
    for turn in range(25, 60):
        change(graph, turn)
        graph.flush()
    graph.close()
    assert not (tmp_path / "base-0.bin").exists()
    assert same(state(DynamicGraph.open(tmp_path)), state(graph))


@pytest.mark.usefixtures("short_logs")
def test_a_flush_without_memory_is_told_and_nothing_is_lost(tmp_path, monkeypatch):
    graph = made(tmp_path)

    def ends(graph):
        raise MemoryError

    with monkeypatch.context() as monkeypatch:
        monkeypatch.setattr(redo_log, "_copied", ends)
        with pytest.raises(MemoryError):
            for turn in range(100):
                change(graph, turn)
                graph.flush()
    graph.close()
    assert same(state(DynamicGraph.open(tmp_path)), state(graph))


def test_no_loop_is_compiled_after_the_warm_up(tmp_path):
    loops.warm_up()
    names = ("needed", "insert", "find", "kept_places", "mark", "remove", "gather", "copy_rows")
    before = {name: list(getattr(loops, name).signatures) for name in names}
    graph, rng = DynamicGraph(50, path=tmp_path), np.random.default_rng(0)
    graph.add_edges(*rng.integers(0, 50, (2, 500)))
    snapshot = graph.snapshot()
    graph.remove_edges(edges=np.arange(100))
    graph.remove_nodes([3])
    graph.add_edge(1, 2)
    graph.remove_edge(1, 2)
    graph.compact()
    assert snapshot.to_graph().num_edges == 500 and len(snapshot.successors([1])[2]) == 1
    graph.close()
    DynamicGraph.open(tmp_path).remove_edges(edges=[150])
    assert {name: list(getattr(loops, name).signatures) for name in names} == before
