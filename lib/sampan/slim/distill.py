"""Distillation: a small network learns from a large one, by layers.

Sources: Hinton et al., Distilling the Knowledge in a Neural Network, 2015 (soft labels); Romero et al.,
FitNets, 2015 (features); Yim et al., A Gift from Knowledge Distillation, 2017 (flow of the solution
procedure); Zhao et al., Decoupled Knowledge Distillation, 2022; Zhang et al., Deep Mutual Learning, 2018.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from .. import nn, ops
from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..nn.layer import Layer

__all__ = ["DML", "Distillation", "distil", "dkd", "fsp", "l2", "soft_label"]


def soft_label(
    student: Any, teacher: Any, student_temperature: float = 1.0, teacher_temperature: float = 1.0
) -> Tensor:
    """The cross entropy of the softmax of logits / temperature [batch, classes], the teacher's as labels."""
    _same_shape("soft_label", student, teacher)
    labels = F.softmax(teacher.detach() / teacher_temperature)
    return -(labels * F.log_softmax(student / student_temperature)).sum(-1).mean()


def tempered(student: Any, teacher: Any, T: float) -> Tensor:
    """T^2 times `soft_label` at one temperature: without the factor the gradient shrinks as 1 / T^2. It is
    T (p - q) / batch for the softmax p of the student's logits / T and q of the teacher's."""
    made: Tensor = soft_label(student, teacher, T, T) * T**2
    return made


def l2(student: Any, teacher: Any) -> Tensor:
    """The mean square of the difference of two values of one shape."""
    _same_shape("l2", student, teacher)
    made: Tensor = (student - teacher.detach()).square().mean()
    return made


def fsp(student1: Any, student2: Any, teacher1: Any, teacher2: Any) -> Tensor:
    """The mean square of the difference of two flow matrices, each the mean over the pixels of the products
    of the channels of two values [batch, channels, H, W] of one size."""
    return l2(_flow(student1, student2), _flow(teacher1, teacher2))


def _flow(one: Any, other: Any) -> Any:
    if one.ndim < 3 or one.shape[2:] != other.shape[2:]:
        raise InvalidArgument(
            f"fsp: expected two values of one size, got {[*one.shape]} and {[*other.shape]}"
        )
    return one.flatten(2).matmul(other.flatten(2).transpose([0, 2, 1])) / one.flatten(2).shape[2]


def dkd(
    student: Any, teacher: Any, label: Any, alpha: float = 1.0, beta: float = 8.0, temperature: float = 4.0
) -> Tensor:
    """alpha times the divergence of (label, not label) and beta times that among the other classes, times
    temperature^2. Logits [batch, classes], label [batch]."""
    _same_shape("dkd", student, teacher)
    mask = F.one_hot(label.flatten(), student.shape[-1]).astype(student.dtype)
    parts = []
    for logits in (student / temperature, teacher.detach() / temperature):
        target = (F.softmax(logits) * mask).sum(-1, keepdim=True).clip(1e-7, 1 - 1e-7)
        parts.append((ops.concat([target, 1 - target], -1), F.log_softmax(logits - 1000 * mask)))
    (own, others), (wanted, wanted_others) = parts
    target_loss = (wanted * (wanted.log() - own.log())).sum(-1).mean()
    rest = (wanted_others.exp() * (wanted_others - others) * (1 - mask)).sum(-1).mean()
    made: Tensor = (alpha * target_loss + beta * rest) * temperature**2
    return made


def _same_shape(name: str, student: Any, teacher: Any) -> None:
    if student.shape != teacher.shape:
        raise InvalidArgument(
            f"{name}: expected values of one shape, got the student's {[*student.shape]} and the teacher's "
            f"{[*teacher.shape]}"
        )


class _Seen:
    """Keeps the outputs of some layers of a network, by name, during a call."""

    def __init__(self, model: Layer, names: Sequence[str], whose: str) -> None:
        layers, self.outputs = dict(model.named_sublayers()), dict[str, Any]()
        for name in names:
            if name not in layers:
                near = difflib.get_close_matches(name, layers, 3, 0.0)
                raise InvalidArgument(
                    f"features: the {whose} has no layer {name!r}; near it: {', '.join(near)}"
                )
            layers[name].register_forward_post_hook(
                lambda layer, inputs, output, name=name: self.outputs.__setitem__(name, output)
            )


