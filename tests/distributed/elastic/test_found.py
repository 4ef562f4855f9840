"""Which copies a restart takes: the newest step that is whole, in memory or on the disk, also a damaged one less."""

import pytest

import sampan as paddle
from sampan.distributed.elastic.found import ALL, Places, Restart, of_rank


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path / "memory", tmp_path / "disk")


def kept(places, name, *steps, disk=False):
    for step in steps:
        places.copies(name)[disk].write(step, {"step": step, "of": name, "w": paddle.full([3], float(step))})


def damage(path):
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)


def test_the_newest_in_memory_or_on_the_disk(places):
    assert Restart(places, False, 0, 1).step == 0
    kept(places, ALL, 4, disk=True)
    assert Restart(places, False, 0, 1).states[ALL]["step"] == 4
    kept(places, ALL, 6, 8)
    found = Restart(places, False, 0, 1)
    assert (found.step, found.states[ALL]["w"].tolist(), found.moved) == (8, [8.0] * 3, False)


def test_a_damaged_copy_is_passed_over(places):
    kept(places, ALL, 6, 8)
    damage(places.copies(ALL)[0].path(8))
    with pytest.warns(RuntimeWarning, match="step-8.safetensors cannot be read and is passed over"):
        assert Restart(places, False, 0, 1).step == 6
    kept(places, ALL, 8, disk=True)
    with pytest.warns(RuntimeWarning, match="step-8.safetensors cannot be read and is passed over"):
        assert Restart(places, False, 0, 1).step == 8  # of the disk


def test_state_of_a_process_s_own_is_of_the_same_step(places):
    own = of_rank(0, 1)
    kept(places, own, 4, 8)
    assert Restart(places, True, 0, 1).step == 0  # it was killed before the rest was kept
    kept(places, ALL, 4)
    found = Restart(places, True, 0, 1)
    assert (found.step, found.states[own]["of"]) == (4, own)
    kept(places, ALL, 12)
    assert Restart(places, True, 0, 1).step == 4


def test_what_is_lost_or_was_made_by_another_number_of_processes(places):
    kept(places, ALL, 12)
    with pytest.raises(RuntimeError, match="of step 12 the state of rank-0-of-1 is lost"):
        Restart(places, True, 0, 1)
    kept(places, of_rank(0, 2), 12)
    with pytest.raises(
        ValueError, match="own: the state of step 12 is that of 2 processes; expected as many, got 1"
    ):
        Restart(places, True, 0, 1)
