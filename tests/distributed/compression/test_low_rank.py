"""PowerSGD: gradients of matrices as products of thin ones."""

import pytest

from sampan.distributed.compression import LowRank
from tests.distributed.compression import programs

pytestmark = pytest.mark.servers


def test_what_is_lost_is_sent_later(workers):
    for errors, late, size, equal in workers(2)(programs.sums_of_gradients, "LowRank", {"rank": 2}, 30):
        assert equal
        assert late < 0.5 * errors[0]
        # 40 x 30 becomes 2 (40 + 30); 40 x 2, 40 and 2 are sent whole.
        assert size == pytest.approx((2 * 70 + 80 + 42) / (1200 + 80 + 42), rel=0.05)


def test_it_learns(workers):
    for before, after in workers(2)(programs.learned, "LowRank", 60):
        assert after < 0.7 * before


def test_the_rank_is_checked():
    with pytest.raises(ValueError, match="rank: expected 1 or more, got 0"):
        LowRank(0)
