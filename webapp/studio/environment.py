"""The part of the server's environment that a learner's code may see: what it needs to compute, without secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping

# Everything else stays out: tokens, cookie secrets, cloud keys, proxies with passwords.
_NAMES = frozenset(
    [
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "LANGUAGE",
            "TZ",
            "TMPDIR",
            "TERM",
            "SYSTEMROOT",
        ),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "PYTHONUNBUFFERED"),
        *("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH"),
        "QUERY_STRING",  # of a page, see server/pages.py
    ]
)
_FAMILIES = ("LC_", "SAMPAN_", "OMP_", "MKL_", "OPENBLAS_", "NUMBA_", "TORCH_")
_SECRET_WORDS = ("TOKEN", "TICKET", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "API_KEY", "CREDENTIAL")

# For several processes at the same time on one machine: their own threads would only wait for each other.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

# A thread of OpenMP that waits for the others sleeps instead of spinning. With more threads than free cores the
# spinning ones keep the others from the cores: small networks took twenty times as long beside other sessions.
SLEEPING = {"OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE")}


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy with the names a kernel or a grader needs. A name that suggests a secret is never passed on."""
    return {
        name: value
        for name, value in environment.items()
        if (name in _NAMES or name.startswith(_FAMILIES))
        and name != "SAMPAN_STORE"  # the address of a database, perhaps with its password
        and not any(w in name.upper() for w in _SECRET_WORDS)
    }