class Distillation(Layer):
    """The loss of a student beside its teacher: call it with a batch, and with labels where there are any.

    See `distil`. projections: the layers that bring features of another width to the teacher's; their
    parameters are trained with the student's (`parameters()` has both).
    """

    def __init__(
        self, student: Layer, teacher: Layer, T: float, weight: float, features: Mapping[str, str], loss: str
    ) -> None:
        super().__init__()
        if loss not in ("soft_label", "dkd"):
            raise InvalidArgument(f"loss: expected 'soft_label' or 'dkd', got {loss!r}")
        if not T > 0 or not 0 <= weight <= 1:
            raise InvalidArgument(f"T, weight: expected T > 0 and 0 <= weight <= 1, got {T} and {weight}")
        teacher.eval()
        self.student, self.T, self.weight, self.loss, self.features = student, T, weight, loss, dict(features)
        self._teacher = [teacher]  # in a list, so that it is not a sublayer and is not trained
        self._of_student = _Seen(student, list(features), "student")
        self._of_teacher = _Seen(teacher, list(features.values()), "teacher")
        self.projections = nn.LayerList([])
        self._places: dict[str, int] = {}

    def forward(self, x: Any, label: Any = None) -> Tensor:
        """weight * distillation + (1 - weight) * cross entropy with label [batch]; the mean square of the
        difference of the features is added."""
        with no_grad():
            wanted = self._teacher[0](x)
        logits = self.student(x)
        _same_shape("distil", logits, wanted)
        if self.loss == "dkd":
            if label is None:
                raise InvalidArgument("label: expected labels for dkd, got None")
            total = dkd(logits, wanted, label, temperature=self.T)
        else:
            total = tempered(logits, wanted, self.T)
        if label is not None:
            total = self.weight * total + (1 - self.weight) * F.cross_entropy(logits, label)
        for name, other in self.features.items():
            total = total + l2(
                *self._matched(name, self._of_student.outputs[name], self._of_teacher.outputs[other])
            )
        return total

    def _matched(self, name: str, student: Any, teacher: Any) -> tuple[Any, Any]:
        """Both features with the teacher's width."""
        axis = 1 if student.ndim == 4 else -1
        if student.shape[axis] != teacher.shape[axis]:
            if name not in self._places:
                wide = student.shape[axis], teacher.shape[axis]
                self._places[name] = len(self.projections)
                self.projections.append(nn.Conv2D(*wide, 1) if student.ndim == 4 else nn.Linear(*wide))
            student = self.projections[self._places[name]](student)
        return student, teacher


def distil(
    student: Layer,
    teacher: Layer,
    T: float = 4.0,
    weight: float = 0.9,
    features: Mapping[str, str] | None = None,
    loss: str = "soft_label",
) -> Distillation:
    """The loss with which a student learns from a teacher.

    T: the temperature of the soft labels. weight: of the teacher's labels, the rest is that of the true ones.
    features: {layer of the student: layer of the teacher} whose outputs are to be alike. With another width a
    projection is learned, which is made in the first call: call it once before the optimizer is made.
    loss: "soft_label" or "dkd".

    >>> learn = sampan.slim.distil(student, teacher, T=4)
    >>> loss = learn(images, labels)
    """
    return Distillation(student, teacher, T, weight, features or {}, loss)


class DML(Layer):
    """Networks that learn from one another: each one's loss is its cross entropy and the mean divergence of
    the others' predictions from its own. Returns the losses in the order of the networks."""

    def __init__(self, models: Sequence[Layer]) -> None:
        super().__init__()
        if len(models) < 2:
            raise InvalidArgument(f"models: expected two networks or more, got {len(models)}")
        self.models = nn.LayerList(list(models))

    def forward(self, x: Any, label: Any) -> list[Tensor]:
        """x: a batch; label: [batch]."""
        logits = [model(x) for model in self.models]
        losses = []
        for place, own in enumerate(logits):
            total: Any = F.cross_entropy(own, label)
            for other in logits[:place] + logits[place + 1 :]:
                wanted = F.log_softmax(other.detach())
                total = total + (wanted.exp() * (wanted - F.log_softmax(own))).sum(-1).mean() / (
                    len(logits) - 1
                )
            losses.append(total)
        return losses
