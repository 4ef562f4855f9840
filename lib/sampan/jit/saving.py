"""`save` and `load`: a function or layer as a file that runs without its source.

`save` records runs with inputs of several sizes, joins them to one Program, writes it, runs the written file
in a fresh process on fresh inputs of another size, and compares with the layer. Only a file that answers
alike stays.

Files of `path`: `path.json`, the Programs in readable form (saved_form.py), and `path.safetensors`, the
parameters and buffers. Nothing in them is pickled.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..dtype import as_device, as_dtype, name_of
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..nn.parameter import Parameter
from ..serialization import replacing
from .function import StaticFunction
from .program import Program, Ref, leaves, refs
from .record import Outside
from .saved_form import decoded, encoded, program_from_json, program_to_json
from .spec import InputSpec
from .symbolic import Axis
from .translated import TranslatedLayer
from .whole import OTHERS, Whole, called, endless, evaluating, flat, recorded, samples

VERSION = 2  # 2 has loops and branches
_HEAD = "sampan program"
_TOLERANCE = 1e-5
_MOST = (1, 3, 7)  # the largest of whole numbers that come alone, in each trial; one trial without loops


def save(layer: Any, path: str | os.PathLike[str], input_spec: Any = None, **configs: Any) -> None:
    """Save a layer, or a function, so that `load` runs it without its source, and other programs too.

    input_spec: an InputSpec for each argument of forward (also nested, or a Tensor as an example); None in a
    shape is any length. Without it that of `to_static`, or the shapes of the last call. The layer is saved as
    it evaluates: dropout is off.
    Raises InvalidArgument, and leaves no file, where the Program depends on values that it reads in Python
    (the message has the line), or answers differently in a fresh process.
    """
    if not isinstance(layer, Layer) and not callable(layer):
        raise InvalidType(f"save: layer: expected a Layer or a function, got {type(layer).__name__}")
    if unknown := set(configs) - {"output_spec", "with_hook", "combine_params", "clip_extra", "skip_forward"}:
        raise InvalidArgument(f"unknown settings {sorted(unknown)}")
    outside = Outside(by_content=True)
    with evaluating(layer):
        functions = {
            name: recorded(function, spec, outside) for name, function, spec in _functions(layer, input_spec)
        }
        with drafted(path, functions, _names(layer, outside), outside) as draft:
            _check(draft, functions, {name: f for name, f, _ in _functions(layer, input_spec)})


def load(path: str | os.PathLike[str], **configs: Any) -> TranslatedLayer:
    """The layer that `save` wrote: it runs, evaluates and can be trained further. Also the one that
    PaddlePaddle 3 wrote as `path.json` and `path.pdiparams`, where its operators are known here.
    Parameters and constants are put on the current device.

    Raises InvalidArgument for a file that is no saved Program, is damaged or of a newer version.
    """
    base = Path(path)
    text = Path(f"{base}.json")
    if not text.exists():
        raise InvalidArgument(f"load: path: expected a saved Program, no file {text.name} in {text.parent}")
    try:
        content = json.loads(text.read_text("utf-8"))
        if isinstance(content, dict) and "base_code" in content:
            return _of_paddle(content, base)
        if not isinstance(content, dict) or content.get("format") != _HEAD:
            raise InvalidArgument(f"load: {text.name}: not a Program of Sampan")
        if content["version"] > VERSION:
            raise InvalidArgument(
                f"load: {text.name}: version {content['version']}; this Sampan reads up to {VERSION}"
            )
        tensors = load_file(Path(f"{base}.safetensors"), str(as_device(None)))
        return TranslatedLayer(*_loaded(content, tensors))
    except (
        LookupError,
        ArithmeticError,
        MemoryError,
        TypeError,
        AttributeError,
        UnicodeDecodeError,
        SafetensorError,
        OSError,
        RecursionError,
    ) as error:
        raise InvalidArgument(f"load: {text.name}: damaged: {type(error).__name__}: {error}") from error
    except ValueError as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"load: {text.name}: damaged: {error}") from error


def _of_paddle(content: dict[str, Any], base: Path) -> TranslatedLayer:
    """The layer of files that PaddlePaddle wrote."""
    from .paddle_files import loaded  # whose table few programs need

    try:
        return loaded(content, base)
    except InvalidArgument as error:
        raise InvalidArgument(f"load: {base.name}.json: {error.reason}") from error


def _functions(layer: Any, input_spec: Any) -> list[tuple[str, Callable[..., Any], Any]]:
    """Name, function and input_spec of what is saved: forward, and other methods under `to_static`."""
    if not isinstance(layer, Layer):
        known = layer.input_spec if isinstance(layer, StaticFunction) else None
        return [("forward", layer, input_spec if input_spec is not None else known)]
    found = []
    for name in dict.fromkeys(["forward", *vars(layer), *dir(type(layer))]):
        method = inspect.getattr_static(layer, name, None)
        if name == "forward" or isinstance(method, StaticFunction):
            bound = getattr(layer, name)
            known = bound.input_spec if isinstance(bound, StaticFunction) else None
            found.append((name, bound, input_spec if name == "forward" and input_spec is not None else known))
    return found


# --- files ---


@contextmanager
def drafted(
    path: str | os.PathLike[str], functions: dict[str, Whole], names: list[str], outside: Outside
) -> Iterator[Path]:
    """The files of Programs under another name, which take their own at the end of the block, unless it
    raises."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".sampan-", dir=target.parent) as folder:
        draft = Path(folder) / "program"
        _write(draft, _content(functions, names, outside), names, outside)
        yield draft
        for suffix in (".safetensors", ".json"):  # the one that names the other comes last
            with replacing(f"{target}{suffix}") as file:
                file.write(draft.with_suffix(suffix).read_bytes())


