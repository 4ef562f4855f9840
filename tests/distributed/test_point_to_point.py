"""Messages between two processes."""

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist

pytestmark = pytest.mark.servers


def there_and_back(dtype):
    """Rank 0 sends; rank 1 receives into a transposed tensor, doubles it and sends it back."""
    sent = paddle.to_tensor(np.arange(6).reshape(2, 3)).astype(dtype)
    into = paddle.Tensor(paddle.zeros([3, 2], dtype=dtype).data.t())
    if dist.get_rank() == 0:
        dist.send(sent, 1)
        task = dist.irecv(into, 1)
    else:
        dist.recv(into, 0)
        task = dist.isend(into + into, 0)
    return task.wait(), task.is_completed(), into.astype("float32").tolist()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_send_and_receive(workers, dtype):
    (*ended, doubled), (*_, received) = workers(2)(there_and_back, dtype)
    assert ended == [True, True]
    assert received == [[0, 1, 2], [3, 4, 5]]
    assert doubled == [[0, 2, 4], [6, 8, 10]]


def ring():
    rank, count = dist.get_rank(), dist.get_world_size()
    received = paddle.zeros([1000])
    ops = [
        dist.P2POp(dist.isend, paddle.full([1000], float(rank)), (rank + 1) % count),
        dist.P2POp(dist.irecv, received, (rank - 1) % count),
    ]
    for task in dist.batch_isend_irecv(ops):
        task.wait()
    return float(received[999])


@pytest.mark.parametrize("count", [2, 3])
def test_a_batch(workers, count):
    assert workers(count)(ring) == [(rank - 1) % count for rank in range(count)]


def mistakes():
    texts, one = [], paddle.ones([1])
    for call in (
        lambda: dist.send(one, dist.get_rank()),
        lambda: dist.batch_isend_irecv([]),
        lambda: dist.batch_isend_irecv([3]),
        lambda: dist.P2POp(dist.send, one, 1),
    ):
        with pytest.raises(RuntimeError) as caught:
            call()
        texts.append(str(caught.value))
    return texts


def test_mistakes(workers):
    to_self, empty, other, op = workers(2)(mistakes)[1]
    assert to_self == "send: process 1 is this one"
    assert "expected a list of P2POp, got []" in empty
    assert "got int" in other
    assert "expected isend or irecv as op, got 'send'" in op
