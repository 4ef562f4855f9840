"""A training run that goes on after its processes were killed, and with another number of them."""

import io
import math
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ... import random, session
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ..environment import ParallelEnv, is_initialized
from ..objects import all_gather_object, recv_object_list, send_object_list
from .found import ALL, Places, Restart, of_rank
from .kept import Background, Copies, machine, memory_folder
from .report import Reporter
from .samples import Samples


class Step:
    """One step of a run. number: 0, 1, 2, ... samples: those of this process, int64 [n], n may be 0.

    world: how many processes share the step. batch: how many samples they have together.
    """

    def __init__(self, number: int, samples: np.ndarray, batch: int, rank: int, world: int) -> None:
        self.number, self.samples, self.batch, self.rank, self.world = number, samples, batch, rank, world
        self.loss = math.nan  # that `share` was given

    def share(self, loss: Tensor) -> Tensor:
        """This process's part of the loss, from the mean over its own samples: loss * n * world / batch.

        The mean over the processes, which `DataParallel` takes of the gradients, is then the mean over all
        samples of the step, also where the parts are not equally large. Raises FloatingPointError, which
        names process, step and samples, for a loss that is not a finite number.
        """
        if not bool(torch.isfinite(loss.data).all()):
            shown = ", ".join(map(str, self.samples[:8].tolist())) + (
                ", ..." if self.samples.size > 8 else ""
            )
            raise FloatingPointError(
                f"step {self.number}: the loss of rank {self.rank} is {loss.tolist()}, of the samples {shown}"
            )
        self.loss = float(loss.data.mean())
        return loss * (self.samples.size * self.world / self.batch)


