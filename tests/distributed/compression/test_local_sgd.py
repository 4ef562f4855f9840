"""Several steps alone between exchanges."""

import pytest

from tests.distributed.compression import programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("LocalSGD", {"k_steps": 1}),
        ("LocalSGD", {"k_steps": 5, "begin_step": 10}),
        ("DiLoCo", {"k_steps": 1, "outer_rate": 1.0, "momentum": 0.0}),
    ],
)
def test_with_an_exchange_in_each_step_it_is_the_step_of_the_whole_batch(workers, kind, settings):
    for found, _ in workers(2)(programs.alone_for, kind, settings, 4):
        assert max(from_whole for from_whole, _ in found) < 1e-6
        assert all(apart == 0 for _, apart in found)


@pytest.mark.parametrize(
    ("kind", "settings"), [("LocalSGD", {"k_steps": 3, "begin_step": 0}), ("DiLoCo", {"k_steps": 3})]
)
def test_processes_are_equal_every_three_steps(workers, kind, settings):
    for process, (found, _) in enumerate(workers(2)(programs.alone_for, kind, settings, 6)):
        for step, (_, apart) in enumerate(found, 1):
            assert (apart == 0) is (process == 0 or step % 3 == 0)


def test_the_number_of_steps_follows_the_loss(workers):
    settings = {"k_steps": 4, "adaptive": True}
    (_, first), (_, second) = workers(2)(programs.alone_for, "LocalSGD", settings, 12)
    assert first == second
    assert 1 <= first < 4  # the loss has fallen


def test_outer_steps_learn(workers):
    for before, after in workers(2)(programs.learned, "DiLoCo", 60):
        assert after < 0.7 * before
