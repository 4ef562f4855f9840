"""Programs in the files of `jit`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...jit import saving
from ...jit.code import read_by
from ...jit.program import Call, Ref, mapped, refs
from ...jit.program import Program as Calls
from ...jit.record import Outside
from ...jit.spec import InputSpec
from ...jit.symbolic import Axis, Length
from ...jit.whole import Whole
from ...serialization import load as load_state
from ...serialization import save as save_state
from .building import Program, default_main_program, paused
from .running import _listed
from .steps import LookUp, evaluated, needed


def save_inference_model(
    path_prefix: str, feed_vars: Any, fetch_vars: Any, executor: Any = None, **kwargs: Any
) -> None:
    """Save what leads from `feed_vars` to `fetch_vars`, as it evaluates, in files that `jit.load` reads too.

    program: the Program, the main one where it is not given. feed_vars: inputs; also rows of
    `static.nn.sparse_embedding`, whose table no file of a Program has (`fleet.save_persistables` writes it).
    Raises InvalidArgument where an input is needed that `feed_vars` lacks, or the Program has gradients.
    """
    program = kwargs.get("program") or default_main_program()
    with paused():
        whole, outside = whole_of(program, _listed(feed_vars), _listed(fetch_vars))
        names = [t.name for t in outside.tensors]
        with saving.drafted(path_prefix, {"forward": whole}, names, outside):
            pass  # nothing more has to hold


def whole_of(program: Program, feeds: list[Tensor], fetches: list[Tensor]) -> tuple[Whole, Outside]:
    """The calls between variables, with inputs in the order of `feeds`, and what they read from outside."""
    results = [program.ref(variable) for variable in fetches]
    places = {program.ref(variable): Ref("x", i) for i, variable in enumerate(feeds)}
    tables = {step.result: step for step in program.steps if isinstance(step, LookUp)}
    for variable in feeds:
        if program.ref(variable).kind != "x" and program.ref(variable) not in tables:
            raise InvalidArgument(
                "save_inference_model: feed_vars: expected inputs, or rows of sparse_embedding, got "
                f"{variable.name!r}"
            )
    steps = [step for step in program.steps if not (isinstance(step, LookUp) and step.result in places)]
    steps = needed(evaluated(needed(steps, results)), results)
    for step in steps:
        if isinstance(step, LookUp):
            raise InvalidArgument(
                "save_inference_model: feed_vars: expected the rows that sparse_embedding gives, as their "
                "table is in no file of a Program; fleet.save_persistables writes it"
            )
        if not isinstance(step, Call):
            raise InvalidArgument("save_inference_model: a Program with gradients cannot be saved")
    missing = {ref for step in steps for ref in read_by(step) if ref.kind == "x" and ref not in places}
    if missing:
        raise _needed_too(program, next(iter(missing)))
    outside, held = Outside(), program.recorder.outside

    def moved(axis: Axis) -> Axis:
        given = Ref("x", axis.input)
        for old, new in places.items():
            if old == given or (old in tables and tables[old].ids == given):  # rows are as many as ids
                return Axis(new.index, axis.axis)
        raise _needed_too(program, given)

    def changed(leaf: Any) -> Any:
        if isinstance(leaf, Length):
            own = tuple(map(moved, leaf.axes))
            return Length(leaf.numerator, leaf.denominator, own, leaf.plus)
        if not isinstance(leaf, Ref):
            return leaf
        if leaf.kind == "p":
            return outside.ref(held.tensors[leaf.index].data, held.tensors[leaf.index])
        if leaf.kind == "k":
            return outside.ref(held.buffers[leaf.index], None)
        return places.get(leaf, leaf)

    calls: list[Any] = [
        Call(
            **{
                **vars(step),
                **{part: mapped(getattr(step, part), changed) for part in ("args", "settings", "writes")},
            }
        )
        for step in steps
    ]
    specs = [
        program.specs[old.index] if old.kind == "x" else _spec_of(program, variable)
        for old, variable in zip(places, feeds, strict=True)
    ]
    takes = {str(spec.name): Ref("x", i) for i, spec in enumerate(specs)}
    whole = Whole(Calls(calls, [mapped(ref, changed) for ref in results]), takes, specs, [])
    return whole, outside


def _spec_of(program: Program, rows: Tensor) -> InputSpec:
    """Rows as an input: axes in which the samples of a Program differ may have any length."""
    shape = rows.data.shape
    twin = program.recorder.twins.get(id(rows.data), rows.data)
    found = [n if n == m else -1 for n, m in zip(shape, twin.shape, strict=True)]
    return InputSpec(found, "float32", rows.name)


def _needed_too(program: Program, given: Ref) -> InvalidArgument:
    return InvalidArgument(
        f"save_inference_model: feed_vars: {str(program.specs[given.index].name)!r} is needed too"
    )


def load_inference_model(path_prefix: str | None, executor: Any = None, **kwargs: Any) -> list[Any]:
    """[the Program, the names of its inputs, its outputs] of a file, for `Executor.run`."""
    if path_prefix is None:
        raise InvalidArgument("load_inference_model: path_prefix: expected a path, got None")
    with paused():
        layer: Any = saving.load(path_prefix)
        whole = layer.forward.loaded
        program = Program()
        program.specs = list(whole.specs)
        for spec in whole.specs:
            variable = program.recorder.declare(spec)
            variable.name = str(spec.name)
            program.inputs.append(variable)
            program.names[variable.name] = Ref("x", len(program.inputs) - 1)
        outside = program.recorder.outside
        for tensor in layer._outside:
            outside.ref(tensor.data, tensor)
        for buffer in layer._constants:
            outside.ref(buffer, None)
        program.recorder.program.steps = list(whole.program.steps)
        targets = []
        for i, ref in enumerate(refs(whole.program.result)):
            target = Tensor(np.zeros(0, "float32"))
            target.name = f"output_{i}"
            program.names[target.name] = ref
            program.recorder._name(target.data, ref)
            targets.append(target)
    return [program, [str(spec.name) for spec in whole.specs], targets]


def save(program: Program, model_path: str, protocol: int = 4, **configs: Any) -> None:
    """The parameters of a Program in `model_path`.pdparams."""
    with paused():
        save_state(program.state_dict(), f"{model_path}.pdparams")


def load(program: Program, model_path: str, executor: Any = None, var_list: Any = None) -> None:
    """Take the parameters of a Program from `model_path`.pdparams. InvalidArgument where there is no file."""
    path = f"{model_path}.pdparams"
    if not os.path.exists(path):
        raise InvalidArgument(f"load: model_path: no file {path}")
    with paused():
        program.set_state_dict(load_state(path))
