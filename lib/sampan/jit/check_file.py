"""Run a saved Program in a fresh process: `python -m sampan.jit.check_file program inputs outputs`.

The inputs are named `trial.function.place`, such as "0.forward.1"; so are the outputs. A trial in which a
loop does not end, or that the function refuses, has none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from .saving import load
from .whole import ends, filled_in, flat


def main(program: str, inputs: str, outputs: str) -> None:
    """Run each function of a file on the inputs of its name, and write the results."""
    layer, given = load(program), load_file(Path(inputs))
    answers: dict[str, torch.Tensor] = {}
    runners = {name: runner for name, runner in vars(layer).items() if hasattr(runner, "loaded")}
    with no_grad():
        for trial in sorted({name.partition(".")[0] for name in given} | {"0"}):
            for name, runner in runners.items():
                key = f"{trial}.{name}"
                loaded = runner.loaded
                if trial != "0" and f"{key}.0" not in given:
                    continue
                tensors = [Tensor(given[f"{key}.{i}"]) for i in range(len(loaded.specs))]
                if loaded.flows and not ends(runner, loaded, tensors):
                    continue
                found = flat(runner(**filled_in(loaded.takes, tensors)))
                answers |= {f"{key}.{i}": t.data.contiguous().clone() for i, t in enumerate(found)}
    save_file(answers, Path(outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
