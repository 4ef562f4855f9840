"""Where shards live: in this process, in processes of their own, behind addresses, or in actors of a cluster.

A shard is any object whose methods take and return NumPy arrays, numbers, strings, and dictionaries and
lists of them. It knows nothing of a transport, and a transport knows nothing of what a shard holds: graphs
and tables use the same ones. `Transport` is the interface.
"""

from .actors import Actors as Actors
from .calls import Asked as Asked
from .calls import Call as Call
from .calls import InProcess as InProcess
from .calls import ShardError as ShardError
from .calls import Transport as Transport
from .processes import Workers as Workers
from .sockets import Sockets as Sockets
from .sockets import serve_shard as serve_shard
