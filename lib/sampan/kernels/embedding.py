"""The embeddings' kernels as they are called: each is the CPU's loop and the GPU's kernel of its name, see
`dispatch`."""

from . import cpu_embedding
from .device import dispatch

sums = dispatch(cpu_embedding.sums, "cuda_embedding.sums")
step = dispatch(cpu_embedding.step, "cuda_embedding.step")
bag_sums = dispatch(cpu_embedding.bag_sums, "cuda_embedding.bag_sums")
bag_tops = dispatch(cpu_embedding.bag_tops, "cuda_embedding.bag_tops")
dots = dispatch(cpu_embedding.dots, "cuda_embedding.dots")
