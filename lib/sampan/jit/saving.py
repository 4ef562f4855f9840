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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..dtype import as_dtype, name_of
from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from ..nn.parameter import Parameter
from ..serialization import replacing
from .code import Branch
from .function import StaticFunction, plain_function
from .program import Program, Ref, mapped, refs
from .record import Outside, Recorder
from .saved_form import decoded, encoded, program_from_json, program_to_json
from .spec import InputSpec
from .symbolic import Axis, Sizes, generalized
from .translated import Loaded, TranslatedLayer

VERSION = 1
_HEAD = "sampan program"
# Lengths to record an axis with: the base, another one, and one to check with. Batches first, then others:
# small images and sentences, and pictures for networks that need them.
_BATCHES = (2, 3, 5)
_OTHERS = ((32, 48, 64), (224, 256, 320))
_TOLERANCE = 1e-5
_PATHS = 16  # ways through a function that a file may hold


class Refused(InvalidArgument):
    """A function that no Program stands for, whatever the sizes."""


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
    outside = Outside()
    with _evaluating(layer):
        functions = {
            name: _recorded(function, spec, outside) for name, function, spec in _functions(layer, input_spec)
        }
        names = _names(layer, outside)
        content = _content(functions, names, outside)
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".sampan-", dir=target.parent) as folder:
            draft = Path(folder) / "program"
            _write(draft, content, names, outside)
            _check(draft, functions, {name: f for name, f, _ in _functions(layer, input_spec)})
            for suffix in (".safetensors", ".json"):  # the one that names the other comes last
                with replacing(f"{target}{suffix}") as file:
                    file.write(draft.with_suffix(suffix).read_bytes())


