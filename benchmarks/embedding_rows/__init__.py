"""The rows of `embedding.py`, one file for each family. A row is a set of programs that compute the same, one for each library.

fbgemm-gpu-cpu, pandas and lru-dict take part if they are installed: `python3.11 -m venv .venv-peers`, then
`.venv-peers/bin/pip install pandas lru-dict` and `.venv-peers/bin/pip install --no-deps fbgemm-gpu-cpu==1.8.0` (beside torch
2.13; 1.9 does not load there). On a CPU fbgemm has only SGD and Adagrad, and only lookups of bags.
"""

from .ids import caches, hashes, stalls
from .lookups import bags, gradients, lookups
from .partial import dynamics, hybrids, monitored
from .steps import beside_dense, steps, wholes

FAMILIES = (
    lookups, gradients, steps, wholes, beside_dense, bags, hashes, caches, stalls, hybrids, dynamics, monitored,
)  # fmt: skip
