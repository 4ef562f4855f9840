"""A linear layer of a batch of sequences is one call: rows, product, bias and shape."""

from __future__ import annotations

from typing import Any

import torch

from ..program import Call, Ref
from .rewriting import Rewriting


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """x @ weight + bias: x [..., in], weight [in, out], bias [out]."""
    rows = torch.addmm(bias, x.reshape(-1, weight.shape[0]), weight)
    return rows.view(*x.shape[:-1], weight.shape[1])


def fuse_linear(rewriting: Rewriting) -> None:
    """reshape(x, [-1, in]), `affine` and reshape to [..., out] become one `linear`."""
    readers, made_by = rewriting.readers(), rewriting.made_by()

    def only(ref: Any, name: str) -> Call | None:
        call = made_by.get(ref) if isinstance(ref, Ref) else None
        return call if call is not None and call.name == name else None

    for shaped in list(rewriting.calls):
        product = only(shaped.args[0], "affine") if shaped.name == "reshape" else None
        rows = product and only(product.args[0], "reshape")
        if product is None or rows is None or readers[product.result] != 1:
            continue
        weight, bias = (rewriting.frozen.get(ref) for ref in product.args[1:3])
        if weight is None or bias is None or bias.dtype is not weight.dtype:
            continue
        if rows.args[1] != [-1, weight.shape[0]] or shaped.args[1][-1:] != [weight.shape[1]]:
            continue
        arguments = rows.args[0], *product.args[1:3]
        call = Call(linear, "linear", arguments, {}, shaped.result, line=shaped.line)
        rewriting.put(shaped, call)
        made_by[call.result] = call
