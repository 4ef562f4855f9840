"""Tables whose rows are divided among shards, which step them: the parameter server.

`start_shards` opens shards in this process, in others or in a Ray cluster; a `Client` pulls rows and pushes
gradients; `RemoteEmbedding` is the layer.
"""

from ..server_roles import Roles as Roles
from .ahead import prefetched as prefetched
from .client import Client as Client
from .dense import DenseParameters as DenseParameters
from .entries import CountFilterEntry as CountFilterEntry
from .entries import ProbabilityEntry as ProbabilityEntry
from .entries import ShowClickEntry as ShowClickEntry
from .layer import GeoEmbedding as GeoEmbedding
from .layer import RemoteEmbedding as RemoteEmbedding
from .served_optimizer import ServedOptimizer as ServedOptimizer
from .service import Service as Service
from .settings import TableSettings as TableSettings
from .shard import Shard as Shard
from .start import start_shards as start_shards
