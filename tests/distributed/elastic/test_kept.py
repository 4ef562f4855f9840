"""Copies of a state in a folder: whole or not there, newest first, and the task in the background."""

import os

import pytest

import sampan as paddle
from sampan.distributed.elastic.kept import Background, Copies, memory_folder


def state(step):
    return {"step": step, "w": paddle.full([3], float(step))}


def test_the_last_two_stay(tmp_path):
    copies = Copies(tmp_path / "run")
    assert copies.steps() == []
    for step in (4, 8, 12):
        copies.write(step, state(step))
    assert copies.steps() == [12, 8]
    copies.remove()
    assert not (tmp_path / "run").exists()


def test_from_one_folder_to_another(tmp_path):
    first, second = Copies(tmp_path / "a"), Copies(tmp_path / "b")
    first.write(3, state(3))
    second.take(first.path(3).open("rb"), 3)
    assert second.path(3).read_bytes() == first.path(3).read_bytes()
    copy = first.path(3).open("rb")
    first.remove()
    second.take(copy, 4)  # it was opened before it was removed
    assert copy.closed and second.steps() == [4, 3]


def test_what_killed_processes_were_writing_is_removed_and_that_of_living_ones_stays(tmp_path):
    copies = Copies(tmp_path)
    dead, alive = (tmp_path / f".step-8.safetensors.{pid}-1.tmp" for pid in (4194303, os.getpid()))
    for path in (dead, alive):
        path.write_bytes(b"half")
    copies.write(9, state(9))
    assert not dead.exists() and alive.exists() and copies.steps() == [9]


def test_the_folder_of_a_job_is_this_users_and_holds_any_name():
    folder = memory_folder("a/../b c")
    assert folder.name == f"sampan-{os.getuid()}-a____b_c" and folder.parent.is_dir()


def test_the_task_in_the_background():
    made, background = [], Background()
    background.wait()
    for number in range(3):
        background.start(lambda number=number: made.append(number))  # each after the one before
    background.wait()
    assert made == [0, 1, 2]

    def full():
        raise OSError(28, "No space left on device")

    background.start(full)
    with pytest.warns(RuntimeWarning, match="could not be written to the disk.*No space left"):
        background.wait()
    background.wait()  # the warning is given once
