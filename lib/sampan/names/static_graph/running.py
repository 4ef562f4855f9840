"""Running Programs, and their gradients."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...dtype import as_dtype, name_of
from ...engine.backward import enable_grad, grad, no_grad
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...jit.evaluation import Lengths, call_on_tape
from ...jit.program import Ref
from .building import Program, default_main_program, paused
from .hints import CompiledProgram
from .steps import Derive, LookUp, Update, evaluated, needed


class Executor:
    """Runs Programs. place: ignored; a Program runs where its parameters are."""

    def __init__(self, place: Any = None) -> None:
        self.place = place

    def run(
        self,
        program: Program | CompiledProgram | None = None,
        feed: dict[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        return_numpy: bool = True,
        **settings: Any,
    ) -> list[Any]:
        """The values of `fetch_list` for what is fed; the updates of `minimize` are made.

        feed: an array or Tensor for each input that is needed, by name. fetch_list: variables or names.
        Raises InvalidArgument for an input that is missing or does not fit.
        """
        program = _program(program, "run")
        wanted = [program.ref(v) for v in ([] if fetch_list is None else list(_listed(fetch_list)))]
        with paused():
            if program.random_seed:
                torch.manual_seed(program.random_seed)
            values = self._values(program, feed or {}, wanted)
            return [values[ref].numpy() if return_numpy else values[ref].detach() for ref in wanted]

    def _values(self, program: Program, feed: dict[str, Any], wanted: list[Ref]) -> dict[Ref, Any]:
        steps = evaluated(program.steps) if program.for_test else program.steps
        steps = needed(steps, [*wanted, *(update.loss for update in program.updates)])
        values = _Values(program)
        values |= {Ref("p", i): t for i, t in enumerate(program.recorder.outside.tensors)}
        values |= {Ref("k", i): Tensor(b) for i, b in enumerate(program.recorder.outside.buffers)}
        values |= _fed(program, feed)
        derives = program.updates or any(isinstance(step, Derive) for step in steps)
        with enable_grad() if derives else no_grad():
            run(steps, values, program)
            for update in program.updates:
                _step(update, values)
        return values

    def train_from_dataset(
        self,
        program: Program | CompiledProgram | None = None,
        dataset: Any = None,
        scope: Any = None,
        thread: int = 0,
        debug: bool = False,
        fetch_list: Sequence[Any] | None = None,
        fetch_info: Sequence[str] | None = None,
        print_period: int = 100,
        fetch_handler: Any = None,
    ) -> None:
        """Run the Program for each batch of an `InMemoryDataset` or `QueueDataset`.

        fetch_list: printed every `print_period` batches, each after its text of `fetch_info` or its name.
        The batches are run one after another, whatever `thread` is. RuntimeError without a dataset.
        """
        program = _program(program, "train_from_dataset")
        if dataset is None:
            raise RuntimeError("dataset is need and should be initialized")
        wanted = list(_listed(fetch_list or []))
        texts = fetch_info or [v if isinstance(v, str) else v.name for v in wanted]
        if len(texts) != len(wanted):
            raise InvalidArgument(f"fetch_info: expected {len(wanted)} texts, got {len(texts)}")
        for number, feed in enumerate(dataset.feeds(program.specs), 1):
            shown = wanted if number % print_period == 0 else []
            values = self.run(program, feed, shown)
            if shown:
                told = map(_printed, texts, values)
                print(f"time: [{time.strftime('%F %T')}], batch: [{number}], {', '.join(told)}", flush=True)

    def infer_from_dataset(
        self,
        program: Program | CompiledProgram | None = None,
        dataset: Any = None,
        *rest: Any,
        **settings: Any,
    ) -> None:
        """`train_from_dataset` without updates, and as the Program evaluates."""
        tested = _program(program, "infer_from_dataset").clone(for_test=True)
        self.train_from_dataset(tested, dataset, *rest, **settings)

    def close(self) -> None:
        """Nothing to do."""


def _program(program: Any, called: str) -> Program:
    """The Program that is to run; by default the one that is being built."""
    if isinstance(program, CompiledProgram):
        return program.program
    program = program or default_main_program()
    if not isinstance(program, Program):
        raise InvalidType(f"{called}: program: expected a Program, got {type(program).__name__}")
    return program


def _printed(text: str, value: np.ndarray) -> str:
    """As PaddlePaddle's data sets print a fetched variable: how many values, and these."""
    return f"{text}[{value.size}]:[{' '.join(f'{one:g}' for one in value.ravel().tolist())}]"


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _fed(program: Program, feed: dict[str, Any]) -> dict[Ref, Tensor]:
    """The Tensors of the inputs."""
    if unknown := set(feed) - {spec.name for spec in program.specs}:
        raise InvalidArgument(
            f"run: feed: no input {sorted(unknown)[0]!r}; there are {[s.name for s in program.specs]}"
        )
    found: dict[Ref, Tensor] = {}
    for i, spec in enumerate(program.specs):
        if spec.name not in feed:
            continue
        value = feed[spec.name]
        tensor = value if isinstance(value, Tensor) else Tensor(torch.from_numpy(np.array(value)))
        shape, kind = tuple(tensor.data.shape), as_dtype(spec.dtype)
        if len(shape) != len(spec.shape) or any(
            w not in (-1, n) for w, n in zip(spec.shape, shape, strict=True)
        ):
            raise InvalidArgument(
                f"run: feed: {spec.name}: expected shape {list(spec.shape)}, got {list(shape)}"
            )
        if tensor.data.dtype is not kind:
            raise InvalidArgument(
                f"run: feed: {spec.name}: expected {name_of(kind)}, got {name_of(tensor.data.dtype)}"
            )
        found[Ref("x", i)] = Tensor(tensor.data, stop_gradient=program.inputs[i].stop_gradient)
    return found


