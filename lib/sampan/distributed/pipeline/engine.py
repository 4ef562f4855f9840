"""Running the passes of one process: forward and backward passes of its stages, in the order of a schedule.

torch.distributed.pipelining has schedules too, which call torch's autograd and torch's messages. Here a
backward pass is a walk of the library's tape, so that hooks of parameters and gradients of rows work as in
one process, messages have any shape, and every process learns of an error in one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...amp import casting
from ...engine.backward import backward, is_grad_enabled
from ...engine.tensor import Tensor
from ..agreement import CommunicationError
from ..data_parallel import mapped
from ..group import Group
from .mailbox import mailbox_of
from .recompute import tensors_in
from .schedule import Action, Timed

__all__ = ["Engine", "Work"]

PASSES = {"F": "forward", "B": "backward"}


class Work(NamedTuple):
    """What a process computes in a step.

    inputs: those of the first stage for a micro-batch. forward: a stage's outputs of its inputs and its
    number. loss: of the last stage's outputs and a micro-batch; its backward pass begins at the Tensor that
    is returned, or at none for None. scaled: that Tensor times a factor. answer: called in the process of
    the last stage, what the step gives in all processes. observe: called with "forward" or "backward",
    "begin" or "end", the micro-batch, and tensors.
    """

    inputs: Callable[[int], Any]
    forward: Callable[[Any, int], Any]
    loss: Callable[[Any, int], Tensor | None]
    answer: Callable[[], Any]
    scaled: Callable[[Tensor], Tensor] = lambda loss: loss
    observe: Callable[..., None] = lambda *told, **tensors: None


class Engine:
    """The passes of this process: stage q belongs to member q mod n of a group.

    stages: how many there are in all. timed: when the passes of the last step ran, in seconds of the clock
    that all processes of a machine share.
    """

    def __init__(self, group: Group, stages: int) -> None:
        self.group, self.stages = group, stages
        self.mailbox = mailbox_of(group)
        self.timed: list[Timed] = []
        self._kept: dict[tuple[int, int], tuple[list[Tensor], list[Tensor]]] = {}
        self._local: dict[tuple[str, int, int], Any] = {}
        self._doing = self.failure = ""  # what is done; why the last step with an error failed

    def run(self, actions: Sequence[Action], work: Work) -> Any:
        """Run passes. Returns `work.answer()` of the last process, in every process, when all have finished
        theirs.

        Raises the error of this process; CommunicationError where another one failed, with its text.
        """
        self.mailbox.begin()
        self.timed, self._doing = [], "the end of the step"
        try:
            for action in actions:
                (self._forward if action.kind == "F" else self._backward)(action, work)
            answer = self._meet(work)
            self.mailbox.finish()
        except CommunicationError as error:
            if (text := self.mailbox.reason()) is None or text == error.args[0]:
                self._fail(error)
                raise
            told = CommunicationError(text)
            self._fail(told)
            raise told from error
        except Exception as error:
            self._fail(error)
            raise
        finally:
            self._kept.clear()
            self._local.clear()
        return answer

    def _fail(self, error: Exception) -> None:
        """Let the other processes fail too, with what another one told where that is the reason."""
        if isinstance(error, CommunicationError) and error.args[0].startswith("pipeline: "):
            self.failure = error.args[0]
            self.mailbox.fail(self.failure)
            return
        rank = self.group.ranks[self.group.rank]
        text = f"rank {rank} failed in {self._doing}: {type(error).__name__}: {error}"
        self.failure = f"pipeline: {text}"
        self.mailbox.fail(self.failure)
        error.add_note(f"({self.failure})")

    def _meet(self, work: Work) -> Any:
        """Wait until every process has finished its passes: then none of them goes on where one failed."""
        group, box, last = self.group, self.mailbox, self.group.nranks - 1
        if group.rank != last:
            box.send(last, ("ended", 0, 0), None)
            return box.receive(last, ("answer", 0, 0))
        answer = work.answer()
        for peer in range(last):
            box.receive(peer, ("ended", 0, 0))
        for peer in range(last):
            box.send(peer, ("answer", 0, 0), answer)
        return answer

    def _owner(self, stage: int) -> int:
        return stage % self.group.nranks

    def _send(self, kind: str, stage: int, micro: int, value: Any) -> None:
        """Send a value that a pass of a stage needs."""
        if self._owner(stage) == self.group.rank:
            self._local[kind, stage, micro] = value
        else:
            self.mailbox.send(self._owner(stage), (kind, stage, micro), value)

    def _receive(self, kind: str, stage: int, micro: int, sender: int) -> Any:
        if self._owner(sender) == self.group.rank:
            return self._local.pop((kind, stage, micro))
        return self.mailbox.receive(self._owner(sender), (kind, stage, micro))

    def _forward(self, action: Action, work: Work) -> None:
        _, stage, micro = action
        self._told(action)
        inputs = work.inputs(micro) if stage == 0 else self._receive("F", stage, micro, stage - 1)
        start, cpu = time.perf_counter(), time.thread_time()
        work.observe("forward", "begin", micro, input_tensor=inputs)
        # Before the pass: the stage may write into a list or a dictionary.
        received = [] if stage == 0 else [t for t in tensors_in(inputs) if not t.stop_gradient]
        outputs = work.forward(inputs, stage)
        work.observe("forward", "end", micro, input_tensor=inputs, output_tensor=outputs)
        last = stage == self.stages - 1
        if last:
            outputs = work.loss(outputs, micro)
        if is_grad_enabled():
            self._kept[stage, micro] = received, [t for t in tensors_in(outputs) if not t.stop_gradient]
        self.timed.append(Timed(*action, start, time.perf_counter(), time.thread_time() - cpu))
        if not last:
            local = self._owner(stage + 1) == self.group.rank
            self._send("F", stage + 1, micro, _leaves(outputs) if local else outputs)

    def _backward(self, action: Action, work: Work) -> None:
        _, stage, micro = action
        self._told(action)
        received, outputs = self._kept.pop((stage, micro))
        last = stage == self.stages - 1
        gradients: Any = None if last else self._receive("B", stage, micro, stage + 1)
        if not last and self._owner(stage + 1) != self.group.rank:
            self.mailbox.received(self._owner(stage + 1), ("F", stage + 1, micro))
        start, cpu = time.perf_counter(), time.thread_time()
        work.observe("backward", "begin", micro, output_tensor=outputs, output_tensor_grad=gradients)
        with casting.auto_cast(enable=False, dtype=casting.last_dtype):
            if last:
                backward([work.scaled(loss) for loss in outputs])
            else:
                pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if g is not None]
                if pairs:
                    backward([o for o, _ in pairs], [g for _, g in pairs])
        sent = [_dense(tensor.grad) for tensor in received]
        work.observe("backward", "end", micro, input_tensor_grad=sent, output_tensor_grad=gradients)
        self.timed.append(Timed(*action, start, time.perf_counter(), time.thread_time() - cpu))
        if stage > 0:
            self._send("B", stage - 1, micro, sent)

    def _told(self, action: Action) -> None:
        """Note what is done, for errors."""
        self._doing = (
            f"the {PASSES[action.kind]} pass of micro-batch {action.micro} through stage {action.stage}"
        )


def _leaves(value: Any) -> Any:
    """The value with Tensors on which the tape begins anew, as when they are received."""
    return mapped(lambda tensor: Tensor(tensor.data, stop_gradient=tensor.stop_gradient), value)


def _dense(gradient: Tensor | None) -> Tensor | None:
    """A gradient as it is sent: one of rows is filled up with zeros."""
    return None if gradient is None else Tensor(gradient.data)
