"""On-disk files of a partially cached table: after a kill they are rolled back to the last flush."""

import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sampan
from sampan import embedding, optimizer
from sampan.embedding import reading, stores, undo
from tests.embedding.cached_tables import COUNT, RULES, WIDTH, loss, made, plain

ALL = np.arange(COUNT)


def steps(turns, *pairs):
    """Train layers by their rules, in turns that each have their own ids."""
    for turn in turns:
        ids = np.random.default_rng(turn).integers(0, COUNT, 7)
        for layer, rule in pairs:
            loss(layer, ids).backward()
            rule.step()
            rule.clear_grad(False)


def contents(folder):
    """The bytes of what counts: of the rows that are there, and of the states of those that have one."""
    stored = np.fromfile(folder / "stored.bin", np.uint8)
    found = {"stored.bin": stored.tobytes()}
    for path in [*folder.glob("weight*.bin"), *folder.glob("state[0-9].bin")]:
        rows = np.fromfile(path, np.uint8).reshape(len(stored), -1)
        found[path.name] = rows[stored >= (2 if "state" in path.name else 1)].tobytes()
    return found


@pytest.mark.parametrize("name", RULES)
def test_steps_and_states_go_on_where_they_were_flushed(tmp_path, name):
    full = plain()
    rule = RULES[name](full.parameters())
    for first in range(0, 40, 10):
        bounded = made(path=tmp_path)
        mine = RULES[name](bounded.parameters())
        steps(range(first, first + 10), (bounded, mine), (full, rule))
        bounded.flush()
        steps(range(90, 95), (bounded, mine))  # undone
        del bounded, mine
        gc.collect()
    np.testing.assert_array_equal(made(path=tmp_path).rows(ALL), full.weight.numpy())


