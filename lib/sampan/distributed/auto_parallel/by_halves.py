"""`parallelize` in two calls: first the network, then the optimizer that was made of its parameters."""

from __future__ import annotations

import warnings
from typing import Any

from ...engine.errors import InvalidArgument, InvalidType
from ...nn import Layer
from ...optimizer.optimizer import Optimizer
from . import plans
from .process_mesh import ProcessMesh
from .transfer import is_distributed

parallelize = plans.parallelize


def parallelize_model(
    model: Layer, mesh: ProcessMesh | None = None, config: dict[str, Any] | None = None
) -> Layer:
    """The network, distributed in place by `config`; the arguments are those of `parallelize`."""
    if config is None:
        warnings.warn("The `parallelize_model will do nothing since the config is `None`.", stacklevel=2)
        return model
    return plans.parallelize(model, None, mesh, config)[0]


def parallelize_optimizer(
    optimizer: Optimizer, mesh: ProcessMesh | None = None, config: dict[str, Any] | None = None
) -> Any:
    """The optimizer of a network that `parallelize_model` has distributed, by the `dp_config` of `config`.

    InvalidArgument where its parameters are not distributed: make it after the network.
    """
    if config is None:
        warnings.warn("The `parallelize_optimizer will do nothing since the config is `None`.", stacklevel=2)
        return optimizer
    if not isinstance(config, dict):
        raise InvalidType(
            f"parallelize_optimizer: config: expected a dictionary, got {type(config).__name__}"
        )
    if not all(is_distributed(slot.parameter) for group in optimizer._groups for slot in group.slots):
        raise InvalidArgument(
            "parallelize_optimizer: optimizer: expected distributed parameters; call parallelize_model "
            "first, and make the optimizer of the network that it returns"
        )
    return plans.parallelize(Layer(), optimizer, mesh, {"dp_config": config.get("dp_config")})[1]
