"""The files of a network, each checked when it is made: the library runs what it wrote and compares. Independent of
widgets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .part import Step
from .subject import Subject

CALIBRATION = 64  # inputs that int8 finds the range of values with


@dataclass
class Files:
    """The files of one network in a folder: `name`.json and `name`.safetensors, and `name`.onnx where it could be exported, else
    `refused` says why not."""

    folder: Path
    name: str
    refused: str = ""
    made: list[Path] = field(default_factory=list)

    @property
    def base(self) -> Path:
        """The path without its endings, as `jit.load` takes it."""
        return self.folder / self.name

    @property
    def onnx(self) -> Path | None:
        """The ONNX file, if there is one."""
        return next((path for path in self.made if path.suffix == ".onnx"), None)


def save(subject: Subject, network: Any, folder: Path, name: str, into: list[Files]) -> Iterator[Step]:
    """Writes the files of a network, in steps; they are in `into` once all are there."""
    import sampan

    files = Files(folder, name)
    folder.mkdir(parents=True, exist_ok=True)
    yield "saving", 0.0
    sampan.jit.save(network, files.base, subject.specs())
    files.made += [files.base.with_suffix(suffix) for suffix in (".json", ".safetensors")]
    yield "exporting", 0.6
    try:
        sampan.onnx.export(network, files.base, subject.specs())
        files.made.append(files.base.with_suffix(".onnx"))
    except (ImportError, ValueError) as error:  # the extra is not installed, or a call has no form in ONNX
        files.refused = str(error)
    into.append(files)
    yield "exporting", 1.0


def int8(subject: Subject, network: Any) -> Any:
    """A copy whose convolutions and linear layers compute in int8: a scale for each output channel and one for each
    input, by the largest magnitude on some inputs."""
    import sampan
    from sampan.quantization import PTQ, QuantConfig
    from sampan.quantization.observers import AbsMaxChannelWiseWeightObserver, AbsmaxObserver

    config = QuantConfig(None, None)
    kinds = [sampan.nn.Linear, sampan.nn.Conv2D]
    config.add_type_config(kinds, AbsmaxObserver(), AbsMaxChannelWiseWeightObserver())
    ptq = PTQ(config)
    observed = ptq.quantize(copy.deepcopy(network))
    with sampan.no_grad():
        observed(subject.inputs(CALIBRATION))
    return ptq.convert(observed)


def predictor(files: Files, onnxruntime: bool = False) -> Callable[[Any], Any]:
    """A saved network as a function of a batch, run by Sampan's replay or by ONNX Runtime, on as many threads as torch has
    now. Raises ImportError where the engine is not installed."""
    import torch

    from sampan import inference

    if onnxruntime:
        if files.onnx is None:
            raise ImportError(files.refused)
        config = inference.Config(str(files.onnx))
        config.enable_onnxruntime()
    else:
        config = inference.Config(*(str(files.base.with_suffix(end)) for end in (".json", ".safetensors")))
    config.set_cpu_math_library_num_threads(torch.get_num_threads())
    made = inference.create_predictor(config)
    return lambda batch: made.run([batch])[0]
