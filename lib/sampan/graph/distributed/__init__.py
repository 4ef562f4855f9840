"""Graphs that are divided among shards, which lie in a folder each and may run in processes of their own."""

from .planner import Costs as Costs
from .planner import Plan as Plan
from .planner import plan as plan
from .shard import Shard as Shard
from .shard_files import ShardError as ShardError
from .sharded_graph import ShardedGraph as ShardedGraph