def _names(layer: Any, outside: Outside) -> list[str]:
    """The names of the Tensors from outside, those of the layer's state where they belong to it."""
    known: dict[int, str] = {}
    if isinstance(layer, Layer):
        known = {id(t): name for name, t in (*layer.named_parameters(), *layer.named_buffers())}
    return [known.get(id(t), f"tensor_{i}") for i, t in enumerate(outside.tensors)]


def _content(functions: dict[str, Whole], names: list[str], outside: Outside) -> dict[str, Any]:
    return {
        "format": _HEAD,
        "version": VERSION,
        "tensors": [
            {
                "name": n,
                "trainable": isinstance(t, Parameter) and not t.stop_gradient,
                "parameter": isinstance(t, Parameter),
            }
            for n, t in zip(names, outside.tensors, strict=True)
        ],
        "constants": len(outside.buffers),
        "functions": {
            name: {
                "inputs": [
                    {"name": s.name, "shape": list(s.shape), "dtype": name_of(as_dtype(s.dtype))}
                    for s in made.specs
                ],
                "takes": {key: encoded(value) for key, value in made.takes.items()},
                "tied": made.tied,
                "programs": [program_to_json(program) for program in (made.program, *made.others)],
            }
            for name, made in functions.items()
        },
    }


def _write(draft: Path, content: dict[str, Any], names: list[str], outside: Outside) -> None:
    draft.with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")
    tensors = {f"p{i}": t.data.detach().cpu().contiguous().clone() for i, t in enumerate(outside.tensors)}
    tensors |= {f"k{i}": b.detach().cpu().contiguous().clone() for i, b in enumerate(outside.buffers)}
    save_file(tensors, draft.with_suffix(".safetensors"), {"names": json.dumps(names)})