class _Values(dict[Ref, Any]):
    """The Tensors of a run. InvalidArgument for an input that was not fed."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._specs = program.specs

    def __missing__(self, ref: Ref) -> Any:
        name = self._specs[ref.index].name if ref.kind == "x" else repr(ref)
        raise InvalidArgument(f"run: feed: missing the input {name!r}")


def run(steps: Sequence[Any], values: dict[Ref, Any], program: Program) -> None:
    """The calls on Tensors, operators through `apply`."""
    sizes = Lengths([values.get(Ref("x", i), sample).data for i, sample in enumerate(program.inputs)])
    for step in steps:
        if isinstance(step, Derive):
            given_by = [None if g is None else values[g] for g in step.given]
            sources = [values[ref] for ref in step.sources]
            found = grad(
                [values[t] for t in step.targets], sources, given_by, retain_graph=True, allow_unused=True
            )
            for ref, source, gradient in zip(step.result, sources, found, strict=True):
                values[ref] = Tensor(torch.zeros_like(source.data)) if gradient is None else gradient
            continue
        if isinstance(step, LookUp):
            step.layer.training = step.train
            values[step.result] = step.layer(values[step.ids])
            continue
        call_on_tape(step, values, sizes)


def _step(update: Update, values: dict[Ref, Any]) -> None:
    """One step of an optimizer."""
    optimizer = update.optimizer
    if not optimizer._parameter_list:
        optimizer._add_group({"params": update.parameters}, *optimizer._later)
    values[update.loss].backward(retain_graph=True)
    optimizer.step()
    optimizer.clear_grad()


def gradients(
    targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None
) -> list[Tensor]:
    """Variables for the gradients of the sum of `targets` by `inputs`, one each."""
    program = default_main_program()
    outputs, sources = _listed(targets), _listed(inputs)
    given = [None] * len(outputs) if target_gradients is None else _listed(target_gradients)
    made: list[Tensor] = []
    results: list[Ref] = []
    for source in sources:
        sample, ref = program.recorder.fresh(source.detach())
        sample.name = f"{source.name}@GRAD"
        program.names[sample.name] = ref
        made.append(sample)
        results.append(ref)
    refs_given = [None if g is None else program.ref(g) for g in given]
    step = Derive([program.ref(t) for t in outputs], [program.ref(s) for s in sources], refs_given, results)
    program.steps.append(step)
    return made


def append_backward(
    loss: Tensor, parameter_list: Any = None, no_grad_set: Any = None, callbacks: Any = None, **settings: Any
) -> list[tuple[Tensor, Tensor]]:
    """(parameter, variable of its gradient) for the parameters of the Program that want one."""
    program = default_main_program()
    chosen = parameter_list or [t for t in program.all_parameters() if not t.stop_gradient]
    chosen = [program.var(p) if isinstance(p, str) else p for p in chosen]
    return list(zip(chosen, gradients([loss], chosen), strict=True))


def minimize(optimizer: Any, loss: Tensor, parameters: Any) -> tuple[list[Any], list[Any]]:
    """What `Optimizer.minimize` does in static mode: each run of the Program makes a step."""
    program = default_main_program()
    chosen = list(parameters or [t for t in program.all_parameters() if not t.stop_gradient])
    program.updates.append(Update(optimizer, program.ref(loss), chosen))
    return [], [(p, None) for p in chosen]
