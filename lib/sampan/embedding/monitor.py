"""Watching a table while it trains: which rows get gradients, which are changed, which never, which too
much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.tensor import HookHandle
from ..kernels import cpu_embedding_watch as loops
from ..kernels.arena import reserved
from ..row_sparse import rows_of
from ..serialization import replacing
from .dynamic import DynamicEmbedding
from .hybrid import HybridEmbedding
from .reading import table_of

KINDS = ("gradients", "updates", "norms", "largest")


class Monitor:
    """What happens to the rows of one layer inside a `with` block; the counts stay readable after it, and go
    on in another.

    It hangs on the weight's gradient alone: a row has a gradient when a backward pass names it (of a dense
    gradient: when that is not zero there), and an update when the next look finds that its values moved. Rows
    that an optimizer moves although they had no gradient (the exact steps of Adam or Momentum) are not
    counted, and where several steps follow one backward pass they count once. Norms are of the gradients as
    they come, before any clipping.

    Each pass reads the rows it names twice, before a step and after it, and takes the sums of their gradients
    from the step; 64 bytes a row are kept, of a table with a store below it only where rows were seen.

    Rows are numbered as the table's ids are, but for a DynamicEmbedding, where `ids` says whose a row is; a
    row that changes hands begins anew.
    """

    def __init__(self, layer: Any, name: str | None = None) -> None:
        table = table_of(layer, "layer")
        if not hasattr(layer, "weight"):
            raise TypeError(f"layer: expected an embedding layer, got {type(layer).__name__}")
        self.layer, self.name = layer, name or str(layer.weight.name)
        self.passes = 0  # backward passes seen
        dynamic = isinstance(layer, DynamicEmbedding)
        self._owned = dynamic  # a row has an id of its own
        # Of a table with a store below it a small share may be all that is ever seen: no large pages there.
        dense = not isinstance(layer, HybridEmbedding)
        self._known = reserved((layer.capacity if dynamic else table.count,), loops.ROW, dense)
        # A round ends with a step. Rows that had a gradient in this one wait for it, with a number of what
        # they held before it; those of an earlier round have moved.
        self._round, self._waiting = 1, list[tuple[np.ndarray, np.ndarray]]()
        self._handle: HookHandle | None = None

    def __enter__(self) -> Monitor:
        if self._handle is not None:
            raise RuntimeError(f"monitor: {self.name} is being watched by this one already")
        self._handle = self.layer.weight.register_hook(self._see)
        return self

    def __exit__(self, *error: Any) -> None:
        self._settle()
        for rows, _ in self._waiting:  # no step came
            self._known["round"][rows] = 0
        self._waiting.clear()
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    # --- what is seen ---

    def _see(self, gradient: Any) -> None:
        self._settle()
        places, norms = _norms(gradient)
        rows = self._rows(places)
        self.passes += 1
        fresh, before = loops.seen(rows, norms, *self._held(rows), self._round, self._known)
        self._waiting.append((rows, before) if fresh.all() else (rows[fresh], before[fresh]))

    def _settle(self) -> None:
        """Has there been a step? Then of the rows that wait for it those that moved are counted: all that
        keep their round."""
        if not self._waiting:
            return
        still = [rows[loops.hashes(*self._held(rows)) == before] for rows, before in self._waiting]
        if any(len(here) < len(rows) for here, (rows, _) in zip(still, self._waiting, strict=True)):
            for rows in still:
                self._known["round"][rows] = 0
            self._round += 1
            self._waiting.clear()

    def _rows(self, places: np.ndarray) -> np.ndarray:
        """The rows that lie at these places of the weight."""
        if isinstance(self.layer, HybridEmbedding):
            return self.layer._rows._row_at[places]
        if self._owned:
            self._take_over(places)
        return places

    def _take_over(self, places: np.ndarray) -> None:
        ids = self.layer.ids.data.numpy()[places]
        others = self._known["owner"][places] != ids
        self._known[places[others]] = np.zeros((), loops.ROW)
        self._known["owner"][places[others]] = ids[others]

    def _values(self, rows: np.ndarray) -> np.ndarray:
        if isinstance(self.layer, HybridEmbedding):
            return table_of(self.layer).values(rows)
        values = self.layer.weight.data[torch.from_numpy(rows).to(self.layer.weight.data.device)]
        return (values.float() if values.dtype is torch.bfloat16 else values).cpu().numpy()

    def _held(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(what rows hold now, the place of each of these there): of the weight itself where that can be
        read."""
        data = self.layer.weight.data
        if isinstance(self.layer, HybridEmbedding) or data.is_cuda or not data.is_contiguous():
            return np.ascontiguousarray(self._values(rows)), np.arange(len(rows))
        return (data.view(torch.int16) if data.dtype is torch.bfloat16 else data).numpy(), rows

    # --- what is known ---

    def _live(self) -> np.ndarray:
        """The rows there are, with what has happened up to now."""
        self._settle()
        if isinstance(self.layer, DynamicEmbedding):
            rows = self.layer.rows_seen_since(0)
            self._take_over(rows)
            return rows
        return np.arange(len(self._known))

    def _ids_of(self, rows: np.ndarray) -> np.ndarray:
        return self._known["owner"][rows] if self._owned else rows

    def _column(self, name: str, rows: np.ndarray) -> np.ndarray:
        known = self._known[name][rows]
        if name == "updates":  # and those that the row's next gradient will count
            rounds = self._known["round"][rows]
            known += (rounds > 0) & (rounds < self._round)
        return known

    @property
    def ids(self) -> np.ndarray:
        """The id of each row, int64."""
        return self._ids_of(self._live())

    @property
    def gradients(self) -> np.ndarray:
        """How many backward passes gave each row a gradient, int64."""
        return self._column("gradients", self._live())

    @property
    def updates(self) -> np.ndarray:
        """How often each row's values were seen to have moved after a gradient, int64."""
        return self._column("updates", self._live())

    @property
    def norms(self) -> np.ndarray:
        """The mean norm of each row's gradients, float64; 0 for a row that had none."""
        return self._means(self._live())

    @property
    def largest(self) -> np.ndarray:
        """The largest norm of each row's gradients, float64."""
        return self._column("largest", self._live())

    def _means(self, rows: np.ndarray) -> np.ndarray:
        means: np.ndarray = self._column("sum", rows) / np.maximum(self._column("gradients", rows), 1)
        return means

    def cold(self, least: int = 1) -> np.ndarray:
        """The ids of the rows with fewer than `least` gradients, ascending; a padding row, which never has
        one, apart."""
        rows = self._live()
        ids = self._ids_of(rows[self._column("gradients", rows) < least])
        padding = getattr(self.layer, "padding_idx", None)
        if padding is not None and not self._owned:
            ids = ids[ids != padding % len(self._known)]
        return np.sort(ids)

    def exploding(self, times: float = 10.0) -> np.ndarray:
        """The ids of the rows that had a gradient more than `times` as long as the usual one (the median of
        all rows' mean norms), or one that is not finite; the worst first."""
        if not times > 0:
            raise ValueError(f"times: expected more than 0, got {times}")
        rows = self._live()
        rows = rows[self._column("gradients", rows) > 0]
        largest, means = self._column("largest", rows), self._means(rows)
        finite = means[np.isfinite(means)]
        bound = times * float(np.median(finite)) if finite.size else 0.0
        bad = ~(largest <= bound)
        worst = np.where(np.isnan(largest[bad]), np.inf, largest[bad])
        return self._ids_of(rows[bad][np.argsort(-worst, kind="stable")])

    def histogram(self, what: str = "gradients", bins: int = 20) -> tuple[np.ndarray, np.ndarray]:
        """(rows in each of the bins, [bins + 1] edges). what: "gradients" or "updates" of all rows, "norms"
        or "largest" of the rows that had a gradient, finite ones."""
        if what not in KINDS:
            raise ValueError(f"what: expected one of {', '.join(KINDS)}, got {what!r}")
        if bins < 1:
            raise ValueError(f"bins: expected 1 or more, got {bins}")
        values = getattr(self, what)
        if what in ("norms", "largest"):
            values = values[(self.gradients > 0) & np.isfinite(values)]
        counts, edges = np.histogram(values, bins)
        return counts, edges

    def table(self, most: int = 20, by: str = "gradients") -> list[dict[str, float]]:
        """The rows with the most of `by` (one of gradients, updates, norms, largest), the first one first:
        id, gradients, updates, norm (mean), largest."""
        if by not in KINDS:
            raise ValueError(f"by: expected one of {', '.join(KINDS)}, got {by!r}")
        rows = self._live()
        rows = rows[_order(self._means(rows) if by == "norms" else self._column(by, rows), most)]
        columns = {
            "id": self._ids_of(rows),
            "gradients": self._column("gradients", rows),
            "updates": self._column("updates", rows),
            "norm": self._means(rows),
            "largest": self._column("largest", rows),
        }
        return [{key: column[i].item() for key, column in columns.items()} for i in range(len(rows))]

    def projector(
        self, folder: str | Path, labels: Sequence[str] | Mapping[int, str] | None = None, most: int = 10_000
    ) -> Path:
        """Write what TensorBoard's projector shows (`tensorboard --logdir folder`): the vectors of the `most`
        rows with the most gradients, and of each its label, id, counts, norm, and whether it is cold or
        exploding; returns the folder.

        labels: of each id. Files: tensors.tsv, metadata.tsv, projector_config.pbtxt, the last one when the
        others are whole.
        """
        rows = self._live()
        rows = np.sort(rows[_order(self._column("gradients", rows), most)])
        ids = self._ids_of(rows)
        if labels is not None and not isinstance(labels, Mapping) and len(ids) and ids.max() >= len(labels):
            raise ValueError(f"labels: expected one for each id, got {len(labels)} for the id {ids.max()}")
        if isinstance(labels, Mapping) and (missing := [int(i) for i in ids if int(i) not in labels]):
            raise ValueError(f"labels: expected one for each id, got none for {missing[0]}")
        folder = Path(folder)
        exploding = set(self.exploding().tolist())
        with replacing(folder / "tensors.tsv") as file:
            for start in range(0, len(rows), 1024):
                for row in self._values(rows[start : start + 1024]).astype(np.float32):
                    file.write(("\t".join(map(str, row.tolist())) + "\n").encode())
        with replacing(folder / "metadata.tsv") as file:
            file.write(b"label\tid\tgradients\tupdates\tnorm\tstate\n")
            counts = (self._column(name, rows).tolist() for name in ("gradients", "updates"))
            columns = (ids.tolist(), *counts, self._means(rows).tolist())
            for key, passes, updates, mean in zip(*columns, strict=True):
                label = " ".join(str(key if labels is None else labels[key]).split()) or "?"
                state = "exploding" if key in exploding else "warm" if passes else "cold"
                facts = (label, key, passes, updates, f"{mean:.6g}", state)
                file.write(("\t".join(map(str, facts)) + "\n").encode())
        shown = "".join(c if c.isprintable() and c not in '"\\' else "_" for c in self.name)
        lines = [
            "embeddings {",
            f'  tensor_name: "{shown}"',
            f"  tensor_shape: [{len(rows)}, {self.layer.weight.shape[1]}]",
            '  tensor_path: "tensors.tsv"',
            '  metadata_path: "metadata.tsv"',
            "}",
        ]
        with replacing(folder / "projector_config.pbtxt") as file:
            file.write(("\n".join(lines) + "\n").encode())
        return folder

    def __repr__(self) -> str:
        rows = self._live()
        warm = int((self._column("gradients", rows) > 0).sum())
        return f"Monitor({self.name}: {len(rows)} rows, {warm} with a gradient, {self.passes} passes)"