def _loaded(
    content: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> tuple[list[Any], list[Any], list[Any]]:
    """(name and Tensor of what is from outside, constants, functions) of a file."""
    outside: list[tuple[str, Tensor]] = []
    for i, entry in enumerate(content["tensors"]):
        data = tensors[f"p{i}"]
        made: Tensor = Tensor(data)
        if entry["parameter"]:
            made = Parameter(data, bool(entry["trainable"]))
        outside.append((str(entry["name"]), made))
    buffers = [tensors[f"k{i}"] for i in range(content["constants"])]
    functions = []
    for name, entry in content["functions"].items():
        specs = [InputSpec(i["shape"], i["dtype"], i["name"]) for i in entry["inputs"]]
        takes = {key: decoded(value) for key, value in entry["takes"].items()}
        program, *others = [program_from_json(form) for form in entry["programs"]]
        for each in (program, *others):
            _check_refs(each, len(specs), len(outside), len(buffers))
        tied = [[Axis(int(i), int(a)) for i, a in group] for group in entry["tied"]]
        functions.append((name, Whole(program, takes, specs, tied, others)))
    return outside, buffers, functions


def _check_refs(program: Program, inputs: int, tensors: int, buffers: int) -> None:
    """Refuse a Program that reads an input or a tensor which the file does not have."""
    counts = {"x": inputs, "p": tensors, "k": buffers}
    for ref in refs([s.args for s in program.steps] + [c.settings for c in program.calls] + [program.result]):
        if ref.kind in counts and ref.index >= counts[ref.kind]:
            raise InvalidArgument(f"it reads {ref!r}, of {counts[ref.kind]}")


# --- proof ---


def _check(draft: Path, functions: dict[str, Whole], originals: dict[str, Callable[..., Any]]) -> None:
    """Run the written file in a fresh process. InvalidArgument where it differs from the layer."""
    trials: dict[str, tuple[str, list[Any]]] = {}  # "0.forward": the name of the function, the inputs
    for name, made in functions.items():
        axes = [Axis(i, a) for i, spec in enumerate(made.specs) for a in spec.unknown]
        sizes = {axis: 4 if axis.axis == 0 else OTHERS[0][2] for axis in axes}
        for trial, most in enumerate(_MOST if made.flows else _MOST[:1]):
            trials[f"{trial}.{name}"] = name, samples(made.specs, sizes, 1 + trial, most)
    given = {
        f"{key}.{i}": t.data.cpu().contiguous()
        for key, (_, inputs) in trials.items()
        for i, t in enumerate(inputs)
    }
    answers = _fresh_answers(draft, given)
    for name, made in functions.items():
        keys = [key for key, (own, _) in trials.items() if own == name]
        keys = [key for key in keys if not made.flows or f"{key}.0" in answers]
        if not keys and any(True for ref in refs(made.program.result)):
            raise InvalidArgument(endless(made))
        if any(call.random for call in made.program.calls):
            continue
        for key in keys:
            result = called(originals[name], made.takes, trials[key][1])
            for i, value in enumerate(_wanted(made, result)):
                _compare(name, i, value.cpu(), answers[f"{key}.{i}"])


def _wanted(made: Whole, result: Any) -> list[torch.Tensor]:
    """The buffers that a file must answer. A number that a loop or branch decides is a Tensor in a file."""
    given = list(leaves(result))
    for program in (made.program, *made.others):
        pairs = list(zip(leaves(program.result), given, strict=False))
        if len(pairs) == len(given) and all(
            isinstance(f, Ref) or not isinstance(v, Tensor) for f, v in pairs
        ):
            values = [value for form, value in pairs if isinstance(form, Ref)]
            return [v.data if isinstance(v, Tensor) else torch.tensor(v) for v in values]
    return [tensor.data for tensor in flat(result)]


def _fresh_answers(draft: Path, given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What the written file answers in a fresh process."""
    inputs, outputs = draft.with_name("inputs.safetensors"), draft.with_name("outputs.safetensors")
    save_file(given, inputs)
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "sampan.jit.check_file", str(draft), str(inputs), str(outputs)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False
    )
    if done.returncode:
        raise InvalidArgument(f"the saved file does not run: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, torch.Tensor] = load_file(outputs)
    return found


def _compare(
    name: str, place: int, wanted: torch.Tensor, answer: torch.Tensor, most: float = _TOLERANCE
) -> None:
    """Refuse an answer that is not the layer's. most: by how much of the largest value it may differ."""
    where = f"{name}: output {place}"
    if wanted.shape != answer.shape or wanted.dtype != answer.dtype:
        raise InvalidArgument(
            f"{where} is {name_of(answer.dtype)}{list(answer.shape)} from the file, "
            f"{name_of(wanted.dtype)}{list(wanted.shape)} from the layer"
        )
    if wanted.dtype.is_floating_point or wanted.dtype.is_complex:
        scale = float(wanted.abs().nan_to_num(0.0, 0.0, 0.0).max()) if wanted.numel() else 0.0
        bound = max(scale, 1e-3) * (most if wanted.dtype.itemsize >= 4 else max(most, 1e-2))
        alike = torch.allclose(answer, wanted, rtol=0.0, atol=bound, equal_nan=True)
    else:
        alike = torch.equal(answer, wanted)
    if not alike:
        raise InvalidArgument(
            f"{where} of the file is not that of the layer for a fresh input; nothing is saved"
        )
