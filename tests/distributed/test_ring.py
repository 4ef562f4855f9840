"""Sums over workers in a ring, against NumPy's sums and a fold with rounding; bytes against the formula."""

import time

import numpy as np
import pytest
import torch

from sampan.distributed import environment, ring, traffic
from sampan.distributed.group import Group
from sampan.engine.errors import InvalidArgument


def summed(vectors, wire=None):
    """(the vector of each worker afterwards, the bytes of each message of each worker)."""

    def work(links):
        mine = vectors[links.rank].clone()
        ring.all_reduce(mine, links, wire)
        return mine, links.sent

    found = ring.run(len(vectors), work, timeout=20)
    return [one for one, _ in found], [sent for _, sent in found]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("size", [0, 1, 3, 56, 1001])
def test_the_sum_is_that_of_numpy_and_equal_at_all_workers(world, size):
    rng = np.random.default_rng(10 * world + size)
    given = rng.normal(size=(world, size))
    results, sent = summed([torch.from_numpy(row) for row in given])
    for result in results:
        np.testing.assert_allclose(result.numpy(), given.sum(0), rtol=1e-12, atol=1e-12)
        assert torch.equal(result, results[0])
    assert [len(one) for one in sent] == [2 * (world - 1)] * world
    assert sum(map(sum, sent)) == 2 * (world - 1) * size * 8
    if size % world == 0:
        assert {sum(one) for one in sent} == {2 * (world - 1) * size * 8 // world}


def folded(vectors, wire):
    """Chunk c begins at worker c and goes round: rounded for each link, added in float32, rounded at the end."""
    world = len(vectors)
    pieces = [vector.tensor_split(world) for vector in vectors]
    chunks = []
    for c in range(world):
        total = pieces[c][c].to(wire)
        for hop in range(1, world):
            total = (total.float() + pieces[(c + hop) % world][c]).to(wire)
        chunks.append(total.float())
    return torch.cat(chunks)


@pytest.mark.parametrize("wire", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("world", [2, 3, 5])
def test_numbers_travel_in_16_bits_while_sums_are_float32(wire, world):
    vectors = list(torch.randn(world, 103, generator=torch.Generator().manual_seed(world)))
    results, sent = summed(vectors, wire)
    for result in results:
        assert result.dtype is torch.float32 and torch.equal(result, folded(vectors, wire))
    assert sum(map(sum, sent)) == 2 * (world - 1) * 103 * 2


def test_a_sum_in_float32_keeps_what_one_in_float16_loses():
    # 1024.5 has no float16; sent are -1024 (exact) and the sum 0.5.
    results, _ = summed([torch.tensor([-1024.0, 1024.5]), torch.tensor([1024.5, -1024.0])], torch.float16)
    assert all(result.tolist() == [0.5, 0.5] for result in results)


def test_a_vector_within_a_larger_one_is_summed_in_place():
    whole = [torch.arange(10.0), 10 * torch.arange(10.0)]
    ring.run(2, lambda links: ring.all_reduce(whole[links.rank][2:9:2], links))
    expected = [0, 10, 22, 30, 44, 50, 66, 70, 88, 90]
    assert whole[1].tolist() == expected
    assert whole[0].tolist() == [0, 1, 22, 3, 44, 5, 66, 7, 88, 9]


def test_all_gather_gives_all_vectors_in_order():
    given = [torch.full((3,), rank) for rank in range(4)]
    for found in ring.run(4, lambda links: (ring.all_gather(given[links.rank], links), sum(links.sent))):
        assert [one.tolist() for one in found[0]] == [[0] * 3, [1] * 3, [2] * 3, [3] * 3]
        assert found[1] == 3 * 3 * 8


def test_what_was_sent_does_not_change_with_the_senders_memory():
    def work(links):
        mine = torch.full((2,), float(links.rank))
        links.send(mine)
        mine.zero_()
        return links.receive(2, torch.float32).tolist()

    assert ring.run(3, work) == [[2, 2], [0, 0], [1, 1]]


def test_the_first_error_of_a_worker_ends_the_others():
    def work(links):
        if links.rank == 1:
            raise KeyError("mine")
        links.receive(1, torch.float32)
        links.receive(1, torch.float32)

    began = time.monotonic()
    with pytest.raises(KeyError, match="mine"):
        ring.run(4, work)
    assert time.monotonic() - began < 30  # and not the 60 s of a receive


def test_a_message_that_is_missing_or_has_another_size():
    with pytest.raises(RuntimeError, match=r"worker \d of 2: nothing came from worker \d in 0.1 s"):
        ring.run(2, lambda links: links.receive(1, torch.float32), timeout=0.1)

    def work(links):
        links.send(torch.zeros(3))
        links.receive(3, torch.float64)

    with pytest.raises(RuntimeError, match=r"expected 3 numbers of torch.float64 from worker \d, got 3 of"):
        ring.run(2, work)
    with pytest.raises(InvalidArgument, match="run: world: expected at least 1 worker, got 0"):
        ring.run(0, print)


def sums_of_processes():
    """(the sum, the bytes sent, the messages that traffic counts) of each size and wire."""
    links, found = ring.ProcessLinks(), []
    for size in (0, 1, 1001):
        both = torch.randn(2, size, generator=torch.Generator().manual_seed(size))
        for wire in (None, torch.bfloat16):
            mine, began = both[links.rank].clone(), sum(links.sent)
            before = traffic.totals().get("send", traffic.Bytes())
            ring.all_reduce(mine, links, wire)
            ended = traffic.totals().get("send", traffic.Bytes())
            found.append((mine, sum(links.sent) - began, ended.wire - before.wire))
    return [(mine.tolist(), sent, counted) for mine, sent, counted in found]


@pytest.mark.servers
def test_processes_sum_as_threads_do(workers):
    answers = workers(2)(sums_of_processes)
    expected = []
    for size in (0, 1, 1001):
        vectors = list(torch.randn(2, size, generator=torch.Generator().manual_seed(size)))
        for wire in (None, torch.bfloat16):
            results, sent = summed(vectors, wire)
            expected.append((results[0].tolist(), [sum(one) for one in sent]))
    for rank, answer in enumerate(answers):
        for (sums, sent, counted), (wanted, bytes_) in zip(answer, expected, strict=True):
            assert sums == wanted and sent == counted == bytes_[rank]


def test_links_of_processes_need_init_parallel_env(monkeypatch):
    monkeypatch.setitem(environment.state, "initialized", False)
    with pytest.raises(RuntimeError, match="Call init_parallel_env first"):
        ring.ProcessLinks()


def test_one_process_is_a_ring_of_one(ready):
    links, values = ring.ProcessLinks(), torch.ones(3)
    ring.all_reduce(values, links)
    assert (links.rank, links.world, values.tolist(), links.sent) == (0, 1, [1, 1, 1], [])
    other = Group(-1, 7, [1, 2])
    with (
        pytest.warns(UserWarning, match="not in group"),
        pytest.raises(InvalidArgument, match="group that this"),
    ):
        ring.ProcessLinks(other)
