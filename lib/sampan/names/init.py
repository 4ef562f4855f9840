"""paddle.nn.init: initializers as functions that overwrite a tensor, as torch has them."""

from ..creation import eye
from ..engine.tensor import Tensor
from ..nn import initializer as _kinds
from ..nn.initializer import calculate_gain as calculate_gain


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> None:
    """Overwrite `tensor` with samples of `KaimingUniform`; a: negative slope of leaky_relu.
    ValueError for an unknown mode or nonlinearity."""
    _kinds.KaimingUniform(negative_slope=a, nonlinearity=nonlinearity, mode=mode)(tensor)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> None:
    """Overwrite `tensor` with samples of `KaimingNormal`; a: negative slope of leaky_relu.
    ValueError for an unknown mode or nonlinearity."""
    _kinds.KaimingNormal(negative_slope=a, nonlinearity=nonlinearity, mode=mode)(tensor)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> None:
    """Overwrite `tensor` with samples of `XavierUniform`; fan_in and fan_out default to its own."""
    _kinds.XavierUniform(gain=gain, fan_in=fan_in, fan_out=fan_out)(tensor)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, fan_in: float | None = None, fan_out: float | None = None
) -> None:
    """Overwrite `tensor` with samples of `XavierNormal`; fan_in and fan_out default to its own."""
    _kinds.XavierNormal(gain=gain, fan_in=fan_in, fan_out=fan_out)(tensor)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> None:
    """Overwrite `tensor` with uniform samples from [a, b). ValueError unless a <= b."""
    _kinds.Uniform(a, b)(tensor)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> None:
    """Overwrite `tensor` with normal samples."""
    _kinds.Normal(mean, std)(tensor)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> None:
    """Overwrite `tensor` with normal samples truncated to [a, b]. ValueError unless a < b."""
    _kinds.TruncatedNormal(mean, std, a, b)(tensor)


def constant_(tensor: Tensor, val: float) -> None:
    """Fill `tensor` with `val`."""
    _kinds.Constant(val)(tensor)


def ones_(tensor: Tensor) -> None:
    """Fill `tensor` with 1."""
    constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> None:
    """Fill `tensor` with 0."""
    constant_(tensor, 0.0)


def dirac_(tensor: Tensor, groups: int = 1) -> None:
    """Overwrite `tensor`, [out, in, *kernel] with 3 to 5 axes, with the identity kernel of `Dirac`.
    ValueError for another number of axes, or if groups does not divide out."""
    _kinds.Dirac(groups)(tensor)


def eye_(tensor: Tensor) -> None:
    """Ones on the diagonal of a matrix, zeros elsewhere. AssertionError for another number of axes."""
    if tensor.ndim != 2:
        raise AssertionError(f"eye_: expected 2 axes, got shape {[*tensor.shape]}")
    tensor.set_value(eye(*tensor.shape, dtype=tensor.dtype))


def orthogonal_(tensor: Tensor, gain: float = 1) -> None:
    """Overwrite `tensor`, of 2 or more axes, with gain times an orthogonal matrix. ValueError: fewer axes."""
    _kinds.Orthogonal(gain)(tensor)
