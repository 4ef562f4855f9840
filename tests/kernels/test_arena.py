"""Memory that is lent is never lent twice at a time, and is used again."""

import gc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.kernels import arena
from sampan.kernels.cpu_embedding import rows_read

LARGE = arena.LENT_FROM // 4 + 7  # float32


@settings(max_examples=20)
@given(st.lists(st.tuples(st.sampled_from(["take", "drop", "view"]), st.integers(0, 5)), max_size=20))
def test_what_is_held_is_nobody_elses(actions):
    held = []
    for number, (action, which) in enumerate(actions):
        if action == "take":
            made = arena.lent((LARGE + 1000 * which,), torch.float32)
            held.append((made.fill_(number), number))
        elif held and action == "drop":
            held.pop(which % len(held))
        elif held:  # what is made from a buffer keeps its memory
            buffer, value = held.pop(which % len(held))
            held.append((torch.from_numpy(buffer.view(-1, 1)[5:].numpy()[::2]), value))
    for buffer, value in held:
        assert float(buffer.min()) == float(buffer.max()) == value


def test_it_is_used_again_and_not_too_much_waits():
    arena._waiting.clear()
    buffer = arena.lent((3, LARGE), torch.float32)
    address = buffer.data_ptr()
    del buffer
    gc.collect()
    assert arena.lent((3, LARGE), torch.float32).data_ptr() == address
    many = [arena.lent((LARGE,), torch.float32) for _ in range(2 * arena.MOST_KEPT // (4 * LARGE))]
    del many
    gc.collect()
    assert arena.MOST_KEPT / 2 < sum(block.nbytes for block in arena._waiting.values()) <= arena.MOST_KEPT


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_a_large_look_up_is_torchs(dtype):
    table = torch.randn(5000, 33).to(dtype)
    ids = torch.randint(0, 5000, (50, 1000))
    found = rows_read(table, ids)
    assert found.dtype is dtype and torch.equal(found, torch.embedding(table, ids))
    assert torch.equal(rows_read(table, ids.int()), found) and torch.equal(
        rows_read(table.T.contiguous().T, ids), found
    )
    for wrong in (-1, 5000):
        ids[7, 9] = wrong
        with pytest.raises(IndexError):
            rows_read(table, ids)


def test_a_large_parameter_is_like_any():
    made = arena.empty((3, LARGE), torch.float32, torch.device("cpu"))
    assert made.shape == (3, LARGE) and made.dtype == torch.float32 and made.is_contiguous()
    np.testing.assert_array_equal(made.fill_(2.0).numpy()[:, ::1000], 2.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("value", [0.0, 0.5])
@pytest.mark.parametrize("shape", [(3, 5), (LARGE, 2), (0, 4)])
def test_filled_like_is_torchs(shape, value, dtype):
    for buffer in (torch.ones(shape, dtype=dtype), torch.ones(shape, dtype=dtype).T):
        made, expected = arena.filled_like(buffer, value), torch.full_like(buffer, value)
        assert torch.equal(made, expected) and made.stride() == expected.stride() and made.dtype is dtype
        made += 1  # it can be written to
        assert torch.equal(made, expected + 1)


CPU = torch.device("cpu")


def test_rows_of_large_buffers_begin_where_a_line_of_the_caches_does():
    for buffer in (arena.lent((LARGE,), torch.float32), arena.empty((LARGE,), torch.float32, CPU)):
        assert buffer.data_ptr() % 64 == 0
        assert float(buffer.fill_(3.0).min()) == 3.0


@pytest.mark.parametrize("dtype", ["float32", "bool", "uint16", "complex64"])
def test_an_array_copy_is_numpys_and_a_large_one_is_aligned(dtype):
    values = np.arange(6_000_000).reshape(2_000, 3_000).astype(dtype)
    values.flags.writeable = False
    for array in (values, values.T, values[::-1], values[:3, :3]):
        copy = arena.array_copy(array)
        assert copy.dtype == array.dtype and copy.flags.c_contiguous and copy.flags.writeable
        assert (copy == array).all() and not np.shares_memory(copy, array)
        assert copy.nbytes < arena.LENT_FROM or copy.ctypes.data % 64 == 0
    kept = arena.array_copy(np.full(600_000, None))
    assert kept.dtype == object and kept[-1] is None


def test_more_than_any_machine_has_is_refused_and_not_promised():
    for take in (arena.lent, lambda *asked: arena.empty(*asked, CPU)):
        with pytest.raises(MemoryError, match="could not be had"):
            take((1 << 46,), torch.float32)  # 256 TiB
