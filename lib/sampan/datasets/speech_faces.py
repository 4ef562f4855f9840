"""Talking faces that this program draws from recordings. They are rendered, not filmed: how well a network
reads them says nothing about lip reading of people.

The mouth follows the sound: it opens with the energy of a frame and with its first formant, is wide or round
by the second, and shows the teeth in hissing sounds. Size, place, contrast, noise and what covers the mouth
vary.
"""

from typing import Any, NamedTuple

import numpy as np

from ..engine.errors import InvalidArgument
from ..speech.inputs import FbankInput
from ..speech.kaldi import mel

__all__ = ["Face", "MouthShape", "mouth_shapes", "render_face"]

Array = np.ndarray[Any, Any]
FRAME_RATE, BINS = 25, 40


class MouthShape(NamedTuple):
    """float32 [time] each, 0 to 1, 25 in a second. opening: of the lips. width: 0 round, 1 wide. teeth: how
    far they show."""

    opening: Array
    width: Array
    teeth: Array


class Face(NamedTuple):
    """How a face is drawn. scale: its height as a part of the picture. x, y: of its centre, in parts of the
    picture. skin, lips: grey, 0 to 1. noise: deviation of the camera's noise. cover: the part of the mouth's
    width that a hand hides, from the left."""

    scale: float = 0.9
    x: float = 0.5
    y: float = 0.5
    skin: float = 0.7
    lips: float = 0.45
    noise: float = 0.03
    cover: float = 0.0

    @classmethod
    def random(cls, rng: np.random.Generator) -> "Face":
        """Sizes from 0.7 to 1, any skin, noise of up to 0.1; one face in five has a hand over a part of the
        mouth."""
        return cls(
            scale=float(rng.uniform(0.7, 1.0)),
            x=float(rng.uniform(0.45, 0.55)),
            y=float(rng.uniform(0.45, 0.55)),
            skin=float(rng.uniform(0.4, 0.9)),
            lips=float(rng.uniform(0.25, 0.4)),
            noise=float(rng.uniform(0.01, 0.1)),
            cover=float(rng.uniform(0.2, 0.6)) if rng.random() < 0.2 else 0.0,
        )


def mouth_shapes(sound: Any, sample_rate: int = 8000) -> MouthShape:
    """The mouth for a recording [samples] without noise, from its filter-bank energies.

    The formants are the centres of gravity of the power in 250 to 900 Hz and in 900 to 2,800 Hz; teeth show
    by the part of the power above 2,800 Hz. Each curve is smoothed over three frames, as a mouth has mass.
    Raises ValueError for a recording shorter than 55 ms.
    """
    x = np.exp(FbankInput(sample_rate, BINS).features(np.asarray(sound, np.float32)).astype(np.float64))
    count = len(x) * FRAME_RATE // 100
    if not count:
        raise InvalidArgument(f"sound: expected at least 55 ms, got {np.asarray(sound).size} samples")
    x = x[: count * 4].reshape(count, 4, BINS).mean(1)
    edges = np.linspace(mel(20.0), mel(sample_rate / 2), BINS + 2)[1:-1]
    hertz = 700 * (np.exp(edges / 1127) - 1)

    def centre(low: float, high: float) -> Array:
        held = (hertz >= low) & (hertz < high)
        found: Array = (x[:, held] * hertz[held]).sum(1) / (x[:, held].sum(1) + 1e-3)
        return np.clip((found - low) / (high - low), 0, 1)

    level = 10 * np.log10(x.sum(1) + 1e-3)
    loud = np.clip((level - level.max() + 30) / 30, 0, 1)
    hiss = x[:, hertz >= 2800].sum(1) / (x.sum(1) + 1e-3)

    def smooth(curve: Array) -> Array:
        held = np.pad(curve, 1, mode="edge")
        made: Array = (0.25 * held[:-2] + 0.5 * held[1:-1] + 0.25 * held[2:]).astype(np.float32)
        return made

    opening = smooth(loud * (0.4 + 0.6 * centre(250, 900)))
    return MouthShape(opening, smooth(centre(900, 2800)), smooth(hiss * loud))


def render_face(shape: MouthShape, face: Face | None = None, size: int = 48, seed: Any = 0) -> Array:
    """uint8 [time, size, size]: grey frames of a rendered face, 25 in a second.

    seed: a number or a NumPy generator, of the camera's noise. Raises ValueError for a size below 24.
    """
    if size < 24:
        raise InvalidArgument(f"size: expected at least 24, got {size}")
    face, rng = face or Face(), np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size].astype(np.float32) / size
    tall = face.scale / 2
    x, y = (columns - face.x) / tall, (rows - face.y) / tall  # the face is 1 high and 0.75 wide

    def inside(a: Any, b: Any, at_x: float, at_y: float) -> Array:
        """1 inside the ellipse of half axes a and b, falling to 0 over about a pixel."""
        distance = np.sqrt(((x - at_x) / a) ** 2 + ((y - at_y) / b) ** 2)
        made: Array = np.clip((1 - distance) * np.minimum(a, b) * size * tall + 0.5, 0, 1)
        return made

    picture = 0.2 + (face.skin - 0.2) * inside(0.75, 1.0, 0, 0)
    for side in (-0.3, 0.3):
        picture = picture + (0.1 - picture) * inside(0.1, 0.05, side, -0.25)
    opening, width, teeth = (np.asarray(c)[:, None, None] for c in shape)
    half, high = 0.16 + 0.14 * width, 0.01 + 0.2 * opening  # the inner edge of the lips
    at = 0.5
    made = picture + (face.skin * face.lips - picture) * inside(half + 0.06, high + 0.06, 0, at)
    mouth = inside(half, high, 0, at)
    made = made + (0.02 - made) * mouth
    shown = mouth * np.clip(teeth * 1.5, 0, 1) * ((y - at) < 0)
    made = made + (0.95 - made) * shown
    if face.cover:
        hand = (x > -0.4) & (x < -0.4 + 0.8 * face.cover) & (np.abs(y - at) < 0.35)
        made = np.where(hand, face.skin * 0.85, made)
    made = made + rng.normal(0, face.noise, made.shape)
    found: Array = np.round(np.clip(made, 0, 1) * 255).astype(np.uint8)
    return found
