"""Fleet, its strategy and its roles."""

import functools
import json
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...serialization import replacing
from .. import collective
from ..environment import is_initialized
from ..objects import all_gather_object
from ..parallel import ParallelEnv, get_rank, get_world_size, init_parallel_env, several
from ..server_roles import Roles
from . import strategy_text
from . import topology as topology
from .collective import CollectiveTraining
from .topology import CommunicateTopology, HybridCommunicateGroup, hybrid_group

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are this one
role_maker = distributed_strategy = util_factory = sys.modules[__name__]
for _name in ("role_maker", "distributed_strategy", "util_factory"):
    sys.modules[f"{__name__}.{_name}"] = role_maker
sys.modules[f"{__name__}.topology"] = topology

_TEXT = Path(__file__).with_name("strategy.json").read_text()
_DEFAULTS: dict[str, Any] = json.loads(_TEXT)


class Settings(dict[str, Any]):
    """Named settings, read and written as items or as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"expected one of {', '.join(self)}, got {name!r}")
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def assign(self, values: Any, name: str) -> None:
        """Take over `values`, also those of settings inside. AssertionError for an unknown key."""
        if unknown := [key for key in dict(values) if key not in self]:
            raise AssertionError(f"key:{unknown[0]} not in {name}")
        for key, value in dict(values).items():
            if isinstance(self[key], Settings):
                self[key].assign(value, key)
            else:
                self[key] = value


class DistributedStrategy:
    """Settings of training in many processes. They are stored and can be read; with one process none has an
    effect."""

    def __init__(self) -> None:
        vars(self).update(json.loads(_TEXT, object_hook=Settings))

    def __getattr__(self, name: str) -> Any:
        if name != "build_strategy":
            raise AttributeError(f"'DistributedStrategy' object has no attribute {name!r}")
        from ...names.static_graph.hints import BuildStrategy  # which few programs need

        return vars(self).setdefault(name, BuildStrategy())

    def __setattr__(self, name: str, value: Any) -> None:
        """TypeError for an unknown setting, AssertionError for an unknown key; a value of another kind
        warns."""
        if name == "build_strategy":
            vars(self)[name] = value
            return
        if name not in _DEFAULTS:
            raise TypeError(f"{name} is not a attribute of DistributedStrategy")
        usual = _DEFAULTS[name]
        if name.endswith("_configs") and isinstance(usual, dict):
            values = dict(value)
            if name == "hybrid_configs":  # two keys are settings of the strategy itself
                self.hybrid_parallel_order = values.pop("order", self.hybrid_parallel_order)
                inner = values["mp_configs"] = dict(values.get("mp_configs", {}))
                self.sync_param_name = inner.pop("sync_param_name", self.sync_param_name)
            vars(self)[name].assign(values, name)
        elif isinstance(usual, bool | int) and type(value) is not type(usual):
            text = (
                f"{name} should have value of {type(usual).__name__} type, got {value!r}; it stays as it was"
            )
            warnings.warn(text, UserWarning, stacklevel=2)
        else:
            vars(self)[name] = value

    def __repr__(self) -> str:
        changed = {name: value for name, value in self._settings().items() if value != _DEFAULTS[name]}
        return f"DistributedStrategy({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name in _DEFAULTS}

    def save_to_prototxt(self, output: str) -> None:
        """Write the settings that are not the usual ones to a file of protocol buffers' text format."""
        with replacing(output) as file:
            file.write(strategy_text.written(self._settings(), _DEFAULTS).encode())

    def load_from_prototxt(self, pb_file: str) -> None:
        """Take over the settings of a file of `save_to_prototxt`. InvalidArgument for another text."""
        text = Path(pb_file).read_text("utf-8")
        for name, value in strategy_text.read(text, _DEFAULTS, f"load_from_prototxt: {pb_file}").items():
            setattr(self, name, value)


class Role:
    """What a process does."""

    WORKER, SERVER, HETER_WORKER, ALL, COORDINATOR = range(1, 6)


