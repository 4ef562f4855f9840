"""`export`: a layer as an ONNX file, which is run and compared before it stays."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument, InvalidType
from ..engine.operator import MISSING_DEFAULT
from ..engine.tensor import Tensor
from ..jit.control_flow import Flow
from ..jit.evaluation import tolerance
from ..jit.function import StaticFunction
from ..jit.passes import optimized
from ..jit.program import Call, Ref, refs
from ..jit.record import Outside
from ..jit.saving import _compare, _names
from ..jit.symbolic import Axis
from ..jit.translated import TranslatedLayer, _Runner
from ..jit.whole import Whole, called, evaluating, filled_in, flat
from ..jit.whole import recorded as recorded_whole
from ..nn.layer import Layer
from ..serialization import replacing
from .emitters import FUNCTIONS, OPERATORS
from .facts import Facts, facts
from .flow import emitted_flow
from .graph import Graph, Unsupported
from .library import array_of, library, number_of, runtime, session

LOWEST = 17  # the first that has all the operators that the emitters use
_LARGEST = 2**31 - 2**20  # bytes: a protobuf holds 2 GB
_FOLDED = 4096  # entries: a larger constant is computed by the file
_logger = logging.getLogger("sampan.onnx")


def export(
    layer: Any,
    path: str | os.PathLike[str],
    input_spec: Any = None,
    opset_version: int = LOWEST,
    **configs: Any,
) -> None:
    """Write a layer, or a function, to the ONNX file `path`.onnx.

    input_spec: an InputSpec for each argument of forward, or a Tensor as an example; None in a shape is any
    length. The layer is written as it evaluates. opset_version: 17 and above; for a smaller one 17 is
    written, with a message, as Paddle2ONNX does. Outputs are named output_0, output_1 and so on.
    configs: settings of Paddle2ONNX such as `enable_onnx_checker` are accepted and decide nothing. The file
    is always checked, run on fresh inputs of another size, and compared with the layer.

    Raises InvalidArgument, and writes nothing, where calls have no form in ONNX (the message has all of them
    and their lines), for a file above 2 GB, and where the file answers differently. Needs the extra `deploy`.
    """
    onnx = library()
    if not isinstance(layer, Layer) and not callable(layer):
        raise InvalidType(f"export: layer: expected a Layer or a function, got {type(layer).__name__}")
    highest = onnx.defs.onnx_opset_version()
    if (
        isinstance(opset_version, bool)
        or not isinstance(opset_version, int)
        or not 1 <= opset_version <= highest
    ):
        raise InvalidArgument(f"export: opset_version: expected {LOWEST} to {highest}, got {opset_version!r}")
    if opset_version < LOWEST:
        _logger.warning(
            "opset_version %d lacks operators that this writes; the file has %d", opset_version, LOWEST
        )
    target = Path(path)
    if target.name in ("", ".", ".."):
        raise InvalidArgument(f"export: path: expected the beginning of a file's name, got {str(path)!r}")
    target = target if target.suffix == ".onnx" else target.with_name(f"{target.name}.onnx")
    with evaluating(layer), no_grad():
        call, loaded, outside = recorded(layer, input_spec)
        if loaded.branched:
            guard = loaded.program.guards[0]
            raise InvalidArgument(
                f"export: {guard.line}: {guard.name.strip('_')}() of a Tensor decides what is computed, "
                "which has no form in ONNX; write it with paddle.where"
            )
        loaded = _folded(loaded, outside)
        known, fresh = facts(loaded, outside)
        names = zip(_names(layer, outside), outside.tensors, strict=True)
        held = {Ref("p", i): (name, t.data) for i, (name, t) in enumerate(names)}
        held |= {Ref("k", i): (f"constant_k{i}", b) for i, b in enumerate(outside.buffers)}
        model = built(loaded, known, held, max(opset_version, LOWEST))
        wanted = [t.data for t in flat(call(fresh))]
    content = model.SerializeToString()
    try:
        onnx.checker.check_model(content, full_check=True)
    except Exception as error:  # the checker has an exception for each part of the library
        raise InvalidArgument(f"export: the file is not valid: {error}") from error
    _compared(content, model, fresh, wanted, tolerance(loaded.program))
    with replacing(target) as file:
        file.write(content)


def recorded(layer: Any, input_spec: Any) -> tuple[Callable[[Sequence[Tensor]], Any], Whole, Outside]:
    """A layer as a function of its Tensors, its Program for all sizes, and what that reads from outside."""
    function = layer.forward if isinstance(layer, Layer) else layer
    if isinstance(layer, TranslatedLayer):
        runner: _Runner = vars(layer)["forward"]
        loaded, outside = runner.loaded, Outside()
        outside.tensors, outside.buffers = layer._outside, layer._constants

        def call(given: Sequence[Tensor]) -> Any:
            return runner(**filled_in(loaded.takes, given))

    else:
        known = function.input_spec if isinstance(function, StaticFunction) else None
        outside = Outside(by_content=True)
        loaded = recorded_whole(function, input_spec if input_spec is not None else known, outside)
        call = functools.partial(called, function, loaded.takes)
    return call, loaded, outside


def _folded(loaded: Whole, outside: Outside) -> Whole:
    """With batch normalisations folded into convolutions in int8, which engines do for floats alone."""
    if not any(call.name == "int8_conv2d" for call in loaded.program.calls):
        return loaded
    frozen = {Ref("p", i): t.data for i, t in enumerate(outside.tensors)}
    frozen |= {Ref("k", i): b for i, b in enumerate(outside.buffers)}
    rewriting = optimized(loaded.program, frozen, ["fold_batch_norm"])
    outside.buffers += [rewriting.frozen[ref] for ref in rewriting.frozen if ref not in frozen]
    return loaded._replace(program=rewriting.program)


# --- writing ---


def built(loaded: Whole, known: Facts, outside: dict[Ref, tuple[str, torch.Tensor]], opset: int) -> Any:
    """The ModelProto of a Program. InvalidArgument with all calls that cannot be said."""
    onnx = library()
    graph = Graph(known, opset, outside)
    inputs = []
    for i, spec in enumerate(loaded.specs):
        ref = Ref("x", i)
        graph.names[ref] = str(spec.name)
        tied = {axis: group[0] for group in loaded.tied for axis in group}
        shape = [
            _axis_name(tied.get(Axis(i, a), Axis(i, a)), loaded) if n == -1 else n
            for a, n in enumerate(spec.shape)
        ]
        inputs.append(onnx.helper.make_tensor_value_info(str(spec.name), number_of(known[ref].dtype), shape))
    failures = [failure for call in loaded.program.calls for failure in _emitted(graph, call)]
    if failures:
        listed = "\n  ".join(dict.fromkeys(failures))
        raise InvalidArgument(
            f"export: no form in ONNX for {len(failures)} calls, nothing is written:\n  {listed}"
        )
    outputs, taken = [], set(graph.names.values())
    for i, ref in enumerate(refs(loaded.program.result)):
        name = f"output_{i}" if f"output_{i}" not in taken else f"output_{i}_"
        node = onnx.helper.make_node("Identity", [graph.name(ref)], [name])
        graph.nodes.append(node)
        fact = known[ref]
        shape = [None if n is None else int(n) for n in fact.shape]
        outputs.append(onnx.helper.make_tensor_value_info(name, number_of(fact.dtype), shape))
    if not outputs:
        raise InvalidArgument("export: layer: expected a Tensor among its results, got none")
    size = sum(array.nbytes for array in graph.constants.values())
    if size > _LARGEST:
        raise InvalidArgument(f"export: expected at most 2 GB of parameters, got {size / 2**30:.1f} GB")
    held = [onnx.numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    made = onnx.helper.make_graph(graph.nodes, "sampan", inputs, outputs, held)
    version = [onnx.helper.make_opsetid("", opset)]
    form = onnx.helper.find_min_ir_version_for(version)
    return onnx.helper.make_model(made, opset_imports=version, ir_version=form, producer_name="sampan")


def _axis_name(axis: Axis, loaded: Whole) -> str:
    """The name of a length: "batch" where all first axes are one, else from the input's name."""
    firsts = [Axis(i, 0) for i, spec in enumerate(loaded.specs) if 0 in spec.unknown]
    together = len(firsts) == 1 or any(set(firsts) <= set(group) for group in loaded.tied)
    if axis.axis == 0 and together:
        return "batch"
    return f"{loaded.specs[axis.input].name}_axis_{axis.axis}"


