"""The embeddings' kernels as they are called: each is the CPU's loop and the GPU's kernel of its name, see
`on_device`."""

from . import cpu_embedding
from .device import on_device

sums = on_device(cpu_embedding.sums, "cuda_embedding.sums")
step = on_device(cpu_embedding.step, "cuda_embedding.step")
bag_sums = on_device(cpu_embedding.bag_sums, "cuda_embedding.bag_sums")
bag_tops = on_device(cpu_embedding.bag_tops, "cuda_embedding.bag_tops")
dots = on_device(cpu_embedding.dots, "cuda_embedding.dots")