def load(path: str | os.PathLike[str], **configs: Any) -> TranslatedLayer:
    """The layer that `save` wrote: it runs, evaluates and can be trained further.

    Raises InvalidArgument for a file that is no saved Program, is damaged or of a newer version.
    """
    base = Path(path)
    text = Path(f"{base}.json")
    if not text.exists():
        raise InvalidArgument(f"load: path: expected a saved Program, no file {text.name} in {text.parent}")
    try:
        content = json.loads(text.read_text("utf-8"))
        if not isinstance(content, dict) or content.get("format") != _HEAD:
            raise InvalidArgument(f"load: {text.name}: not a Program of Sampan")
        if content["version"] > VERSION:
            raise InvalidArgument(
                f"load: {text.name}: version {content['version']}; this Sampan reads up to {VERSION}"
            )
        tensors = load_file(Path(f"{base}.safetensors"))
        return TranslatedLayer(*_loaded(content, tensors))
    except (
        KeyError,
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


# --- recording ---


@contextmanager
def _evaluating(layer: Any) -> Iterator[None]:
    """Within the block the layer, if it is one, evaluates and no gradients are recorded."""
    parts = layer.sublayers(include_self=True) if isinstance(layer, Layer) else []
    before = [part.training for part in parts]
    for part in parts:
        part.training = False
    try:
        with no_grad():
            yield
    finally:
        for part, mode in zip(parts, before, strict=True):
            part.training = mode


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


def _recorded(function: Callable[..., Any], input_spec: Any, outside: Outside) -> Loaded:
    """A function as one Program for all sizes that its specs allow."""
    takes, specs = _described(function, input_spec)
    axes = [Axis(i, axis) for i, spec in enumerate(specs) for axis in spec.unknown]
    failure: Exception | None = None
    for lengths in _OTHERS if any(a.axis for a in axes) else _OTHERS[:1]:
        for groups in _groupings(axes):
            sizes = _sizes(groups, lengths)
            try:
                program, *others = _paths(
                    partial(_run, function, takes, specs, outside=outside), sizes, groups
                )
                return Loaded(program, takes, specs, [group for group in groups if len(group) > 1], others)
            except Refused:
                raise
            except InvalidArgument as error:  # the sizes do not fit to one another, or are too small
                failure = failure or error
    assert failure is not None
    raise failure


def _paths(
    run: Callable[..., Program], sizes: Sequence[Sizes], groups: Sequence[list[Axis]]
) -> list[Program]:
    """A Program for each way through the function: both outcomes of every truth value that Python reads."""
    found: list[Program] = []
    left: list[list[bool]] = [[]]
    while left:
        outcomes = left.pop()
        first = run(sizes[0], outcomes)
        seen: list[Any] = [guard.outcome for guard in first.guards]
        runs = [first, *(run(size, seen) for size in sizes[1:])]
        program = generalized(runs, sizes, [group[0] for group in groups]) if groups else first
        left += [[*seen[:i], not seen[i]] for i in range(len(outcomes), len(seen))]
        found.append(program)
        if len(found) + len(left) > _PATHS:
            guard = program.guards[-1]
            raise Refused(
                f"{guard.line}: more than {_PATHS} ways through the function, by {guard.name.strip('_')}() of "
                "a Tensor; write a loop with paddle.static.nn.while_loop"
            )
    return found


def _groupings(axes: Sequence[Axis]) -> list[list[list[Axis]]]:
    """Ways to see which axes have the same length: none; all first ones; and all others too."""
    batches, others = [a for a in axes if a.axis == 0], [a for a in axes if a.axis]
    alone = [[axis] for axis in others]
    ways = [[[axis] for axis in axes], [batches, *alone], [batches, others]]
    ways = [[group for group in way if group] for way in ways]
    return [way for i, way in enumerate(ways) if way not in ways[:i]]


def _described(function: Callable[..., Any], input_spec: Any) -> tuple[Any, list[InputSpec]]:
    """The arguments with a Ref for each Tensor, by the names of the parameters; and the specs."""
    plain = plain_function(function)
    parameters = list(inspect.signature(plain).parameters.values())
    if input_spec is None:
        called = function.last_call if isinstance(function, StaticFunction) else None
        if called is None and any(p.default is p.empty for p in parameters):
            raise InvalidArgument("input_spec: expected an InputSpec for each argument, got None")
        given = (
            {} if called is None else dict(inspect.signature(plain).bind(*called[0], **called[1]).arguments)
        )
    else:
        listed = list(input_spec) if isinstance(input_spec, (list, tuple)) else [input_spec]
        if len(listed) > len(parameters) and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise InvalidArgument(f"input_spec: expected at most {len(parameters)}, got {len(listed)}")
        given = dict(inspect.signature(plain).bind_partial(*listed).arguments)
        lacking = [
            p.name
            for p in parameters
            if p.name not in given
            and p.default is p.empty
            and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        if lacking:
            raise InvalidArgument(f"input_spec: expected a spec for {lacking[0]!r} too")
    specs: list[InputSpec] = []

    def named(name: str, leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            leaf = InputSpec.from_tensor(leaf, leaf._name or name)
        if not isinstance(leaf, InputSpec):
            return leaf
        taken = {spec.name for spec in specs}
        wanted = leaf.name or name
        own = wanted if wanted not in taken else f"{wanted}_{len(specs)}"
        specs.append(InputSpec(leaf.shape, leaf.dtype, own, leaf.stop_gradient))
        return Ref("x", len(specs) - 1)

    takes = {name: mapped(value, partial(named, name)) for name, value in given.items()}
    encoded(takes)  # refuses what a file cannot hold
    return takes, specs


def _sizes(groups: Sequence[list[Axis]], lengths: tuple[int, int, int]) -> list[Sizes]:
    """The lengths of the axes in each run: the base, one group changed in each, and all changed."""
    if not groups:
        return [{}]

    def run(which: Callable[[int], Any]) -> Sizes:
        return {
            axis: (_BATCHES if axis.axis == 0 else lengths)[int(which(place))]
            for place, group in enumerate(groups)
            for axis in group
        }

    changed = [run(i.__eq__) for i in range(len(groups))]
    return [run(lambda place: 0), *changed, run(lambda place: 2)]


def _samples(specs: Sequence[InputSpec], sizes: Sizes, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        spec.sample({a.axis: n for a, n in sizes.items() if a.input == i}, generator)
        for i, spec in enumerate(specs)
    ]


def _called(function: Callable[..., Any], takes: Any, tensors: Sequence[Tensor]) -> Any:
    """The function called with Tensors in place of the Refs."""
    plain = plain_function(function)
    bound = inspect.signature(plain).bind_partial()
    for name, value in takes.items():
        bound.arguments[name] = filled_in(value, tensors)
    return plain(*bound.args, **bound.kwargs)


def _run(
    function: Callable[..., Any],
    takes: Any,
    specs: Sequence[InputSpec],
    sizes: Sizes,
    outcomes: Sequence[bool],
    outside: Outside,
) -> Program:
    """One recorded run with random inputs. outcomes: of the first truth values that Python reads."""
    tensors = _samples(specs, sizes, 0)
    recorder = Recorder(tensors, outside, {id(t.data): t for t in _owned(function)}, outcomes)
    with recorder.watching():
        result = _called(function, takes, tensors)
    if recorder.refused:
        raise Refused(f"{recorder.refused[0]}")
    number = next((g for g in recorder.program.guards if not isinstance(g.outcome, bool)), None)
    if number is not None:
        guard = number
        raise Refused(
            f"{guard.line}: {guard.name.strip('_')}() of a Tensor decides what is computed; keep it a "
            "Tensor, or write a loop with paddle.static.nn.while_loop"
        )
    if any(ref.kind == "x" for call in recorder.program.calls for ref in call.writes):
        raise Refused("it writes into an argument")

    def output(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return recorder.known(leaf.data) or outside.ref(leaf.data, leaf)

    recorder.program.result = mapped(result, output)
    if not recorder.program.guards:  # what other ways need is not known yet
        branch = Branch()
        branch.add(recorder.program, 0, tuple(refs(recorder.program.result)))
        recorder.program.steps = list(branch.pruned()[0].calls)
    return recorder.program


def _owned(function: Callable[..., Any]) -> list[Tensor]:
    owners = StaticFunction(plain_function(function))._layers()
    return [t for layer in owners for t in (*layer.parameters(), *layer.buffers())]


# --- files ---


def _names(layer: Any, outside: Outside) -> list[str]:
    """The names of the Tensors from outside, those of the layer's state where they belong to it."""
    known: dict[int, str] = {}
    if isinstance(layer, Layer):
        known = {id(t): name for name, t in (*layer.named_parameters(), *layer.named_buffers())}
    return [known.get(id(t), f"tensor_{i}") for i, t in enumerate(outside.tensors)]


def _content(functions: dict[str, Loaded], names: list[str], outside: Outside) -> dict[str, Any]:
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
        functions.append((name, Loaded(program, takes, specs, tied, others)))
    return outside, buffers, functions


def _check_refs(program: Program, inputs: int, tensors: int, buffers: int) -> None:
    """Refuse a Program that reads an input or a tensor which the file does not have."""
    counts = {"x": inputs, "p": tensors, "k": buffers}
    for ref in refs([s.args for s in program.steps] + [c.settings for c in program.calls] + [program.result]):
        if ref.kind in counts and ref.index >= counts[ref.kind]:
            raise InvalidArgument(f"it reads {ref!r}, of {counts[ref.kind]}")


# --- proof ---


def _check(draft: Path, functions: dict[str, Loaded], originals: dict[str, Callable[..., Any]]) -> None:
    """Run the written file in a fresh process. InvalidArgument where it differs from the layer."""
    given: dict[str, torch.Tensor] = {}
    wanted: dict[str, Any] = {}
    for name, made in functions.items():
        axes = [Axis(i, a) for i, spec in enumerate(made.specs) for a in spec.unknown]
        sizes = {axis: 4 if axis.axis == 0 else _OTHERS[0][2] for axis in axes}
        tensors = _samples(made.specs, sizes, 1)
        given |= {f"{name}.{i}": t.data.contiguous() for i, t in enumerate(tensors)}
        if not any(call.random for call in made.program.calls):
            wanted[name] = flat(_called(originals[name], made.takes, tensors))
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
    answers = load_file(outputs)
    for name, results in wanted.items():
        for i, result in enumerate(results):
            _compare(name, i, result.data, answers[f"{name}.{i}"])


def _compare(name: str, place: int, wanted: torch.Tensor, answer: torch.Tensor) -> None:
    """Refuse an answer that is not the layer's."""
    where = f"{name}: output {place}"
    if wanted.shape != answer.shape or wanted.dtype != answer.dtype:
        raise InvalidArgument(
            f"{where} is {name_of(answer.dtype)}{list(answer.shape)} from the file, "
            f"{name_of(wanted.dtype)}{list(wanted.shape)} from the layer"
        )
    if wanted.dtype.is_floating_point or wanted.dtype.is_complex:
        scale = float(wanted.abs().nan_to_num(0.0, 0.0, 0.0).max()) if wanted.numel() else 0.0
        bound = max(scale, 1e-3) * (_TOLERANCE if wanted.dtype.itemsize >= 4 else 1e-2)
        alike = torch.allclose(answer, wanted, rtol=0.0, atol=bound, equal_nan=True)
    else:
        alike = torch.equal(answer, wanted)
    if not alike:
        raise InvalidArgument(
            f"{where} of the file is not that of the layer for a fresh input; nothing is saved"
        )


def flat(result: Any) -> list[Tensor]:
    """The Tensors in a result, in order."""
    found: list[Tensor] = []
    mapped(result, lambda leaf: found.append(leaf) if isinstance(leaf, Tensor) else None)
    return found


def filled_in(takes: Any, tensors: Sequence[Tensor]) -> Any:
    """Arguments with Tensors in place of their Refs."""
    return mapped(takes, lambda leaf: tensors[leaf.index] if isinstance(leaf, Ref) else leaf)