def _emitted(graph: Graph, call: Call) -> list[str]:
    """Write a call's nodes; or return why it cannot be, with the line of the model, for each call in it."""
    graph.result, graph.line = call.result, call.line
    made = list(refs(call.result))
    same = [graph.known[ref].buffer for ref in made]
    if made and all(b is not None and b.numel() <= _FOLDED for b in same):
        graph.names.update({ref: graph.buffer(b) for ref, b in zip(made, same, strict=True) if b is not None})
        return []
    emitter = (FUNCTIONS if call.operator is None else OPERATORS).get(call.name)
    try:
        if isinstance(call.function, Flow):
            return emitted_flow(graph, call, _emitted)
        if call.random:
            raise Unsupported("random numbers")
        if emitter is None:
            raise Unsupported("no emitter")
        args, settings = _bound(call)
        names = emitter(graph, *args, **settings)
        _entered(graph, call, names)
    except (Unsupported, TypeError, ValueError, KeyError, AttributeError) as error:
        graph.names.update(dict.fromkeys(made, "unsaid"))
        reason = str(error) if isinstance(error, Unsupported) else f"{type(error).__name__}: {error}"
        return [f"{call.line}: {call.name}: {reason}"]
    return []


def _bound(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, for an operator in the order and with the defaults of its parameters."""
    if call.operator is None or call.operator.variadic:
        return call.args, call.settings
    bound = call.operator.signature.bind(*call.args, **call.settings)
    given = {k: v for k, v in call.operator.defaults.items() if v is not MISSING_DEFAULT} | bound.arguments
    positional = [
        name for name, p in call.operator.signature.parameters.items() if p.kind is not p.KEYWORD_ONLY
    ]
    return tuple(given[name] for name in positional), {k: v for k, v in given.items() if k not in positional}


def _entered(graph: Graph, call: Call, names: Any) -> None:
    """Give the results of a call, and what it wrote into, their names."""
    made = list(refs(call.result))
    listed = [names] if isinstance(names, str) else list(names)
    if len(listed) != len(made):
        raise Unsupported(f"{len(made)} results from {len(listed)}")
    graph.names.update(zip(made, listed, strict=True))
    if call.writes:
        if len(listed) != 1:
            raise Unsupported("it writes into several values")
        graph.names.update(dict.fromkeys(call.writes, listed[0]))


# --- proof ---


def _compared(
    content: bytes, model: Any, inputs: Sequence[Tensor], wanted: Sequence[torch.Tensor], most: float
) -> None:
    """Run a file's content and refuse it where it is not the layer."""
    given = {info.name: array_of(t.data) for info, t in zip(model.graph.input, inputs, strict=True)}
    try:
        answers = _answers(content, model, given)
    except Exception as error:  # engines have exceptions of their own
        raise InvalidArgument(f"export: the file does not run: {type(error).__name__}: {error}") from error
    for i, (one, answer) in enumerate(zip(wanted, answers, strict=True)):
        _compare("export", i, one, torch.from_numpy(np.array(answer)).to(one.dtype), most)


def _answers(content: bytes, model: Any, given: dict[str, np.ndarray]) -> Any:
    """What ONNX Runtime answers; ONNX's own evaluator where it is not installed or lacks a kernel."""
    if runtime() is not None:
        try:
            return session(content, 1).run(None, given)
        except runtime().capi.onnxruntime_pybind11_state.NotImplemented as error:
            _logger.warning("ONNX Runtime cannot run this file, ONNX's evaluator checks it: %s", error)
    return library().reference.ReferenceEvaluator(model).run(None, given)
