"""Rounding of rows and sums of messages, beside torch's bfloat16 and a dense sum."""

import numpy as np
import pytest
import torch

from sampan.kernels.cpu_embedding_messages import sum_of_messages, write_rounded

FLOATS = np.random.default_rng(1)


def bits(rows: torch.Tensor) -> np.ndarray:
    return rows.view(torch.uint16).numpy()


@pytest.mark.parametrize("count", [3, 2000])  # serial and parallel
def test_rounding_is_torchs_and_what_it_takes_away_is_kept(count: int) -> None:
    ids = FLOATS.permutation(3000)[:count]
    rows = FLOATS.standard_normal((count, 40), np.float32) * np.float32(10) ** FLOATS.integers(
        -38, 38, (count, 40)
    )
    rows = rows.astype(np.float32)
    rows[0, :6] = np.nan, np.inf, -np.inf, 3.4e38, 1e-42, -0.0
    lost = FLOATS.standard_normal((3000, 40), np.float32)
    lost[:, 20:] = 0
    before, sent = lost.copy(), np.empty((count, 40), np.uint16)
    write_rounded(ids, rows, lost, sent)
    whole = torch.from_numpy(rows + before[ids])
    expected = whole.bfloat16()
    finite = ~whole.isnan().numpy()
    np.testing.assert_array_equal(sent[finite], bits(expected)[finite])
    assert torch.from_numpy(sent).view(torch.bfloat16)[~torch.from_numpy(finite)].isnan().all()
    left = (whole - expected.float()).nan_to_num(0, 0, 0).numpy()
    np.testing.assert_array_equal(lost[ids], left)
    others = np.setdiff1d(np.arange(3000), ids)
    np.testing.assert_array_equal(lost[others], before[others])


@pytest.mark.parametrize("wrong", [-1, 5])
def test_an_id_outside_is_refused(wrong: int) -> None:
    lost = np.zeros((5, 2), np.float32)
    with pytest.raises(IndexError, match="expected 0 to 4"):
        write_rounded(np.array([1, wrong]), np.ones((2, 2), np.float32), lost, np.zeros((2, 2), np.uint16))
    with pytest.raises(ValueError, match="expected 0 to 4"):
        sum_of_messages([np.array([1, 7])], [np.ones((2, 2), np.float32)], 5, 1.0, torch.float32)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("counts", [(3, 0, 2), (900, 1500, 1200), (0, 0)])
def test_messages_are_added_up(kind: torch.dtype, counts: tuple[int, ...]) -> None:
    ids = [FLOATS.permutation(2000)[:count].astype(np.int32) for count in counts]
    rows = [torch.from_numpy(FLOATS.standard_normal((count, 32))).to(kind) for count in counts]
    given = [bits(each) if kind is torch.bfloat16 else each.numpy() for each in rows]
    wide = torch.float64 if kind is torch.float64 else torch.float32
    found, total = sum_of_messages(ids, given, 2000, 0.25, wide)
    assert total.dtype is wide
    joined = np.concatenate(ids)
    _, first = np.unique(joined, return_index=True)
    np.testing.assert_array_equal(found, joined[np.sort(first)])
    expected = np.zeros((2000, 32))
    for i, each in zip(ids, rows, strict=True):
        expected[i] += 0.25 * each.double().numpy()
    dense = np.zeros((2000, 32))
    dense[found] = total.numpy()
    np.testing.assert_allclose(dense, expected, rtol=0, atol=1e-14 if wide is torch.float64 else 1e-6)
