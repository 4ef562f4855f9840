"""Training of a network that labels the parts of shapes. Independent of widgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.curves import Curve
from ..common.work import Work, one_core_less
from .shapes import SOURCES, TRAINED, VOXEL_RESOLUTION, learned_from

SECONDS = (15, 30, 60, 120)  # how long it may train
RESOLUTIONS = (16, 24, 32, 40, 48)  # multiples of 8: the network halves the grid three times
WIDTH, CHANNELS = 16, 4
BATCH, RATE = 4, 1e-2
LOOK = 12  # how often it is tested on the held-out shapes
MOST_EPOCHS = 1000


@dataclass(frozen=True)
class Standing:
    """The progress of a run: `fraction` 0..1; figures that are not known yet are None."""

    state: str
    fraction: float
    seconds: float
    steps: int
    loss: float | None
    right: float | None  # accuracy on the held-out points
    iou: float | None  # mean over the parts


class CloudRun(Work):
    """Trains a PointUNet on shapes of one `source` and resolution for some seconds. `on_change` is called a few
    times a second, `on_look` after each test on held-out shapes, where it may predict."""

    def __init__(
        self,
        source: str,
        resolution: int,
        seconds: float,
        on_change: Callable[[CloudRun], None] = lambda _: None,
        on_look: Callable[[CloudRun], None] = lambda _: None,
        shapes: int = TRAINED,
    ) -> None:
        if source not in SOURCES:
            raise ValueError(f"source: expected one of {', '.join(SOURCES)}, got {source!r}")
        if resolution % 8 or seconds <= 0:
            raise ValueError(
                f"resolution, seconds: expected a multiple of 8 and above 0, got {resolution}, {seconds}"
            )
        super().__init__("cloud", on_change)
        self.source, self.limit = source, seconds
        self.resolution = VOXEL_RESOLUTION if source == "real" else resolution
        self.network: Any = None
        self.curves = {name: Curve() for name in ("loss", "right", "iou")}
        self._shapes = shapes
        self._on_look = on_look
        self._loss: float | None = None
        self._right: float | None = None
        self._iou: float | None = None
        self._steps = 0

    @property
    def progress(self) -> float:
        return self.seconds / self.limit

    @property
    def can_predict(self) -> bool:
        """Whether it can predict: during training only in its own thread, between two steps."""
        return self.rests and self._steps > 0

    def standing(self) -> Standing:
        figures = (self._loss, self._right, self._iou)
        return Standing(
            self.state, self.fraction if self._steps else 0.0, self.seconds, self._steps, *figures
        )

    def predict(self, grid: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The part of each filled voxel of a shape [n, n, n], n a multiple of 8. RuntimeError before it is trained."""
        from sampan.models import point_cloud

        if not self.can_predict:
            raise RuntimeError(f"predict: expected a trained network, got a run that is {self.state}")
        found: NDArray[np.int64] = point_cloud.predict(self.network, grid[None])
        return found

    def _work(self) -> None:
        import sampan
        from sampan.datasets import point_clouds
        from sampan.models import point_cloud

        one_core_less()
        data, held_out = learned_from(self.source, self.resolution, self._shapes)
        sampan.seed(0)
        self.network = point_cloud.PointUNet(len(point_clouds.PARTS), WIDTH, CHANNELS)
        every = self.limit / LOOK
        looked = 0.0
        for step in point_cloud.steps(
            self.network, data, point_cloud.parts_loss, MOST_EPOCHS, BATCH, RATE, share=lambda: self.progress
        ):
            if not self._began:  # the first step compiles, so it is not timed
                self._running()
            if not np.isfinite(step.loss):
                raise FloatingPointError(f"loss: expected a number, got {step.loss} in step {step.step}")
            self._steps, self._loss = step.step, step.loss
            self.curves["loss"].add(self.seconds, step.loss)
            if self._cancel.is_set():
                break
            if self.seconds - looked >= every:
                self._look(held_out)
                looked = self.seconds
            self._tell(every=0.2)
        self._look(held_out)

    def _look(self, held_out: Any) -> None:
        """Accuracy and IoU on the test shapes."""
        from sampan.models import point_cloud

        parts = np.concatenate(held_out.parts)
        found = point_cloud.predict(self.network, held_out.grids)
        self._right = float((found == parts).mean())
        self._iou = float(np.mean(list(point_cloud.part_iou(found, parts).values())))
        self.curves["right"].add(self.seconds, self._right)
        self.curves["iou"].add(self.seconds, self._iou)
        self._on_look(self)
