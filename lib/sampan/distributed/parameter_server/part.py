"""The rows of one table that belong to one shard, the rule that steps them, and their folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ... import optimizer as rules
from ...embedding import DynamicEmbedding, HybridEmbedding
from ...engine.backward import no_grad
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...kernels import cpu_embedding_hash as hash_loops
from ...kernels.cpu_embedding_shards import ids_of
from ...serialization import replacing
from .push_log import Push, PushLog
from .resharding import DESCRIPTION, ROWS, filled, sources_of
from .settings import TableSettings
from .turns import Turns

MOST_LOG = 1 << 28  # bytes of a log, after which a snapshot is taken


class Admitting(DynamicEmbedding):
    """A table in which an id without a row gets one with some probability at each look-up in training."""

    probability = 1.0

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        if self.probability >= 1:
            return super()._rows(ids)
        draw = np.empty((ids.size, 1), np.float32)  # of an id and the look-up: uniform from -1 to 1
        every = np.arange(ids.size)
        hash_loops.drawn(ids.view(np.uint64), every, self.lookups + 1, "uniform", 1.0, draw)
        chosen = (self.rows_of(ids) >= 0) | (draw[:, 0] < 2 * self.probability - 1)
        rows = np.full(ids.size, -1, np.int64)
        rows[chosen] = super()._rows(ids[chosen])
        return rows


class Part:
    """Pull and push of one table on one shard. folder: where it lies on disk, None for memory alone.

    With a folder a push is in the log before it is applied, so a killed shard comes back with all pushes
    that were answered. With `eviction` rows that made room since the last snapshot come back as well.
    """

    def __init__(self, settings: TableSettings, number: int, shards: int, folder: Path | None) -> None:
        self.settings, self.number, self.shards, self.folder = settings, number, shards, folder
        if settings.cache_rows and folder is None:
            raise InvalidArgument("cache_rows: a table with a cache needs a shard with a folder, got none")
        if folder is not None:
            self._describe(folder)
        self.turns = Turns(settings.workers, settings.staleness)
        self.layer = self._layer(folder)
        rule: Any = getattr(rules, settings.rule)
        self.rule = rule(learning_rate=0.0, parameters=[self.layer.weight], **settings.rule_settings)
        if settings.cache_rows and not self.rule.rests(self.rule._groups[0].settings):
            raise InvalidArgument(
                "rule: a table with a cache needs one that leaves rows without a gradient unchanged, such as "
                f"Adam with lazy_mode=True, got {settings.rule} with {settings.rule_settings}"
            )
        self.repeated = 0  # pushes that came again
        self.log = None if folder is None else PushLog(folder)
        self._restore()

    @staticmethod
    def described(path: Path) -> TableSettings:
        """Of a file that says which table a folder has."""
        return TableSettings(**json.loads(path.read_text())["settings"])

    # --- what workers ask for ---

    def pull(self, ids: np.ndarray, step: int, train: bool) -> dict[str, Any]:
        """{"rows": float32 [n, dim]} of ids that belong to this shard, each once; or {"waits_for": the
        slowest worker, "pushed": its last step}, whose push must come before `step`. Also "known" [n], which
        ids have a row, where some may have none: gradients of the others must not be pushed."""
        waits_for = self.turns.awaited(step) if train else None
        if waits_for is not None:
            return {"waits_for": waits_for, "pushed": self.turns.applied[waits_for]}
        ids = np.array(ids, np.int64)  # its own: one of a message may be read-only
        if isinstance(self.layer, HybridEmbedding) and not train:
            return {"rows": self.layer.rows(ids // self.shards)}
        self.layer.training = train
        with no_grad():
            answer = {"rows": self.layer(self._keys(ids)).numpy()}
        if self.settings.admission > 1 or self.settings.probability < 1:
            answer["known"] = self.layer.rows_of(ids) >= 0
        return answer

    def push(self, push: Push) -> bool:
        """Whether the push is new; one that came before changes nothing. Raises ValueError for gradients
        that are not finite, and OSError where the log's disk is full; then nothing has changed."""
        if self.turns.is_known(push.worker, push.step):
            self.repeated += 1
            return False
        what = f"push: worker {push.worker}, step {push.step}"
        if push.rows.shape != (len(push.ids), self.settings.dim):
            raise InvalidArgument(
                f"{what}: rows: expected [{len(push.ids)}, {self.settings.dim}], got {push.rows.shape}"
            )
        if not 0 <= push.worker < self.settings.workers:
            raise InvalidArgument(f"{what}: expected a worker below {self.settings.workers}")
        finite = np.isfinite(push.rows).all(1)
        if not finite.all():
            raise InvalidArgument(f"{what}: the gradient of id {push.ids[~finite][0]} is not finite")
        if self.log is not None:
            self.log.append(push)
        self._apply(self.turns.take(push))
        if self.log is not None and self.log.length > MOST_LOG:
            self.save()
        return True

    def place(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Set the rows of those ids that have none; then a snapshot is taken, as the log has pushes alone."""
        if isinstance(self.layer, HybridEmbedding):
            raise InvalidArgument("place: a table with a cache draws its rows")
        new = self.layer.rows_of(ids) < 0
        if new.any():
            seen = np.ones(int(new.sum()), np.int64)
            self.layer.take(ids[new], rows[new], seen, seen * max(1, self.layer.lookups))
            self.save()

    def leave(self, worker: int) -> None:
        """A worker has ended: others no longer wait for it."""
        self._apply(self.turns.leave(worker))

    # --- on disk ---

    def save(self, folder: Path | None = None) -> None:
        """Snapshot: what changed since the last one, and a new log; or a copy of all in another folder.

        Raises OSError for a full disk; then the last snapshot and the log count as before.
        """
        if folder is not None and folder != self.folder:
            self._copy(folder)
        elif self.log is not None:
            waiting = list(self.turns.waiting.values())
            self.layer.notes = {"pushes": self.log.pushes - len(waiting), **self.turns.notes()}
            if isinstance(self.layer, HybridEmbedding):
                self.layer.flush()
            else:
                self.layer.save(self.log.folder / ROWS)
            self.log.begin(waiting)

    def load(self, root: Path, name: str) -> None:
        """The rows of a copy that `save` wrote under `root`, by any number of shards. Raises
        FileNotFoundError, ValueError."""
        if isinstance(self.layer, HybridEmbedding):
            raise InvalidArgument(
                "load: a table with a cache is opened with its folder, and not loaded from another"
            )
        sources = sources_of(root, name, self.settings.dim)
        notes = self.layer.notes
        self.layer = filled(lambda: self._layer(None), sources, self.number, self.shards)
        self.layer.notes = notes
        rule: Any = getattr(rules, self.settings.rule)
        self.rule = rule(learning_rate=0.0, parameters=[self.layer.weight], **self.settings.rule_settings)
        self._take_state()
        self.save()

    def shrink(self, max_age: int) -> int:
        """Remove the rows that were not looked up in the last `max_age` pulls and pushes; how many."""
        if not isinstance(self.layer, DynamicEmbedding):
            raise InvalidArgument("shrink: a table with a cache keeps a row for each id")
        gone = self.layer.evict(max_age=max_age)
        self.save()
        return gone

    def statistics(self) -> dict[str, int]:
        """Rows that there are, pushes that came again, bytes of the log."""
        rows = len(self.layer) if isinstance(self.layer, DynamicEmbedding) else self.layer.num_embeddings
        return {
            "rows": rows,
            "repeated": self.repeated,
            "log_bytes": 0 if self.log is None else self.log.length,
        }

    # --- inside ---

    def _layer(self, folder: Path | None) -> Any:
        own = self.settings
        if own.cache_rows:
            assert own.rows is not None
            return HybridEmbedding(
                -(-own.rows // self.shards),
                own.dim,
                own.cache_rows,
                folder and folder / ROWS,
                store=own.store,
                initializer=own.initializer,
                seed=own.seed,
                drawn_as=lambda numbers: ids_of(numbers, self.number, self.shards),
            )
        layer = Admitting(
            own.rows,
            own.dim,
            capacity=own.capacity,
            admission=own.admission,
            eviction=own.eviction,
            initializer=own.initializer,
            seed=own.seed,
        )
        layer.probability = own.probability
        return layer

    def _keys(self, ids: np.ndarray) -> Tensor:
        keys = ids // self.shards if self.settings.cache_rows else ids
        return Tensor(torch.from_numpy(keys))

    def _apply(self, pushes: list[Push]) -> None:
        """One step of the rule with the mean of these pushes' gradients."""
        if not pushes:
            return
        ids = np.concatenate([push.ids for push in pushes])
        rows = np.concatenate([push.rows for push in pushes])
        if len(pushes) > 1:
            rows /= np.float32(len(pushes))
        self.layer.training = True
        if isinstance(self.layer, Admitting):
            # These ids had rows when they were pulled; a shard that was killed since has forgotten some.
            self.layer.admission, self.layer.probability = 1, 1.0
        try:
            out = self.layer(self._keys(ids))
        finally:
            if isinstance(self.layer, Admitting):
                self.layer.admission = self.settings.admission
                self.layer.probability = self.settings.probability
        out.backward(Tensor(torch.from_numpy(rows)))
        self.rule.set_lr(pushes[0].rate)
        self.rule.step()
        self.rule.clear_grad(False)

    def _describe(self, folder: Path) -> None:
        """Write which table a new folder has, or compare. Raises InvalidArgument for another."""
        mine = {"shard": self.number, "shards": self.shards, "settings": self.settings.described()}
        path = folder / DESCRIPTION
        if not path.exists():
            with replacing(path) as file:
                file.write(json.dumps(mine).encode())
        elif (found := json.loads(path.read_text())) != mine:
            raise InvalidArgument(f"{folder} has another table: expected {mine}, got {found}")

    def _restore(self) -> None:
        """The last snapshot, and the pushes since."""
        if self.log is None:
            return
        if isinstance(self.layer, DynamicEmbedding) and (self.log.folder / ROWS / "manifest.json").exists():
            self.layer.load(self.log.folder / ROWS)
        self._take_state()
        self.turns.restore(self.layer.notes)
        done = self.layer.notes.get("pushes", 0)
        for number, push in self.log.replay():
            if number >= done:
                self._apply(self.turns.take(push))

    def _take_state(self) -> None:
        """Let the rule have the state of rows that were loaded, also if the next thing is to save them."""
        growth = self.layer.weight.growth
        if isinstance(self.layer, DynamicEmbedding) and growth.found is not None:
            growth.state(self.rule._groups[0].slots[0], self.rule, True)

    def _copy(self, folder: Path) -> None:
        if isinstance(self.layer, HybridEmbedding):
            assert self.folder is not None
            self.save()
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            return
        self.layer.notes = {}
        self._describe(folder)
        self.layer.save(folder / ROWS, whole=True)