class PaddleCloudRoleMaker:
    """Reads the role from the environment: a worker, or a parameter server; see `Roles.of_environment`."""

    def __init__(self, is_collective: bool = False, **settings: Any) -> None:
        self._is_collective = is_collective

    def roles(self) -> Roles:
        """The role of this process where there are parameter servers."""
        return Roles() if self._is_collective else Roles.of_environment()


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """Takes the role that is given: role, current_id, worker_num, server_endpoints. RuntimeError for one of
    several workers without servers."""

    def __init__(self, is_collective: bool = False, init_gloo: bool = False, **settings: Any) -> None:
        super().__init__(is_collective)
        self._settings = settings
        alone = not settings.get("server_endpoints")
        if alone and (settings.get("role", Role.WORKER) != Role.WORKER or settings.get("worker_num", 1) > 1):
            several(f"UserDefinedRoleMaker: {settings}")

    def roles(self) -> Roles:
        """The role that was given."""
        given = self._settings
        endpoints = tuple(given.get("server_endpoints", ()))
        workers = given.get("worker_num") or len(given.get("worker_endpoints", ())) or 1
        is_server = given.get("role", Role.WORKER) == Role.SERVER
        return Roles(is_server, given.get("current_id", 0), workers, endpoints)


class UtilBase:
    """Exchanges of numbers, arrays and lists between processes that `init(is_collective=True)` connected.

    fleet: whose workers get files and print; None for the processes of the environment.
    """

    def __init__(self, fleet: Any = None) -> None:
        self._fleet = fleet

    def _worker(self) -> tuple[int, int]:
        """The number of this worker, and how many there are."""
        if self._fleet is None:
            return get_rank(), get_world_size()
        return self._fleet.worker_index(), self._fleet.worker_num()

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> Any:
        """The sum, "min" or "max" over all processes; the input itself with one."""
        how = {"sum": np.add, "min": np.minimum, "max": np.maximum}
        if mode not in how:
            raise ValueError(f"all_reduce: mode: expected one of {', '.join(how)}, got {mode!r}")
        if not is_initialized():
            return input
        each = self.all_gather(input)
        return functools.reduce(how[mode], map(np.asarray, each))

    def all_gather(self, input: Any, comm_world: str = "worker") -> Any:
        """The inputs of all processes in a list, by rank; the input itself where none are connected."""
        if not is_initialized():
            return input
        each: list[Any] = []
        all_gather_object(each, input)
        return each

    def barrier(self, comm_world: str = "worker") -> None:
        """Wait for all processes."""
        if is_initialized():
            collective.barrier()

    def get_file_shard(self, files: list[str]) -> list[str]:
        """The files of this worker: the list in equal parts, of which the first ones have one more."""
        if not isinstance(files, list):
            raise TypeError(f"files should be a list of file need to be read, got {type(files).__name__}")
        rank, count = self._worker()
        size, more = divmod(len(files), count)
        begin = rank * size + min(rank, more)
        return files[begin : begin + size + (rank < more)]

    def print_on_rank(self, message: str, rank_id: int) -> None:
        """Print in one process."""
        if rank_id == self._worker()[0]:
            print(message)


