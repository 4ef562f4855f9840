"""Finished runs on the disk, so that a reload of the page finds them: settings, curves, probabilities of the test images
and weights. A file holds numbers and JSON only and is read without pickle."""

from __future__ import annotations

import io
import json
import logging
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from studio import kept_runs
from studio.runtime import write_atomically

from ..common.curves import Curve
from .results import Result
from .runs import Failure, Run, RunList, images_and_labels
from .settings import Settings

log = logging.getLogger(__name__)


def save(run: Run, folder: Path) -> None:
    """Writes a run that has ended; the oldest files beyond `RunList.LIMIT` are removed. Raises OSError."""
    about = {
        "settings": asdict(run.settings),
        "number": run.number,
        "state": run.state,
        "failure": asdict(run.failure) if run.failure else None,
        "progress": run.counts(),
        "seconds": run.progress().seconds,
        "curves": {name: curve.points() for name, curve in run.curves.items()},
    }
    arrays: dict[str, Any] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    if run.result is not None:
        arrays["probabilities"] = run.result.probabilities
        arrays |= {f"weight_{k:02}": weight for k, weight in enumerate(run.weights())}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    folder.mkdir(parents=True, exist_ok=True)
    run.path = folder / f"{time.time_ns():020}.npz"
    write_atomically(run.path, content.getvalue())
    for old in kept_runs.files(folder)[: -RunList.LIMIT]:
        old.unlink(missing_ok=True)


def forget(run: Run) -> None:
    """Removes the run's file."""
    if run.path is not None:
        run.path.unlink(missing_ok=True)


def load(folder: Path, bundles: dict[str, Any], runs: RunList) -> None:
    """Adds the runs of the folder to the list, oldest first. A file that cannot be used is left out, and the log says why."""
    for path in kept_runs.files(folder)[-RunList.LIMIT :]:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                run = _restored(dict(arrays), bundles)
        except Exception as error:  # any broken file: the page must not fail because of it
            log.warning("the kept run %s cannot be used: %r", path.name, error)
            continue
        run.path = path
        runs.restore(run)


def _restored(arrays: dict[str, Any], bundles: dict[str, Any]) -> Run:
    about = json.loads(arrays["about"].tobytes())
    settings = Settings(**about["settings"])
    run = Run(settings, int(about["number"]), bundles.__getitem__)
    curves = {name: Curve.of(*about["curves"][name]) for name in run.curves}
    failure = Failure(**about["failure"]) if about["failure"] else None
    pictures, labels = images_and_labels(bundles[settings.dataset].test)
    result, weights = None, []
    if "probabilities" in arrays:
        result = Result(pictures, labels, arrays["probabilities"])
        weights = [arrays[name] for name in sorted(arrays) if name.startswith("weight_")]
    run.end_as(
        about["state"],
        about["seconds"],
        curves,
        failure,
        result,
        pictures.shape[-1],
        weights,
        about["progress"],
    )
    return run
