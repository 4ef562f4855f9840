"""MoELayer: a mixture of experts that lie on several processes."""

from __future__ import annotations

from typing import Any

from ...creation import zeros
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...nn import Layer, LayerList
from ...ops.gathering import gather, scatter
from ...ops.joining import concat
from ..fleet.recompute import recompute_hybrid
from ..group import Group
from ..utils.moe_utils import global_gather, global_scatter
from .gates import BaseGate, GShardGate, NaiveGate, SwitchGate
from .routing import counts_of, group_size, places_by_expert
from .shared import rows_of_all, rows_of_this

_GATES = {"naive": NaiveGate, "gshard": GShardGate, "switch": SwitchGate}


class MoELayer(Layer):
    """Each row goes to the experts that a gate chooses, wherever they lie, and comes back as the sum of what
    they return, times the gate's scores (He et al. 2021, FastMoE, arXiv 2103.13262).

    d_model: the length of a row. experts: this process's Layers; as many on each process. gate: a gate, or
    {"type": "naive", "gshard" (usual) or "switch", "top_k": 2}. moe_group: the processes that have experts;
    None for this one alone. mp_group: processes that have the same rows: each takes a part of them.
    recompute_interval: above 0 the experts run a second time in backward, with recompute_ctx of
    `recompute_hybrid`. Every process of moe_group must call it in each step, with any number of rows.
    """

    def __init__(
        self,
        d_model: int,
        experts: Any,
        gate: Any = None,
        moe_group: Group | None = None,
        mp_group: Group | None = None,
        recompute_interval: int = 0,
        recompute_ctx: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        gate = {} if gate is None else gate
        if not isinstance(gate, dict | BaseGate):
            raise AssertionError("gate config' type must be dict or an instance of BaseGate")
        self.experts = experts if isinstance(experts, LayerList) else LayerList(experts)
        self.num_expert, self.world_size = len(self.experts), group_size(moe_group)
        if not self.num_expert:
            raise InvalidArgument("MoELayer: experts: expected at least one Layer, got none")
        self.group, self.mp_group, self.d_model = moe_group, mp_group, d_model
        self.recompute_interval, self.recompute_ctx = recompute_interval, recompute_ctx
        if isinstance(gate, dict):
            kind, self.top_k = gate.get("type", "gshard") or "naive", gate.get("top_k", 2)
            if kind not in _GATES:
                raise AssertionError(f"MoELayer: gate: expected one of {[*_GATES]}, got {kind!r}")
            group = {} if kind == "naive" else {"group": moe_group}
            gate = _GATES[kind](d_model, self.num_expert, self.world_size, topk=self.top_k, **group)
        elif not isinstance(gate, NaiveGate):
            raise InvalidType(f"Unimplemented gate type: {type(gate)}")
        self.top_k, self.gate = gate.top_k, gate

    def forward(self, inp: Tensor) -> Tensor:
        """inp [batch, time, d_model]; the same shape."""
        if inp.ndim != 3 or inp.shape[-1] != self.d_model:
            raise InvalidArgument(
                f"MoELayer: inp: expected [batch, time, {self.d_model}], got {inp._brief()}"
            )
        rows = inp.reshape([-1, self.d_model])
        shared = self.mp_group if group_size(self.mp_group) > 1 else None
        if shared is not None:
            rows = rows_of_this(rows, shared)
        score, chosen = self.gate(rows)
        choice = chosen.data
        places = places_by_expert(choice)
        sent, coming = counts_of(choice, self.num_expert * self.world_size, self.group)
        travelled: Any = gather(rows, Tensor(places // self.top_k))
        if self.world_size > 1:
            travelled = global_scatter(travelled, Tensor(sent), Tensor(coming), self.group)
        counts = coming.view(self.world_size, -1).sum(0).tolist()
        if self.recompute_interval > 0 and travelled.shape[0]:
            back = recompute_hybrid(self.recompute_ctx or {}, self._experts, travelled, counts)
        else:
            back = self._experts(travelled, counts)
        if self.world_size > 1:
            back = global_gather(back, Tensor(sent), Tensor(coming), self.group)
        whole = scatter(zeros([choice.numel(), self.d_model], back.dtype), Tensor(places), back)
        # Not a product of matrices: [rows, 1, k] by [rows, k, d] takes several times as long.
        found = (score.unsqueeze(-1) * whole.reshape([-1, self.top_k, self.d_model])).sum(1)
        if shared is not None:
            found = rows_of_all(found, shared)
        return found.reshape(inp.shape)

    def _experts(self, rows: Tensor, counts: list[int]) -> Tensor:
        """What the experts of this process return for their rows, which lie by expert."""
        found, begin = [], 0
        for expert, count in zip(self.experts, counts, strict=True):
            if count:
                found.append(expert(rows[begin : begin + count]))
            begin += count
        return concat(found) if found else rows
