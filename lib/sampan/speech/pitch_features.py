"""Features of pitch for recognition: voicing, normalized log pitch and its change, by Kaldi's definition.

Source: P. Ghahremani et al., 2014, sections 3 and 4; Kaldi, feat/pitch-functions.cc.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..kernels import speech as kernels
from .deltas import delta_weights
from .waveform import whole

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PitchFeatureOptions:
    """Settings of `pitch_features`, with Kaldi's defaults.

    pitch_scale: of the normalized log pitch. pov_scale, pov_offset: of the voicing. delta_pitch_scale: of the
    change. left_context, right_context: frames on each side whose mean is subtracted. delta_window: frames on
    each side of a change. raw_log_pitch: the logarithm of the pitch as one more column. Kaldi adds noise to
    the change; this does not.
    """

    pitch_scale: float = 2.0
    pov_scale: float = 2.0
    pov_offset: float = 0.0
    delta_pitch_scale: float = 10.0
    left_context: int = 75
    right_context: int = 75
    delta_window: int = 2
    raw_log_pitch: bool = False

    def __post_init__(self) -> None:
        for name in ("left_context", "right_context"):
            whole(name, getattr(self, name), 0)
        whole("delta_window", self.delta_window)


def _options(settings: dict[str, Any]) -> PitchFeatureOptions:
    known = [field.name for field in fields(PitchFeatureOptions)]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InvalidType(f"{unknown[0]}: unknown; expected one of {', '.join(known)}")
    return PitchFeatureOptions(**settings)


def voicing_probability(nccf: Array) -> Array:
    """The probability of voicing of an NCCF (section 3.1), float64 of any shape."""
    n = np.minimum(abs(np.asarray(nccf, np.float64)), 1.0)
    r = -5.2 + 5.4 * np.exp(7.5 * (n - 1)) + 4.8 * n - 2.0 * np.exp(-10.0 * n) + 4.2 * np.exp(20.0 * (n - 1))
    found: Array = 1.0 / (1.0 + np.exp(-r))
    return found


def _computed(given: Array, options: PitchFeatureOptions) -> Array:
    """float32 [frames, columns] of float64 [frames, 2]."""
    nccf, logs = given[:, 0], np.log(given[:, 1])
    voiced = (1.0001 - np.clip(nccf, -1.0, 1.0)) ** 0.15 - 1.0
    means = kernels.weighted_means(
        logs, voicing_probability(nccf), options.left_context, options.right_context
    )
    reach, change = options.delta_window, np.zeros(len(logs))
    padded = np.pad(logs, reach, "edge") if len(logs) else logs
    for offset, weight in enumerate(delta_weights(1, reach)[1]):
        change += weight * padded[offset : offset + len(logs)]
    columns = [
        options.pov_scale * voiced + options.pov_offset,
        options.pitch_scale * (logs - means),
        options.delta_pitch_scale * change,
    ]
    return np.stack([*columns, logs] if options.raw_log_pitch else columns, 1).astype(np.float32)


def _frames(found: Any) -> Array:
    array = np.asarray(found.data.detach().cpu() if isinstance(found, Tensor) else found, np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidArgument(f"found: expected [frames, 2], got the shape {[*array.shape]}")
    if not (np.isfinite(array).all() and (array[:, 1] > 0).all()):
        raise InvalidArgument("found: expected finite NCCF and pitch above 0 Hz")
    return array


def pitch_features(found: Any, **options: Any) -> Tensor:
    """Features float32 [frames, 3] of the result of `pitch` [frames, 2]: voicing (the smaller, the more
    voiced), log pitch less its mean around the frame weighted by voicing, and the change of log pitch.

    options: see `PitchFeatureOptions`. Raises ValueError for another shape and for pitch that is not
    positive. Source: Kaldi's process-kaldi-pitch-feats.
    """
    given = _options(options)
    return Tensor(torch.from_numpy(_computed(_frames(found), given)))


class StreamingPitchFeatures:
    """`pitch_features` of decided frames that arrive in pieces, as `StreamingPitch` returns them: the same
    numbers, to the last bit. A frame comes out when its right context is known."""

    def __init__(self, **options: Any) -> None:
        self.options = _options(options)
        self.reset()

    def reset(self) -> None:
        """Forget the signal."""
        self._held = np.empty((0, 2))
        self._skip = 0  # held frames that have been returned

    def feed(self, found: Any) -> Array:
        """float32 [new frames, columns] after more frames [any number, 2]."""
        self._held = np.concatenate([self._held, _frames(found)])
        options = self.options
        ready = len(self._held) - max(options.right_context, options.delta_window)
        return self._take(max(ready, self._skip))

    def finish(self) -> Array:
        """The frames that are left when the signal ends."""
        made = self._take(len(self._held))
        self.reset()
        return made

    def _take(self, end: int) -> Array:
        made = _computed(self._held, self.options)[self._skip : end]
        kept = max(0, end - max(self.options.left_context, self.options.delta_window))
        self._held, self._skip = self._held[kept:].copy(), end - kept
        return made