class Run:
    """Steps of a training program, whose state is kept while it runs and found again when it is started anew.

    model, optimizer: what is trained; further objects with `state_dict` and `set_state_dict` in `more`, by
    name. Their states must be the same in all processes, as those of `DataParallel` are; but for the names
    in `own`, such as ["optimizer"] where its state is divided among the processes: each process keeps its
    own, in its machine's memory and in that of the next process on another machine, so that the loss of one
    machine loses nothing. Such a run goes on with the same number of processes only. samples: see
    `Samples`. folder: of the copies on the disk; None keeps none. every: a copy in memory after so many
    steps. to_disk: one of so many copies is written to the disk too, by a thread. job: the name of the folder
    in memory; that of the launcher if there is one.

    At most `every` steps are lost when processes are killed. With the same number of processes the steps
    after a restart are those of a run that nothing disturbed, bit for bit; the random numbers are too. With
    another number the sums of gradients have another order. Generators of the program's own are in `more`, or
    begin anew. reporter: gets the number and the loss of each step.

        run = Run(model, optimizer, Samples(len(images), batch=64), folder="run")
        for step in run.steps(1000):
            loss = cross_entropy(model(images[step.samples]), labels[step.samples])
            step.share(loss).backward()
            optimizer.step()
            optimizer.clear_grad()

    A copy that cannot be written, such as for a full disk, is left out with a warning that names the folder;
    the ones before it stay. Raises ValueError where a copy was made with other samples, or the state of
    processes' own by another number of them; RuntimeError where such state is lost. restored: the step from
    which the run went on, 0 for a new one.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        samples: Samples,
        folder: str | os.PathLike[str] | None = None,
        every: int = 20,
        to_disk: int = 5,
        job: str | None = None,
        more: Mapping[str, Any] | None = None,
        reporter: Reporter | None = None,
        own: Sequence[str] = (),
    ) -> None:
        if not isinstance(samples, Samples):
            raise InvalidType(f"samples: expected Samples, got {type(samples).__name__}")
        for name, value in {"every": every, "to_disk": to_disk}.items():
            if type(value) is not int or value < 1:
                raise InvalidArgument(f"{name}: expected a whole number of at least 1, got {value!r}")
        self.parts = {"model": model, "optimizer": optimizer, **(more or {})}
        for name, part in self.parts.items():
            if not (hasattr(part, "state_dict") and hasattr(part, "set_state_dict")):
                raise InvalidType(
                    f"{name}: expected state_dict and set_state_dict, got {type(part).__name__}"
                )
        if unknown := [name for name in own if name not in self.parts]:
            raise InvalidArgument(f"own: expected names among {', '.join(self.parts)}, got {unknown[0]!r}")
        self.own = [*own]
        self.samples, self.every, self.to_disk, self.reporter = samples, every, to_disk, reporter
        env = ParallelEnv()
        self.rank, self.world = (env.rank, env.world_size) if is_initialized() else (0, 1)
        local = int(os.environ.get("LOCAL_RANK", os.environ.get("PADDLE_LOCAL_RANK", self.rank)))
        self.writes = local == 0  # one process of each machine keeps a copy in its memory
        name = job or os.environ.get("TORCHELASTIC_RUN_ID") or f"alone-{os.path.abspath(folder or '.')}"
        self.places = Places(memory_folder(name), None if folder is None else Path(folder))
        self.memory = Copies(self.places.memory)
        self.background = Background()
        self.keepers = self._keepers() if self.own else []
        self.restored = self._restore()

    def steps(self, until: int) -> Iterator[Step]:
        """The steps from where the run is, up to `until` without it. A state is kept after every few of them,
        and at the end; then the copies in memory are removed."""
        for number in range(self.restored, until):
            begun = time.perf_counter()
            part = self.samples.part(number, self.rank, self.world)
            step = Step(number, part, self.samples.of_step(number).size, self.rank, self.world)
            yield step
            if self.reporter is not None:
                self.reporter.step(number, step.loss)
            if self.rank == 0:
                session.progress(number + 1, until, seconds=time.perf_counter() - begun)
            if (number + 1) % self.every == 0 and number + 1 < until:
                self._keep(number + 1, disk=(number + 1) // self.every % self.to_disk == 0)
        self._keep(until, disk=True)
        self.background.wait()
        if self.writes:
            self.memory.remove()

    # --- keeping ---

    def _keep(self, step: int, disk: bool) -> None:
        """A copy in the memory of each machine, and by rank 0 on the disk. All processes call it: each has
        its own random numbers, and perhaps other state."""
        disk = disk and self.places.disk is not None
        failure = self._keep_own(step, disk) if self.own else ""
        told: list[Any] = [(_plain(_streams()), failure)]
        if self.world > 1:
            told.clear()
            all_gather_object(told, (_plain(_streams()), failure))
        failures = [f"rank {rank}: {text}" for rank, (_, text) in enumerate(told) if text]
        if failures:
            _warn(f"the state of step {step} is not kept: {'; '.join(failures)}")
            return
        # In all processes: the state of an optimizer that is divided is collected.
        parts = {name: part.state_dict() for name, part in self.parts.items() if name not in self.own}
        if not self.writes:
            return
        streams = _tensors([streams for streams, _ in told])
        state = {"step": step, "samples": self.samples.form(), "streams": streams, "parts": parts}
        to_disk = disk and self.rank == 0
        try:
            self.memory.write(step, state)
        except OSError as error:
            _warn(f"the state of step {step} is not kept in memory, the copies before it stay: {error}")
            if to_disk:
                self._write(self.places.copies(ALL)[1], step, state)
        else:
            if to_disk:
                self._to_disk(ALL, step)

    def _write(self, copies: Copies, step: int, state: dict[str, Any]) -> None:
        try:
            copies.write(step, state)
        except OSError as error:
            _warn(f"the state of step {step} is not kept on the disk, the copies before it stay: {error}")

    def _to_disk(self, name: str, step: int) -> None:
        """Copy from memory to the disk, in the background."""
        memory, target = self.places.copies(name)
        copy = open(memory.path(step), "rb")  # noqa: SIM115 - now: it may be forgotten before it is read
        self.background.start(lambda: target.take(copy, step))

    def _keepers(self) -> list[int]:
        """Of each rank the process that keeps a copy of its state: the next one on another machine, or the
        rank itself where there is one machine."""
        machines: list[Any] = []
        if self.world == 1:
            return [0]
        all_gather_object(machines, machine())
        ahead = [[(rank + far) % self.world for far in range(1, self.world)] for rank in range(self.world)]
        return [
            next((other for other in ahead[rank] if machines[other] != machines[rank]), rank)
            for rank in range(self.world)
        ]

    def _keep_own(self, step: int, disk: bool) -> str:
        """Keep this process's own state here and at its keeper, and that of the processes that it keeps;
        returns what failed."""
        failure, name = "", of_rank(self.rank, self.world)
        try:
            state = {part: self.parts[part].state_dict() for part in self.own}
            self.places.copies(name)[0].write(step, state)
            if disk:
                self._to_disk(name, step)
        except OSError as error:
            failure = str(error)
        for rank, keeper in enumerate(self.keepers):
            if rank == keeper:
                continue
            if self.rank == rank:
                path = self.places.copies(name)[0].path(step)
                send_object_list([None if failure else path.read_bytes()], keeper)
            elif self.rank == keeper:
                content: list[Any] = [None]
                recv_object_list(content, rank)
                try:
                    if content[0] is not None:
                        its = self.places.copies(of_rank(rank, self.world))[0]
                        its.take(io.BytesIO(content[0]), step)
                except OSError as error:
                    failure = failure or str(error)
        return failure

    # --- restoring ---

    def _restore(self) -> int:
        """Take the newest state that the processes find, in their machines' memory or on the disk; returns
        its step."""
        found = Restart(self.places, bool(self.own), self.rank, self.world)
        if found.step == 0:
            return 0
        state = found.states[ALL]
        if state["samples"] != self.samples.form():
            raise InvalidArgument(
                f"samples: expected those of the run that is continued, {state['samples']}, "
                f"got {self.samples.form()}"
            )
        parts = state["parts"]
        if self.own:
            parts = parts | found.states[of_rank(self.rank, self.world)]
        for name, part in self.parts.items():
            part.set_state_dict(parts[name])
        self._restore_streams(state["streams"])
        if found.moved:  # a machine is new: it may be needed before the next copy
            self._keep(found.step, disk=False)
        return found.step

    def _restore_streams(self, streams: list[dict[str, Any]]) -> None:
        """The random numbers of this rank go on; a process that is new begins its own."""
        if self.rank < len(streams):
            found = streams[self.rank]
            random.set_rng_state([state.data for state in found["generators"]])
            words = found["words"].numpy().astype(np.uint32)
            np.random.set_state(("MT19937", words, *found["place"]))
        else:
            random.seed(int(np.random.default_rng([self.rank, self.world]).integers(2**31)))


def _warn(text: str) -> None:
    warnings.warn(f"elastic: {text}", RuntimeWarning, stacklevel=4)


def _streams() -> dict[str, Any]:
    """The state of this process's random numbers: those of `sampan.random`, and NumPy's that samplers use."""
    _, words, *place = np.random.get_state(legacy=True)
    assert isinstance(words, np.ndarray)  # the second of five entries: 624 words of 32 bits
    generators = [Tensor(state.cpu()) for state in random.get_rng_state()]
    return {
        "generators": generators,
        "words": Tensor(torch.from_numpy(words.astype(np.int64))),
        "place": place,
    }


def _plain(value: Any) -> Any:
    """Arrays in place of Tensors, to send."""
    if isinstance(value, Tensor):
        return ("tensor", value.data.cpu().numpy())
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _tensors(value: Any) -> Any:
    """`_plain` undone."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "tensor":
        return Tensor(torch.from_numpy(value[1]))
    if isinstance(value, dict):
        return {key: _tensors(part) for key, part in value.items()}
    return [_tensors(part) for part in value] if isinstance(value, list) else value