@pytest.mark.parametrize("name", ["adagrad", "lazy adam"])
def test_at_every_moment_the_files_hold_the_last_flush(tmp_path, monkeypatch, name):
    """The folder is copied before and after each operation on it: the state that a kill at that moment leaves."""
    monkeypatch.setattr(undo, "AT_ONCE", 2)  # several entries each time
    folder, last, turns, found = tmp_path / "table", {0}, 12, []
    full = plain()
    rule, expected = RULES[name](full.parameters()), [full.weight.numpy().copy()]
    for turn in range(turns):
        steps([turn], (full, rule))
        expected.append(full.weight.numpy().copy())

    def look(cut=0):
        copy = tmp_path / f"{len(found)}"
        shutil.copytree(folder, copy)
        for path in copy.glob("undo-*.bin"):
            os.truncate(path, path.stat().st_size - cut)
        found.append((copy, set(last)))

    def looked_at(owner, method):
        before = getattr(owner, method)

        def call(*given, **names):
            size = sum(path.stat().st_size for path in folder.glob("undo-*.bin"))
            look()
            result = before(*given, **names)
            look()
            if method == "note":  # half of what was noted, and nothing overwritten yet
                look((sum(path.stat().st_size for path in folder.glob("undo-*.bin")) - size) // 2)
            return result

        monkeypatch.setattr(owner, method, call)

    bounded = made(path=folder)
    mine = RULES[name](bounded.parameters())
    with monkeypatch.context() as monkeypatch:
        for owner, method in (
            (undo.Files, "note"),
            (stores.Store, "write"),
            (os, "replace"),
            (Path, "unlink"),
        ):
            looked_at(owner, method)
        for turn in range(turns):
            steps([turn], (bounded, mine))
            if turn % 4 == 3:
                last.add(turn + 1)
                bounded.flush()
                last.clear()
                last.add(turn + 1)
    del bounded, mine
    gc.collect()
    came_to = set()
    for number, (copy, allowed) in enumerate(found):
        again = made(path=copy)
        rows = again.rows(ALL)
        at = [turn for turn in allowed if np.array_equal(rows, expected[turn])]
        assert at, f"{copy}: neither of {allowed}"
        came_to.add(at[0])
        if number % 5 == 0:
            steps(range(at[0], turns), (again, RULES[name](again.parameters())))
            np.testing.assert_array_equal(again.rows(ALL), expected[turns])
    assert came_to == {0, 4, 8, 12} and len(found) > 40


@pytest.mark.parametrize("kind", stores.KINDS)
def test_what_was_not_flushed_is_undone_byte_for_byte(tmp_path, kind):
    def opened():
        return embedding.HybridEmbedding(60, 8, 10, tmp_path, store=kind, initializer=("normal", 0.5), seed=3)

    layer = opened()
    steps(range(5), (layer, RULES["sgd"](layer.parameters())))
    layer.flush()
    for first in (5, 20):  # the first time there was no state
        before = contents(tmp_path)
        layer = opened()
        reading.table_of(layer).put(ALL[3:30], np.ones((27, 8), np.float32))
        steps(range(first, first + 9), (layer, RULES["lazy adam"](layer.parameters())))
        assert contents(tmp_path) != before
        del layer
        gc.collect()
        layer = opened()
        assert contents(tmp_path) == before
        steps(range(first, first + 9), (layer, RULES["lazy adam"](layer.parameters())))
        layer.flush()
    names = {path.name for path in tmp_path.iterdir()} - {"weight.scale.bin"}
    assert names == {".lock", "table.json", "weight.bin", "stored.bin", "state0.bin", "state1.bin"}


WRITER = """
import os, sys, threading, numpy as np, sampan
from sampan import embedding, optimizer
from tests.embedding.test_undo import batch, large
folder, turn, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
layer = large(folder)
rule = optimizer.Adam(0.01, parameters=layer.parameters(), lazy_mode=True)
ahead = sampan.to_tensor(batch(turn))
while True:
    ids, turn = ahead, turn + 1
    (layer(ids) ** 3).sum().backward()
    ahead = sampan.to_tensor(batch(turn))
    layer.prefetch(ahead)
    rule.step()
    rule.clear_grad()
    if turn % 25 == 0:
        layer.flush()
        if seconds:  # its first flush stands
            threading.Timer(seconds, os.kill, (os.getpid(), 9)).start()
            seconds = 0
"""


def batch(turn):
    return np.random.default_rng(turn).integers(0, 400, 60)


def large(folder=None):
    return embedding.HybridEmbedding(400, 64, 150, folder, initializer=("normal", 0.5), seed=3)


KILLS = int(os.environ.get("SAMPAN_KILLS", "2"))


def test_killed_at_any_moment_the_files_hold_the_last_flush(tmp_path):
    """SAMPAN_KILLS: how often; fifty and more by hand."""
    rng, turn, whole = np.random.default_rng(KILLS), 0, large()  # the same in memory, never stopped
    rule = optimizer.Adam(0.01, parameters=whole.parameters(), lazy_mode=True)
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    root = str(Path(__file__).resolve().parents[2])
    for _ in range(KILLS):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(turn), f"{rng.uniform(0.0001, 0.2):.4f}"]
        killed = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=alone, timeout=180, cwd=root)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        rows = large(tmp_path).rows(np.arange(400))
        assert not list(tmp_path.glob("undo-*"))
        for _ in range(2000):
            (whole(sampan.to_tensor(batch(turn))) ** 3).sum().backward()
            rule.step()
            rule.clear_grad()
            turn += 1
            if turn % 25 == 0 and np.allclose(whole.rows(np.arange(400)), rows, rtol=1e-6, atol=1e-7):
                break
        else:
            pytest.fail("the files hold no flush")


# --- files that are not whole, and other writers ---


