"""Paddle's collectives in two processes. `collectives_program.txt` is what it prints under PaddlePaddle 3.3.1 on a CPU,
rank 0 first: `PADDLE_DISTRI_BACKEND=gloo python -m paddle.distributed.launch --nproc_per_node 2 collectives_program.py`.
"""

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
rank = dist.get_rank()


def show(name, value):
    print(name, rank, value, flush=True)


x = paddle.to_tensor([1.0, 2.0]) * (rank + 1)
dist.all_reduce(x)
show("all_reduce", x.tolist())
x = paddle.to_tensor([1, 5 - rank, rank])
dist.all_reduce(x, op=dist.ReduceOp.MAX)
show("max", x.tolist())
listed = []
dist.all_gather(listed, paddle.to_tensor([rank, 7]))
show("all_gather", [t.tolist() for t in listed])
x = paddle.to_tensor([float(rank)])
dist.broadcast(x, src=1)
show("broadcast", x.tolist())
x = paddle.to_tensor([rank + 1.0])
dist.reduce(x, dst=0)
show("reduce", x.tolist() if rank == 0 else None)
x = paddle.zeros([2])
dist.scatter(x, [paddle.full([2], 3.0), paddle.full([2], 4.0)] if rank == 0 else None, src=0)
show("scatter", x.tolist())
listed = []
dist.gather(paddle.to_tensor([rank]), listed if rank == 0 else None, dst=0)
show("gather", [t.tolist() for t in listed])
listed = []
dist.all_gather_object(listed, {"rank": rank})
show("objects", listed)
listed = [{"from": rank}]
dist.broadcast_object_list(listed, src=0)
show("object list", listed)
x = paddle.to_tensor([rank * 10])
if rank == 0:
    dist.send(x, dst=1)
else:
    dist.recv(x, src=0)
show("send and recv", x.tolist())
x = paddle.to_tensor([2])
dist.all_reduce(x, op=dist.ReduceOp.PROD, group=dist.new_group([0, 1]))
show("prod", x.tolist())
dist.barrier()
show("facts", (dist.get_world_size(), dist.get_backend(), repr(dist.get_group()), dist.is_initialized()))
