"""Operators of layers whose parts are not those of the plain call: random masks, look-up, losses."""

import numpy as np
import pytest

from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def test_dropout_draws_another_mask_for_each_part_and_one_for_copies(workers):
    (cut, copy, gradient), (_, other, _) = workers(2)(programs.dropped, 0.25)
    assert np.array_equal(copy, other)
    assert not np.array_equal(cut[:200], cut[200:])
    for value in (cut, copy):
        assert set(np.unique(value)) == {0.0, np.float32(1 / 0.75)}
        assert abs((value == 0).mean() - 0.25) < 0.04  # 4000 draws: about 6 standard deviations
    assert np.array_equal(gradient, cut)


@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("kind", ["rows", "classes"])
def test_the_mean_of_losses_of_cut_rows_with_ignored_labels(workers, kind, ignored):
    for plain, cut, gradient, expected in workers(2)(programs.losses, kind, ignored):
        assert np.allclose(plain, cut, atol=1e-6) and np.allclose(gradient, expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["S0", "S1", "ids"])
def test_rows_of_a_cut_table(workers, kind):
    for plain, cut, gradient, expected, lies in workers(2)(programs.looked_up, kind):
        assert np.array_equal(plain, cut) and np.allclose(gradient, expected)
        assert lies == ("[Replicate()]" if kind == "ids" else f"[{programs.KINDS[kind]()}]")