class Fleet:
    """`init`, then `distributed_model(model)` and `distributed_optimizer(optimizer)`."""

    def __init__(self) -> None:
        self.util = UtilBase(self)
        self._user_defined_strategy = DistributedStrategy()
        self._role_maker: Any = None
        self._is_collective = False
        self._collective: CollectiveTraining | None = None
        self._hcg: HybridCommunicateGroup | None = None
        self._roles, self._alone = Roles(), False
        self._service: Any = None  # the tables

    def init(
        self,
        role_maker: Any = None,
        is_collective: bool = False,
        strategy: Any = None,
        log_level: Any = "INFO",
    ) -> "Fleet":
        """Make ready; is_collective: connect the processes that the environment names, and make the groups
        of `strategy.hybrid_configs`. Without is_collective and servers each process works alone."""
        if strategy is not None and not isinstance(strategy, DistributedStrategy):
            raise TypeError(f"strategy: expected a DistributedStrategy, got {type(strategy).__name__}")
        self._role_maker = role_maker or PaddleCloudRoleMaker(is_collective)
        roles = self._role_maker.roles()
        count = get_world_size()
        self._alone = count > 1 and not is_collective and not roles.endpoints
        if self._alone:
            warnings.warn(
                f"fleet.init: the environment names {count} processes and no servers: each works alone, as "
                "in PaddlePaddle; pass is_collective=True to connect them",
                UserWarning,
                stacklevel=2,
            )
            count = 1
        self._is_collective = is_collective
        self._user_defined_strategy = strategy or DistributedStrategy()
        self._collective = None
        self._roles, self._service = roles, None
        if count > 1 and not roles.endpoints:
            init_parallel_env()
        self._hcg = (
            None if roles.endpoints or self._alone else hybrid_group(self._user_defined_strategy, self._hcg)
        )
        if self._hcg is not None and count > 1:
            self._collective = CollectiveTraining(self._user_defined_strategy, self._hcg)
        if self._hcg is not None and self._hcg.get_model_parallel_world_size() > 1:
            from .parallel_random import model_parallel_random_seed

            first = self._user_defined_strategy.tensor_parallel_configs["tensor_init_seed"]
            model_parallel_random_seed(None if first == -1 else first)
        return self

    # --- this process ---

    def worker_index(self) -> int:
        return self._roles.number if self._roles.endpoints else 0 if self._alone else get_rank()

    def worker_num(self) -> int:
        return self._roles.workers if self._roles.endpoints else 1 if self._alone else get_world_size()

    rank, nranks = worker_index, worker_num

    def local_rank(self) -> int:
        return ParallelEnv().local_rank

    def node_num(self) -> int:
        return 1

    def is_first_worker(self) -> bool:
        return self.worker_index() == 0

    def is_worker(self) -> bool:
        return not self._roles.server

    def is_server(self) -> bool:
        return self._roles.server

    def is_coordinator(self) -> bool:
        return False

    def server_num(self) -> int:
        """How many parameter servers there are."""
        return len(self._roles.endpoints)

    def server_index(self) -> int:
        """The number of this server."""
        return self._roles.number

    def server_endpoints(self, to_string: bool = False) -> Any:
        """The servers' addresses."""
        endpoints = list(self._roles.endpoints)
        return ",".join(endpoints) if to_string else endpoints

    def worker_endpoints(self, to_string: bool = False) -> Any:
        """The workers' addresses; Paddle's answer for one worker, as none listens."""
        each = ParallelEnv().trainer_endpoints if get_world_size() > 1 else ["127.0.0.1:6170"]
        return ",".join(each) if to_string else each

    def collective_perf(
        self, comm_type: str, round: int = 50, size_and_time: dict[int, float] | None = None
    ) -> None:
        """Nothing, as in PaddlePaddle 3.3; it warns where processes are not connected."""
        if not self._is_collective:
            warnings.warn(
                "fleet.collective_perf is only for collective mode, will return with no test acted.",
                UserWarning,
                stacklevel=2,
            )

    def barrier_worker(self) -> None:
        """Wait for all processes that `init(is_collective=True)` connected."""
        self.util.barrier()

    def init_worker(self, scopes: Any = None) -> None:
        """Wait until all servers answer, where there are some."""
        self._tables().init_worker()

    def stop_worker(self) -> None:
        """This worker has ended; the servers end when all have."""
        self._tables().stop_worker()

    def get_hybrid_communicate_group(self) -> HybridCommunicateGroup:
        """The groups of this process. AssertionError before `init`."""
        if self._hcg is None:
            raise AssertionError("get_hybrid_communicate_group: call fleet.init(is_collective=True) first")
        return self._hcg

    def get_hybrid_parallel_topology(self) -> CommunicateTopology:
        """The grid of processes. AssertionError before `init`."""
        return self.get_hybrid_communicate_group().topology()

    # --- training ---

    def distributed_model(self, model: Any) -> Any:
        """The model whose gradients are those of all processes; with one process unchanged, but for a
        PipelineLayer, which gets `train_batch`."""
        if self._collective is not None:
            return self._collective.network(model)
        if hasattr(model, "get_num_virtual_stages"):
            from ..pipeline import NoPipelineParallel

            return NoPipelineParallel(model, self._user_defined_strategy)
        return model

    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> Any:
        """The optimizer as it is, or what the strategy of `init` puts in its place (`CollectiveTraining`);
        where tables lie on shards, a `ServedOptimizer`, which steps them too."""
        if self._service is not None or self._roles.endpoints:
            chosen: Any = strategy or self._user_defined_strategy
            return self._tables().optimizer(optimizer, chosen.a_sync, chosen.a_sync_configs["k_steps"])
        return optimizer if self._collective is None else self._collective.optimizer(optimizer)

    def distributed_scaler(self, scaler: Any) -> Any:
        """The scaler, which leaves a step out in all processes where one has a gradient that is not
        finite."""
        if self._collective is None:
            return scaler
        from ..sharding.agreement import agreeing

        return agreeing(scaler, None)

    def all_reduce(self, input: Any, mode: str = "sum") -> Any:
        """`util.all_reduce`."""
        return self.util.all_reduce(input, mode)

    # --- parameter servers ---

    def use_shards(self, transport: Any, worker: int = 0, workers: int = 1) -> None:
        """Let tables lie on these shards (`parameter_server.start_shards`), in place of servers by
        address."""
        configured = self._tables()
        roles = Roles(False, worker, workers)
        self._service = type(configured)(roles, configured.a_sync, configured.k_steps, transport)

    def distributed_embedding(
        self,
        size: Any,
        param_attr: Any = None,
        is_distributed: bool = True,
        padding_idx: int | None = None,
        entry: Any = None,
        **settings: Any,
    ) -> Any:
        """A layer for ids of a large table: in this process, or on parameter servers where there are some.

        size: [rows, width]; rows None or 0: any int64 id. Rows are made when their ids are first seen, so
        memory is taken for these alone. param_attr: the table's name and initializer. entry: which ids get a
        row, such as CountFilterEntry(10). settings: capacity, eviction, seed, cache_rows and store of
        `parameter_server.TableSettings`; staleness: the bound of half-asynchronous training;
        remote_prefetch: False where `prefetch` of the layer is to do nothing. With
        `strategy.a_sync` a worker waits for no other; with k_steps above 0 in `a_sync_configs` tables are
        exchanged every k_steps steps. is_distributed: False gives a table in this process.
        """
        service = self._tables()
        if not is_distributed and service.remote:
            service = type(service)(Roles())
        return service.embedding(size, param_attr, padding_idx, entry, **settings)

    def init_server(self, *args: Any, **settings: Any) -> None:
        """Open the shard of this server; with a folder of `save_persistables`, from what is there."""
        if not self.is_server():
            several("fleet.init_server")
        self._tables().init_server(str(args[0]) if args else str(settings.get("dirname", "")))

    def run_server(self) -> None:
        """Answer until all workers have stopped."""
        if not self.is_server():
            several("fleet.run_server")
        self._tables().run_server()

    def save_persistables(
        self, executor: Any, dirname: str = "", main_program: Any = None, mode: int = 0
    ) -> None:
        """Copy all tables to a folder; of several machines, one that they share."""
        self._tables().save(dirname or executor)

    def load_model(self, path: str, mode: int = 0) -> None:
        """The tables of `save_persistables`."""
        self._tables().load(path)

    def shrink(self, threshold: int | None = None) -> None:
        """Remove rows that the last `threshold` look-ups did not name."""
        self._tables().shrink(threshold)

    def _tables(self) -> Any:
        """The tables of this program; what serves them is imported when it is first needed."""
        if self._service is None:
            from ..parameter_server.service import Service

            strategy: Any = self._user_defined_strategy
            self._service = Service(self._roles, strategy.a_sync, strategy.a_sync_configs["k_steps"])
        return self._service

    def save_inference_model(self, *args: Any, **settings: Any) -> NoReturn:
        """RuntimeError: not with parameter servers."""
        several("fleet.save_inference_model")

    load_inference_model = init_coordinator = make_fl_strategy = save_cache_table = save_inference_model
