"""The rows of `embedding.py`, one file a family: each a table of programs that compute the same, one for each library that can.

fbgemm-gpu-cpu, pandas and lru-dict take part where they are found: `python3.11 -m venv .venv-peers`, then
`.venv-peers/bin/pip install pandas lru-dict` and `.venv-peers/bin/pip install --no-deps fbgemm-gpu-cpu==1.8.0` (beside torch
2.13; 1.9 does not load there). fbgemm has SGD and Adagrad alone for a CPU, and no look-up without a bag's offsets.
"""

from .ids import caches, hashes, stalls
from .lookups import bags, gradients, lookups
from .partial import dynamics, hybrids, monitored
from .steps import beside_dense, steps, wholes

FAMILIES = (
    lookups, gradients, steps, wholes, beside_dense, bags, hashes, caches, stalls, hybrids, dynamics, monitored,
)  # fmt: skip
