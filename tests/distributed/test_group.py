"""Groups: facts as real Paddle 3.3.1 gave them with two processes on gloo."""

import warnings

import pytest

import sampan as paddle
import sampan.distributed as dist

pytestmark = pytest.mark.servers


def facts():
    everyone, last = dist.new_group([1, 0]), dist.new_group([dist.get_world_size() - 1])
    found = [
        repr(dist.get_group()),
        (
            everyone.rank,
            everyone.ranks,
            everyone.nranks,
            everyone.name,
            dist.get_group(everyone.id) is everyone,
        ),
        (last.rank, last.ranks, last.is_member(), last.get_group_rank(1), last.get_group_rank(0)),
        (dist.get_backend(everyone), dist.is_initialized(), everyone.id < last.id),
    ]
    x = paddle.ones([2])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        task = dist.all_reduce(x, group=last)
    texts = [str(one.message) for one in seen]
    dist.destroy_process_group(everyone)
    dist.destroy_process_group(last)
    return found, (task is None, x.tolist(), texts), dist.get_group(everyone.id)


def test_facts(workers):
    for rank, (found, (refused, values, texts), gone) in enumerate(workers(2)(facts)):
        whole, everyone, last, rest = found
        assert whole == f"rank: {rank}, nranks: 2, id: 0, ranks: 0, 1; name: _default_pg"
        assert everyone == (rank, [0, 1], 2, everyone[3], True)
        assert everyone[3].startswith("_default_pg")
        assert last == ((0, [1], True, 0, -1) if rank == 1 else (-1, [1], False, -1, -1))
        assert rest == ("GLOO", True, True)
        assert (refused, values, gone) == (rank == 0, [1, 1], None)
        assert len(texts) == (rank == 0)
        assert all("Current global rank 0 is not in group" in text for text in texts)


def within_a_group():
    """Groups of two among three processes; every process takes part in making both."""
    outer, inner = dist.new_group([0, 2]), dist.new_group([1, 2])
    answers = {}
    for name, group in (("outer", outer), ("inner", inner)):
        if group.is_member():
            x = paddle.full([2], dist.get_rank() + 1.0)
            dist.all_reduce(x, group=group)
            sent = paddle.full([1], float(dist.get_rank()))
            dist.broadcast(sent, 2, group=group)
            answers[name] = x.tolist(), sent.tolist(), group.get_global_rank(0), dist.get_rank(group)
    return answers


def test_exchanges_within_a_group(workers):
    first, second, third = workers(3)(within_a_group)
    assert first == {"outer": ([4, 4], [2], 0, 0)}
    assert second == {"inner": ([5, 5], [2], 1, 0)}
    assert third == {"outer": ([4, 4], [2], 0, 1), "inner": ([5, 5], [2], 1, 1)}


def of_strangers():
    group = dist.new_group([0, 1])
    if group.is_member():
        dist.broadcast(paddle.ones([1]), 2, group=group)


def test_a_root_that_is_no_member(workers):
    for rank, outcome in enumerate(workers(3).outcomes(of_strangers)):
        if rank < 2:
            assert isinstance(outcome, ValueError)
            assert "broadcast: process 2 is not in group _default_pg" in str(outcome)


def of_too_many():
    dist.new_group([2, 4, 6])


def test_a_group_larger_than_all_processes(workers):
    """PaddlePaddle's example of `new_group` with two processes."""
    for outcome in workers(2).outcomes(of_too_many):
        assert isinstance(outcome, AssertionError)
        assert "must be less than or equal to that of the default global group" in str(outcome)


def of_a_process_that_does_not_exist():
    dist.new_group([0, 7])


def test_unknown_ranks(workers):
    for outcome in workers(2).outcomes(of_a_process_that_does_not_exist):
        assert isinstance(outcome, RuntimeError)
        assert "[7] do not exist: there are 2" in str(outcome)