@pytest.mark.parametrize("kind", ["float32", "int8"])
def test_a_file_that_is_cut_or_missing_is_named(tmp_path, kind):
    def opened():
        return embedding.HybridEmbedding(COUNT, WIDTH, 20, tmp_path, store=kind)

    layer = opened()
    steps(range(4), (layer, RULES["adagrad"](layer.parameters())))
    layer.flush()
    files = sorted(tmp_path.glob("*.bin"))
    assert len(files) == {"float32": 3, "int8": 4}[kind]
    for path in files:
        whole = path.read_bytes()
        for wrong in (whole[: len(whole) // 2], b"", whole + b"1"):
            path.write_bytes(wrong)
            with pytest.raises(
                ValueError, match=f"{path.name} has {len(wrong)} bytes instead of {len(whole)}"
            ):
                opened()
        path.unlink()
        with pytest.raises(ValueError, match=rf"path: .*{path.name} is missing"):
            opened()
        path.write_bytes(whole)
    np.testing.assert_allclose(opened().rows(ALL), layer.rows(ALL), atol=0.01)
    meta = tmp_path / "table.json"
    facts = json.loads(meta.read_text())
    for text, words in (
        ("[1]", "description of a table"),
        ("", "description of a table"),
        (
            json.dumps({key: value for key, value in facts.items() if key != "steps"}),
            "description of a table",
        ),
        (json.dumps({**facts, "format": 1}), "holds a table .*'format': 1.*expected .*'format': 2"),
        (json.dumps({**facts, "seed": 9}), "holds a table"),
    ):
        meta.write_text(text)
        with pytest.raises(ValueError, match=words):
            opened()
    meta.unlink()
    with pytest.raises(ValueError, match=r"state0.bin.*but no table.json"):
        opened()


def test_a_table_whose_making_was_cut_short_is_made(tmp_path):
    made(path=tmp_path)
    (tmp_path / "weight.bin").write_bytes(b"")
    (tmp_path / "stored.bin").unlink()
    np.testing.assert_array_equal(made(path=tmp_path).rows(ALL), plain().weight.numpy())


def test_one_at_a_time_writes(tmp_path):
    one, reader = made(path=tmp_path), made(path=tmp_path)
    rule = RULES["adagrad"](one.parameters())
    steps(range(6), (one, rule))
    with pytest.raises(ValueError, match="is being written by another"):
        made(path=tmp_path)
    one.flush()
    other = made(path=tmp_path)
    np.testing.assert_array_equal(other.rows(ALL), one.rows(ALL))
    steps(range(6), (other, RULES["adagrad"](other.parameters())))
    other.flush()
    with pytest.raises(ValueError, match="another HybridEmbedding has written to"):
        steps(range(6, 12), (one, rule))
    with pytest.raises(ValueError, match="another HybridEmbedding has written to"):
        steps(range(6), (reader, RULES["adagrad"](reader.parameters())))
    np.testing.assert_array_equal(made(path=tmp_path).rows(ALL), other.rows(ALL))


def test_a_disk_that_is_full_is_told_and_the_last_flush_stands(tmp_path):
    layer = made(path=tmp_path)
    rule = RULES["adagrad"](layer.parameters())
    steps(range(6), (layer, rule))
    layer.flush()
    before, expected = resource.getrlimit(resource.RLIMIT_FSIZE), layer.rows(ALL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            steps(range(6, 12), (layer, rule))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with pytest.raises(RuntimeError, match="transfer of rows failed"):
        layer.flush()
    with pytest.raises(RuntimeError, match="transfer of rows failed"):
        layer(sampan.to_tensor(ALL[:20]))
    del layer, rule
    gc.collect()
    np.testing.assert_array_equal(made(path=tmp_path).rows(ALL), expected)


# --- optimizers ---


def test_the_table_counts_the_steps_whoever_makes_them():
    bounded, full = made(), plain()
    rule = RULES["lazy adam"](full.parameters())
    for first in range(0, 12, 3):  # another optimizer each time
        steps(range(first, first + 3), (bounded, RULES["lazy adam"](bounded.parameters())), (full, rule))
    np.testing.assert_array_equal(bounded.rows(ALL), full.weight.numpy())


def test_a_rule_with_another_state_is_refused_before_anything_moves(tmp_path):
    layer = made(path=tmp_path)
    steps(range(3), (layer, RULES["lazy adam"](layer.parameters())))
    layer.flush()
    for one in (layer, made(path=tmp_path)):
        before = one.rows(ALL)
        for name, words in (
            ("sgd", "SGD: .*moment1, moment2.*got none"),
            ("adagrad", "Adagrad: .*got moment"),
        ):
            with pytest.raises(TypeError, match=words):
                steps([4], (one, RULES[name](one.parameters())))
        np.testing.assert_array_equal(one.rows(ALL), before)


def test_rows_that_left_before_there_was_a_state_begin_it():
    bounded, full = made(), plain()
    for name in ("sgd", "adagrad"):
        pairs = [(layer, RULES[name](layer.parameters())) for layer in (bounded, full)]
        steps(range(12), *pairs)
    np.testing.assert_array_equal(bounded.rows(ALL), full.weight.numpy())


def test_a_flush_between_backward_and_step_loses_nothing(tmp_path):
    bounded, full = made(path=tmp_path), plain()
    rules = [RULES["adagrad"](layer.parameters()) for layer in (bounded, full)]
    for turn in range(12):
        ids = np.random.default_rng(turn).integers(0, COUNT, 7)
        for layer, rule in zip((bounded, full), rules, strict=True):
            loss(layer, ids).backward()
            bounded.flush()
            rule.step()
            rule.clear_grad(False)
    np.testing.assert_array_equal(bounded.rows(ALL), full.weight.numpy())
    bounded.flush()
    np.testing.assert_array_equal(made(path=tmp_path).rows(ALL), full.weight.numpy())


def test_the_rows_at_hand_are_not_taken_for_a_checkpoint():
    layer = made()
    with pytest.raises(TypeError, match="not a checkpoint"):
        layer.set_state_dict(layer.state_dict())
