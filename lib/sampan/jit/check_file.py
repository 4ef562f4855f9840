"""Run a saved Program in a fresh process: `python -m sampan.jit.check_file program inputs outputs`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from .saving import load
from .whole import filled_in, flat


def main(program: str, inputs: str, outputs: str) -> None:
    """Run each function of a file on the inputs of its name, and write the results."""
    layer, given = load(program), load_file(Path(inputs))
    answers: dict[str, torch.Tensor] = {}
    with no_grad():
        for name, runner in vars(layer).items():
            loaded = getattr(runner, "loaded", None)
            if loaded is None:
                continue
            tensors = [Tensor(given[f"{name}.{i}"]) for i in range(len(loaded.specs))]
            found = flat(runner(**filled_in(loaded.takes, tensors)))
            answers |= {f"{name}.{i}": t.data.contiguous().clone() for i, t in enumerate(found)}
    save_file(answers, Path(outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
