"""A 3D map of vectors: PCA at once, t-SNE on demand, some points marked."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from ..common.figures import bar, notice
from ..common.pieces import button, choice, pair, plot_words
from ..common.widgets import Plot
from ..common.work import Work
from . import figures as show
from .training import Table

# rows on the map: the most frequent ones, and an evenly spaced sample of the others
FREQUENT, SPREAD = 600, 200


def shown(count: int) -> NDArray[np.int64]:
    """Which of `count` rows, the most frequent first, are on the map; ascending."""
    if count <= FREQUENT + SPREAD:
        return np.arange(count)
    rest = np.linspace(FREQUENT, count - 1, SPREAD).round().astype(np.int64)
    return np.concatenate([np.arange(FREQUENT), rest])


def aligned(
    points: NDArray[np.float32],
    to: NDArray[np.float32],
    numbers: NDArray[np.int64],
    before: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Points [n, 3] rotated or mirrored to match the previous map as closely as possible (orthogonal Procrustes):
    the signs of PCA axes are arbitrary, and a live map must not jump."""
    both, here, there = np.intersect1d(numbers, before, return_indices=True)
    if len(both) < 4:
        return points
    u, _, v = np.linalg.svd(points[here].astype(np.float64).T @ to[there])
    return (points @ (u @ v)).astype(np.float32)


class _Broken(Exception):
    """Raised in the thread of a projection that was cancelled."""


class Projection(Work):
    """t-SNE of vectors [n, d] to `points` [n, 3]. scikit-learn's cannot be cancelled, so an exception is raised in
    its thread."""

    def __init__(
        self, vectors: NDArray[np.float32], on_change: Callable[[Any], None] = lambda _: None
    ) -> None:
        super().__init__("t-SNE", on_change)
        self.points: NDArray[np.float32] | None = None
        self._vectors = vectors
        self._inside = False
        self._door = threading.Lock()

    def cancel(self) -> None:
        if self._cancel.is_set():
            return
        super().cancel()
        with self._door:
            if self._inside and self._thread.ident is not None:
                identity = ctypes.c_ulong(self._thread.ident)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(_Broken))

    def _work(self) -> None:
        from threadpoolctl import threadpool_limits

        from sampan.visual.embeddings import projected

        self._running()
        try:
            with self._door:
                self._inside = not self._cancel.is_set()
            try:
                # On a busy machine a second thread makes it many times slower.
                with threadpool_limits(1, "openmp"):
                    self.points = projected(self._vectors, "tsne") if self._inside else None
            finally:
                with self._door:
                    self._inside = False
        except _Broken:
            self.points = None


class VectorMap:
    """`root` is the widget. `show` sets the rows, `mark` highlights some of them."""

    def __init__(self, lang: str, kind: str) -> None:
        self.lang, self.kind = lang, kind
        self.table: Table | None = None
        self.projection: Projection | None = None
        self.method = choice(
            self._t("field.method"), [(self._t("method.pca"), "pca"), (self._t("method.tsne"), "tsne")], "pca"
        )
        self.method.disabled = True
        self.stop = button(self._t("cancel"), self.cancel, "danger", disabled=True)
        self.status = widgets.HTML()
        self.plot = Plot(
            title=self._t(f"{kind}.map"),
            empty=self._t(f"{kind}.map.empty"),
            words=plot_words(lang),
            group=kind,
        )
        self._lock = threading.RLock()
        self._groups: Sequence[str] | None = None
        self._marked: list[int] = []
        self._besides: list[int] = []
        self._placed: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None  # by PCA: numbers, points
        self.method.observe(lambda _: self._changed(), "value")
        self.stop.layout.display = "none"
        tools = pair(self.method, self.stop)
        tools.add_class("em-tools")
        self.root = widgets.VBox([tools, self.status, self.plot])

    def show(self, table: Table, groups: Sequence[str] | None = None, besides: Sequence[int] = ()) -> None:
        """Show new rows, projected by PCA. groups: a name for each row, one colour per name. besides: rows that are
        always on the map."""
        with self._lock:
            if self.table is not None and self.table.labels != table.labels:
                self._marked, self._placed = [], None
            self.table, self._groups, self._besides = table, groups, list(besides)
            self.method.disabled = False
            if self.method.value != "pca":
                self.method.value = "pca"  # which draws
            else:
                self._draw()

    def mark(self, numbers: Sequence[int]) -> None:
        """Highlight these rows, with their labels."""
        with self._lock:
            if self.table is not None:
                self._marked = [int(number) for number in numbers]
                self._draw()

    def group(self, groups: Sequence[str] | None, besides: Sequence[int] = ()) -> None:
        """Other colours."""
        with self._lock:
            self._groups, self._besides = groups, list(besides)
            if self.table is not None:
                self._draw()

    def cancel(self) -> None:
        if self.projection is not None:
            self.projection.cancel()

    def _changed(self) -> None:
        with self._lock:
            if self.table is None:
                return
            self.cancel()
            if self.method.value == "pca":
                self.projection = None
                self.status.value = ""
                self._busy(False)
                self._draw()
                return
            numbers = self._numbers(self.table)
            self.projection = Projection(self.table.vectors[numbers], self._follow)
            self.numbers = numbers
            self._busy(True)
            self.projection.start()
            said = self._t("tsne.running", count=f"{len(numbers):,}")
            self.status.value = bar("running", said, None, self._t("tsne.progress"))

    def _follow(self, projection: Projection) -> None:
        with self._lock:
            if projection is not self.projection:
                return
            self._busy(False)
            if projection.state == "done" and projection.points is not None:
                self.status.value = ""
                self._draw()
                return
            self.method.value = "pca"
            if projection.state == "failed":
                self.status.value = notice(
                    self._t("error.tsne"), bad=True, detail=projection.error, lang=self.lang
                )

    def _busy(self, busy: bool) -> None:
        self.stop.disabled = not busy
        self.stop.layout.display = "" if busy else "none"

    def _draw(self) -> None:
        table, projection = self.table, self.projection
        assert table is not None
        tsne = projection is not None and projection.points is not None
        if tsne:
            assert projection is not None and projection.points is not None
            numbers, points = self.numbers, projection.points
        else:
            numbers = self._numbers(table)
            points = self._by_pca(table, numbers)
        figure, said = show.map_of(
            table, numbers, points, self._marked, self._groups, tsne, self.kind, self.lang
        )
        with self.plot.hold_sync():
            self.plot.figure, self.plot.summary = figure, said

    def _numbers(self, table: Table) -> NDArray[np.int64]:
        """For the rows on the map."""
        more = np.array([*self._besides, *self._marked], np.int64)
        return np.union1d(shown(len(table.labels)), more)

    def _by_pca(self, table: Table, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        from sampan.visual.embeddings import projected

        points = projected(table.vectors[numbers])
        if self._placed is not None:
            points = aligned(points, self._placed[1], numbers, self._placed[0])
        self._placed = numbers, points
        return points

    def _t(self, key: str, **values: object) -> str:
        return show.words(key, self.lang, **values)
