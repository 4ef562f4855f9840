"""The script of a job of several workers: it starts the job's own script in each of them (`sampan.distributed.launch`)."""

from __future__ import annotations

from pathlib import Path

RESTARTS = 3
LOGS = "logs"  # in the folder of the job's output files: workerlog.0, workerlog.1, ...


def command(script: list[str], workers: int, artefacts: Path) -> list[str]:
    """The script and arguments of such a job."""
    return [
        __file__,
        f"--nproc_per_node={workers}",
        f"--max_restart={RESTARTS}",
        f"--log_dir={artefacts / LOGS}",
        *script,
    ]


if __name__ == "__main__":
    from sampan.distributed.launch import launch

    launch()
