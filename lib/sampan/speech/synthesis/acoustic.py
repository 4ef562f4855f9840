"""From units to log mel frames, all frames at once: FastSpeech 2 with convolutions.

An encoder reads the units with their tones; a predictor says how many frames each lasts, and the encoder's
vectors are repeated so often; a second predictor gives pitch and energy of each frame, and a decoder writes
the frames with these as conditions. In training, durations, pitch and energy are those of the recording.
Source: Ren et al., FastSpeech 2: Fast and High-Quality End-to-End Text to Speech, 2020, section 2; blocks of
convolutions in place of attention: Vainer and Dusek, SpeedySpeech, 2020.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...ops import concat, gather
from .units import NUMBER_OF, SILENCE, UNITS, syllable
from .vocoder import ConvBlock

__all__ = ["AcousticModel", "Sequences", "WordUnits", "word_units"]

Array = np.ndarray[Any, Any]
PLACES = 4  # syllables counted from either end of a word; all later ones are alike
LONGEST = 120  # frames of one unit, 1.5 s


class WordUnits(NamedTuple):
    """The units of a word between two silences, each [units + 2], int64: numbers in UNITS; tones (0 in
    silence); how many syllables are before and after, at most PLACES - 1."""

    units: Array
    tones: Array
    before: Array
    after: Array


def word_units(syllables: Sequence[str]) -> WordUnits:
    """What the model reads of a word such as ["ni2", "hao3"]. Raises InvalidArgument for no syllables and for
    one that is none of Mandarin."""
    if not syllables:
        raise InvalidArgument("syllables: expected at least one, got none")
    rows = [(NUMBER_OF[SILENCE], 0, 0, min(len(syllables) - 1, PLACES - 1))]
    for n, spelled in enumerate(syllables):
        said = syllable(spelled)
        place = (min(n, PLACES - 1), min(len(syllables) - 1 - n, PLACES - 1))
        rows += [(NUMBER_OF[unit], said.tone, *place) for unit in said.units]
    rows.append((NUMBER_OF[SILENCE], 0, min(len(syllables) - 1, PLACES - 1), 0))
    return WordUnits(*np.array(rows, np.int64).T)


class Spoken(NamedTuple):
    """A word as it is said. frames: log mel [frames, n_mels]. durations: int64 [units], the frames of
    each."""

    frames: Any
    durations: Array


class Sequences(NamedTuple):
    """A padded batch of words. places: int64 [4, batch, units], the fields of WordUnits. valid: float32
    [batch, units, 1], 0 in padding."""

    places: Array
    valid: Array

    @classmethod
    def of(cls, words: Sequence[WordUnits]) -> "Sequences":
        longest = max(len(word.units) for word in words)
        places = np.zeros((4, len(words), longest), np.int64)
        valid = np.zeros((len(words), longest, 1), np.float32)
        for n, word in enumerate(words):
            places[:, n, : len(word.units)] = np.stack(word)
            valid[n, : len(word.units)] = 1
        return cls(places, valid)


class Predictor(nn.Layer):
    """Blocks and a linear layer: [batch, time, width] to [batch, time, results]."""

    def __init__(self, width: int, hidden: int, results: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.blocks = nn.LayerList([ConvBlock(width, hidden, 7, dropout) for _ in range(num_layers)])
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, results)

    def forward(self, x: Any, valid: Any) -> Any:
        for block in self.blocks:
            x = block(x, valid)
        return self.last(self.norm(x))


class AcousticModel(nn.Layer):
    """Words to log mel frames.

    n_mels: bands of a frame. width: of all vectors; hidden: of the blocks. dropout: in the encoder.
    statistics: mean and deviation of ln pitch and of energy, by which the conditions are scaled.
    """

    def __init__(
        self,
        n_mels: int = 80,
        width: int = 192,
        hidden: int = 448,
        encoder_layers: int = 4,
        decoder_layers: int = 4,
        dropout: float = 0.1,
        statistics: Sequence[float] = (5.4, 0.3, -5.0, 2.0),
    ) -> None:
        super().__init__()
        self.n_mels, self.statistics = n_mels, [float(s) for s in statistics]
        sizes = (len(UNITS), 6, PLACES, PLACES)
        self.tables = nn.LayerList([nn.Embedding(size, width) for size in sizes])
        self.encoder = nn.LayerList([ConvBlock(width, hidden, 5, dropout) for _ in range(encoder_layers)])
        self.duration = Predictor(width, width, 1, 2, 0.2)
        self.place = nn.Linear(6, width)
        self.contour = Predictor(width, width, 2, 2, 0.0)
        self.condition = nn.Linear(2, width)
        self.decoder = Predictor(width, hidden, n_mels, decoder_layers, 0.0)

    def encode(self, batch: Sequences) -> tuple[Any, Any]:
        """(vectors [batch, units, width], ln(1 + frames) of each unit [batch, units])."""
        valid = Tensor(batch.valid)
        x: Any = 0.0
        for table, numbers in zip(self.tables, batch.places, strict=True):
            x = x + table(Tensor(numbers))
        x = x * valid
        for block in self.encoder:
            x = block(x, valid)
        return x, self.duration(x, valid).squeeze(-1)

    def spread(self, x: Any, durations: Array) -> tuple[Any, Any]:
        """The vectors of units, each for as many frames as it lasts: ([batch, frames, width], valid float32
        [batch, frames, 1]). durations: int64 [batch, units], 0 in padding."""
        totals = durations.sum(1)
        batch, units = durations.shape
        at = np.zeros((batch, int(totals.max())), np.int64)
        where = np.zeros((*at.shape, 6), np.float32)
        valid = np.zeros((*at.shape, 1), np.float32)
        for n, row in enumerate(durations):
            owner = np.repeat(np.arange(units), row)
            frame = np.arange(len(owner)) - np.repeat(np.cumsum(row) - row, row)
            size = row[owner]
            part = (frame + 0.5) / size
            at[n, : len(owner)] = n * units + owner
            ways = [
                part,
                np.sin(np.pi * part),
                np.cos(np.pi * part),
                np.cos(2 * np.pi * part),
                np.log(size) / 3,
            ]
            where[n, : len(owner), :5] = np.stack(ways, 1)
            where[n, : len(owner), 5] = np.minimum(frame, 8) / 8
            valid[n, : len(owner)] = 1
        rows = gather(x.reshape([batch * units, -1]), Tensor(at.reshape(-1)))
        spread = rows.reshape([batch, at.shape[1], -1]) + self.place(Tensor(where))
        mask = Tensor(valid)
        return spread * mask, mask

    def decode(self, x: Any, valid: Any, contour: Any) -> Any:
        """Log mel frames [batch, frames, n_mels]. contour: scaled ln pitch and energy [batch, frames, 2]."""
        return self.decoder((x + self.condition(contour)) * valid, valid) * 2.0 - 5.0

    def loss(
        self, batch: Sequences, durations: Array, mel: Array, contour: Array, voiced: Array
    ) -> list[Any]:
        """[distance of the frames, and the squared errors of ln durations, pitch and energy], four numbers.

        mel: float32 [batch, frames, n_mels]. contour: scaled, float32 [batch, frames, 2]. voiced: float32
        [batch, frames, 1], 1 where the pitch counts.
        """
        x, predicted = self.encode(batch)
        wanted, units = Tensor(np.log1p(durations).astype(np.float32)), Tensor(batch.valid[..., 0])
        duration = (((predicted - wanted) ** 2) * units).sum() / units.sum()
        x, valid = self.spread(x, durations)
        target, frames = Tensor(contour), valid.sum()
        off = (self.contour(x, valid) - target) ** 2
        where = concat([Tensor(voiced), valid], -1)
        pitch, energy = ((off * where).sum([0, 1]) / (where.sum([0, 1]) + 1.0)).unbind(0)
        made = self.decode(x, valid, target)
        distance = ((made - Tensor(mel)).abs() * valid).sum() / (frames * self.n_mels)
        return [distance, duration, pitch, energy]

    def forward(self, words: Sequence[WordUnits], pace: float = 1.0, rise: float = 0.0) -> list[Spoken]:
        """The frames of each word. pace: above 1 for faster; rise: of the pitch, in semitones."""
        batch = Sequences.of(words)
        x, predicted = self.encode(batch)
        lasting = np.expm1(predicted.numpy()) / pace
        durations = np.clip(np.round(lasting), 1, LONGEST).astype(np.int64) * (batch.valid[..., 0] > 0)
        x, valid = self.spread(x, durations)
        lift = Tensor(np.array([rise * np.log(2) / 12 / self.statistics[1], 0.0], np.float32))
        made = self.decode(x, valid, self.contour(x, valid) + lift)
        rows = [row[: len(word.units)] for row, word in zip(durations, words, strict=True)]
        return [Spoken(made[n, : int(row.sum())], row) for n, row in enumerate(rows)]

    def scaled(self, log_pitch: Array, energy: Array) -> Array:
        """The conditions of frames: float32 [frames, 2]."""
        middle, spread = self.statistics[::2], self.statistics[1::2]
        return ((np.stack([log_pitch, energy], 1) - middle) / spread).astype(np.float32)
