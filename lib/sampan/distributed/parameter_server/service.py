"""The tables of a program, by Paddle's names: in this process, or on the servers that its roles name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...embedding import DynamicEmbedding
from ...engine.tensor import InvalidArgument
from ...nn.attr import ParamAttr
from ...nn.initializer import Constant, Normal, Uniform
from ...transport import Sockets, Transport, serve_shard
from ..server_roles import Roles
from .client import Client
from .dense import DenseParameters
from .layer import GeoEmbedding, RemoteEmbedding
from .part import Admitting
from .served_optimizer import ServedOptimizer, rule_of
from .settings import TableSettings
from .shard import Shard

FOLDER = "SAMPAN_SHARD_FOLDER"  # where servers keep rows and logs; without it in memory alone


def drawing_of(attr: ParamAttr, rows: int | None) -> tuple[str, float]:
    """How rows begin, from an initializer. Raises InvalidArgument for one that a row alone cannot follow."""
    made = attr.initializer
    if made is None:
        return ("normal", 0.01)
    if isinstance(made, Constant):
        return ("constant", float(made.value))
    if isinstance(made, Normal) and made.mean == 0:
        return ("normal", float(made.std))
    if isinstance(made, Uniform) and made.low == -made.high:
        return ("uniform", float(made.high))
    raise InvalidArgument(
        "param_attr: expected Constant, Normal of mean 0 or Uniform from -b to b as the initializer of "
        f"a table whose rows are made one by one, got {type(made).__name__}"
    )


class Service:
    """Tables and roles of one `fleet.init`. transport: open shards, in place of the servers of
    `roles`."""

    def __init__(
        self, roles: Roles, a_sync: bool = True, k_steps: int = 0, transport: Transport | None = None
    ) -> None:
        self.roles, self.a_sync, self.k_steps = roles, a_sync, max(0, k_steps)
        self.layers: dict[str, Any] = {}
        self._transport = transport
        self._client: Client | None = None
        self._shard: Shard | None = None
        self._served: list[ServedOptimizer] = []

    @property
    def remote(self) -> bool:
        """Whether tables lie on shards."""
        return bool(self.roles.endpoints) or self._transport is not None

    def embedding(
        self,
        size: Any,
        param_attr: Any = None,
        padding_idx: int | None = None,
        entry: Any = None,
        staleness: int | None = None,
        remote_prefetch: bool = True,
        **settings: Any,
    ) -> Any:
        """See `fleet.distributed_embedding`."""
        rows, dim = size
        rows = None if rows is None or rows <= 0 else int(rows)
        attr = ParamAttr.of(param_attr) or ParamAttr()
        name = attr.name or f"embedding_{len(self.layers)}"
        if name in self.layers:
            raise InvalidArgument(f"param_attr: there is a table {name!r}; hold its layer to share it")
        if entry is not None:
            settings |= entry.settings()
        settings |= {"initializer": drawing_of(attr, rows)}
        geo = self.remote and self.a_sync and self.k_steps > 0
        together = staleness if self.a_sync else 0
        shared: dict[str, Any] = {"workers": self.roles.workers, "staleness": together}
        table = TableSettings(int(dim), rows, **settings, **(shared if self.remote else {}))
        if not self.remote:
            layer: Any = Admitting(
                rows,
                dim,
                padding_idx,
                capacity=table.capacity,
                admission=table.admission,
                eviction=table.eviction,
                initializer=table.initializer,
                seed=table.seed,
                name=name,
            )
            layer.probability = table.probability
            layer.weight.name = name
            layer.weight.stop_gradient = not attr.trainable
        elif geo:
            layer = GeoEmbedding(self.client, name, table, self.k_steps, padding_idx)
            layer.remote_prefetch = remote_prefetch
        else:
            layer = RemoteEmbedding(self.client, name, table, padding_idx)
            layer.remote_prefetch = remote_prefetch
        self.layers[name] = layer
        return layer

    def optimizer(self, optimizer: Any, a_sync: bool, k_steps: int) -> Any:
        """What steps the tables too: the optimizer itself where they lie in this process.

        Raises InvalidArgument for k_steps that tables were not made for: `fleet.init` takes them."""
        if not self.remote:
            return optimizer
        layers = list(self.layers.values())
        if max(0, k_steps) != self.k_steps and a_sync and layers:
            raise InvalidArgument(
                f"strategy: a_sync_configs: tables were made for k_steps={self.k_steps}, got {k_steps}; "
                "give the strategy to fleet.init"
            )
        geo, several = a_sync and self.k_steps > 0, self.roles.workers > 1
        if (several and not geo) or any(isinstance(layer, RemoteEmbedding) for layer in layers):
            rule, given = rule_of(optimizer)
        else:  # of the sums of changes
            rule, given = "SGD", {}
        for layer in layers:
            if isinstance(layer, RemoteEmbedding) and not layer.is_made:
                changed = {**layer.settings.described(), "rule": rule, "rule_settings": given}
                if a_sync != self.a_sync:
                    changed["staleness"] = None if a_sync else 0
                layer.settings = TableSettings(**changed)
        dense = None
        if several:
            together = None if a_sync else 0
            settings = TableSettings(
                1, rule=rule, rule_settings=given, workers=self.roles.workers, staleness=together
            )
            dense = DenseParameters(self.client, settings, self.k_steps if geo else 0)
        served = ServedOptimizer(optimizer, self.client, layers, dense)
        self._served.append(served)
        return served

    # --- roles ---

    def client(self) -> Client:
        """This worker's client, made when it is first needed."""
        if self._client is None:
            home = self._transport or Sockets(self.roles.endpoints)
            self._client = Client(home, self.roles.number)
        return self._client

    def init_server(self, folder: str = "") -> None:
        """Open this server's shard. folder: what `save` wrote, from which tables begin."""
        if not self.roles.server:
            raise InvalidArgument("init_server: expected the role PSERVER, got TRAINER")
        root = os.environ.get(FOLDER, "")
        self._shard = Shard()
        self._shard.open(root, self.roles.number, len(self.roles.endpoints), folder)

    def run_server(self) -> None:
        """Answer workers until all have stopped."""
        if self._shard is None:
            self.init_server()
        shard, roles = self._shard, self.roles
        assert shard is not None

        def ended() -> bool:
            return len(shard.ended) >= roles.workers

        serve_shard(roles.endpoints[roles.number], roles.number, shard, ended)

    def init_worker(self) -> None:
        """Wait until all servers answer, and take the parameters that several workers train."""
        if self.remote:
            client = self.client()
            client.transport.request([(shard, "tables", ()) for shard in range(client.transport.parts)])
            for served in self._served:
                served.begin()

    def stop_worker(self) -> None:
        """This worker has ended; servers end when all have."""
        if self._client is not None:
            self._client.leave()
            self._client.transport.close()
            self._client = None

    # --- on disk ---

    def save(self, folder: str | Path) -> None:
        """A copy of all tables under a folder, which servers of several machines must share."""
        if self.remote:
            self.client().save(str(Path(folder).resolve()))
            return
        for name, layer in self._own("save_persistables"):
            layer.save(Path(folder, name), whole=True)

    def load(self, folder: str | Path) -> None:
        """The tables that `save` wrote. Raises FileNotFoundError, ValueError."""
        if self.remote:
            for layer in self.layers.values():
                layer.client.load(layer.table_name, str(Path(folder).resolve()))
            return
        for name, layer in self._own("load_model"):
            layer.load(Path(folder, name))

    def shrink(self, threshold: int | None = None) -> int:
        """Remove the rows that the last `threshold` look-ups did not name (1,000,000 unless given); how
        many."""
        age = 1_000_000 if threshold is None else threshold
        if self.remote:
            return self.client().shrink(age)
        return sum(layer.evict(max_age=age) for _, layer in self._own("shrink"))

    def _own(self, what: str) -> list[tuple[str, DynamicEmbedding]]:
        if not self.layers:
            raise InvalidArgument(f"{what}: expected a table, made by fleet.distributed_embedding, got none")
        return list(self.layers.items())
