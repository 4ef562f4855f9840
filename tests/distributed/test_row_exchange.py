"""Rows of several processes against the mean of their dense gradients."""

import pytest

from tests.distributed import row_exchange_programs as programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("counts", [(500, 400), (0, 300), (0, 0), (300, 500, 0)])
@pytest.mark.parametrize("kind", ["zipf", "uniform"])
def test_means_of_rows(workers, counts, kind):
    for errors, _, equal, _, _ in workers(len(counts))(programs.exchanged, counts, 900, kind, 3):
        assert max(errors) < 2e-5
        assert equal


def test_messages_may_become_longer_than_expected(workers):
    for errors, _, equal, _, _ in workers(2)(programs.exchanged, (100, 0), 3000, "uniform", 4, None, 3):
        assert max(errors) < 1e-5
        assert equal


def test_rows_that_all_name_are_summed_at_their_owners(workers):
    """With 3 processes that name nearly the same rows, less is sent from the second step on."""
    counts, table = (4000, 4000, 4000), 300
    once = workers(3)(programs.exchanged, counts, table, "uniform", 1)
    three = workers(3)(programs.exchanged, counts, table, "uniform", 3)
    for (first, _, _, different, sent), (errors, _, equal, _, sent_in_three) in zip(once, three, strict=True):
        assert different == pytest.approx(1 / 3)
        assert max(*first, *errors) < 1e-4
        assert equal
        assert sent == pytest.approx(2 * 300 * (4 + 16), rel=0.02)
        # A third of the rows to each of two owners, then the sums of a third to two processes.
        assert (sent_in_three - sent) / 2 == pytest.approx(2 * 200 * (4 + 16), rel=0.1)


@pytest.mark.parametrize(
    ("half", "counts", "table"), [("bfloat16", (900, 700), 300), ("float16", (3000, 3000, 3000), 200)]
)
def test_halved_rows_are_late_and_not_lost(workers, half, counts, table):
    whole = workers(len(counts))(programs.exchanged, counts, table, "uniform", 6)
    halved = workers(len(counts))(programs.exchanged, counts, table, "uniform", 6, half)
    for (_, _, _, _, size), (errors, late, equal, _, sent) in zip(whole, halved, strict=True):
        assert equal
        assert errors[0] > 1e-4  # it rounds
        assert late < 2 * max(errors)  # the sum over 6 steps is as close as one step
        assert sent == pytest.approx(size * (4 + 8) / (4 + 16), rel=0.02)


def test_a_dense_gradient_in_one_process(workers):
    assert workers(2)(programs.one_is_dense) == [("Tensor", [0.5, 1.5, 0.5, 0.5, 0.5])] * 2


def test_what_rounding_lost_beside_a_dense_gradient_is_late(workers):
    assert workers(2)(programs.one_is_dense_and_the_other_rounds) == [1 + 2.0**-11] * 2


def test_tables_without_a_gradient_are_left_alone(workers):
    assert workers(2)(programs.none_anywhere) == [([2], [0]), ([2], [1])]


def test_a_message_that_nobody_has_received_is_not_taken_for_rows(workers):
    assert workers(2)(programs.beside_a_message) == [([0, 1, 5], list(range(200)))] * 2