def _norms(gradient: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows that have a gradient, each once, and its norm."""
    named = rows_of(gradient)
    if named is None:
        dense = gradient.data
        places = (dense != 0).any(1).nonzero().flatten()
        return places.cpu().numpy(), _lengths(dense[places])
    places, rows = named.sums(keep=True)
    return places.cpu().numpy(), _lengths(rows)


def _lengths(rows: torch.Tensor) -> np.ndarray:
    exact = rows if rows.dtype is torch.float64 else rows.float()
    lengths: np.ndarray = torch.linalg.vector_norm(exact, dim=1).double().cpu().numpy()
    return lengths


def _order(values: np.ndarray, most: int) -> np.ndarray:
    """The places of the `most` largest values, the largest first; NaN counts as largest."""
    if most < 1:
        raise ValueError(f"most: expected 1 or more, got {most}")
    return np.argsort(-np.where(np.isnan(values), np.inf, values), kind="stable")[:most]


def monitor(layer: Any, name: str | None = None) -> Monitor:
    """Watch the rows of an embedding layer while it trains::

        with embedding.monitor(model.items) as watched:
            train(model)
        watched.cold(), watched.exploding(), watched.table()

    layer: Embedding, EmbeddingBag, EmbeddingTables, DynamicEmbedding or HybridEmbedding. name: what it is
    called; the weight's name unless given. A table that several heads share is watched once, as its gradients
    come together.
    """
    return Monitor(layer, name)
