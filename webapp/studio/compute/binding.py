"""The environment variables and limits of a process that runs under a lease; and the message when there is no place."""

from __future__ import annotations

import os
from pathlib import Path

from studio import identity
from studio.environment import SLEEPING
from studio.i18n import t

from . import machine, record
from .lease import Lease, Place, Refused
from .limits import Limits
from .settings import whole

PROCESSES = 512  # and threads; a session with several DataLoader workers and their pools stays well below
# Bytes of main memory that CUDA may map into a process beside the program's own. Generous: too little is a crash.
CUDA = 8 << 30
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment_of(lease: Lease, state: Path) -> dict[str, str]:
    """The variables that show a session its device and nothing else, and where its record lies."""
    variables = {**SLEEPING, **dict.fromkeys(_THREADS, str(threads()))}
    variables["SAMPAN_SESSION"] = str(record.path(state, lease.id))
    variables["CUDA_VISIBLE_DEVICES"] = ""
    if lease.device.startswith("gpu:"):
        # By their UUIDs: CUDA counts cards in another order than NVML.
        here = machine.this_machine()
        uuids = [here.device(id).uuid or id.removeprefix("gpu:") for id in lease.devices]
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(uuids)
        if lease.ask.share < 1:
            variables["PYTORCH_ALLOC_CONF"] = f"per_process_memory_fraction:{lease.ask.share:g}"
    return variables


def limits_of(lease: Lease) -> Limits:
    """The limits that the operating system enforces on the session."""
    return Limits(
        memory=lease.ask.memory + (CUDA if lease.device.startswith("gpu:") else 0),
        processes=PROCESSES,
        places=lease.ask.places,
    )


def threads() -> int:
    """Threads that a session computes with: SAMPAN_THREADS, else as the Studio itself was told, else all cores; in a class a
    place's share of them, because threads that wait for a busy core are slower than one thread."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0))
    if identity.under_hub():
        cores = max(1, cores // sum(device.kind == "cpu" for device in machine.this_machine().devices))
    return whole("SAMPAN_THREADS", least=1) or (int(told) if told.isdecimal() and int(told) else cores)


def full(place: Place) -> Refused:
    """The message for a caller that finds no free place and does not wait."""
    if place.wait is None:
        return Refused(*(t("compute.full", lang, ahead=place.ahead) for lang in ("en", "zh")))
    minutes = max(1, round(place.wait / 60))
    count, unit = (minutes, "minutes") if minutes < 90 else (round(minutes / 60), "hours")
    return Refused(
        *(
            t("compute.full_wait", lang, ahead=place.ahead, time=t(f"compute.{unit}", lang, count=count))
            for lang in ("en", "zh")
        )
    )
