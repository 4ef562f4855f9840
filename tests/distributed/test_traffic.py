"""Counts of bytes: by collective and by step."""

from sampan.distributed import traffic


def test_steps_and_totals():
    traffic.reset()
    traffic.count("all_reduce", 100, 150)
    traffic.count("all_reduce", 10, 15)
    assert traffic.step() == {"all_reduce": (2, 110, 165)}
    traffic.count("broadcast", 8, 0)
    assert traffic.step() == {"broadcast": (1, 8, 0)}
    assert traffic.step() == {}
    assert traffic.totals() == {"all_reduce": (2, 110, 165), "broadcast": (1, 8, 0)}
    assert [list(step) for step in traffic.steps()] == [["all_reduce"], ["broadcast"], []]
    traffic.reset()
    assert (traffic.totals(), traffic.steps()) == ({}, [])
