"""Error rates of the Mandarin recogniser on its tests, and its card."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..speech import AudioClassifier, Wav2Vec2Processor
from ..speech.error_rates import edit_distance
from ..speech.lexicon import LexiconTokens
from ..speech.pinyin import join_units
from .speech_mandarin_data import BINS, HELD_OUT_VOICES, VOICES, FeatureFile, development

__all__ = ["TESTS", "Result", "Run", "card", "measure", "posteriors"]

Array = np.ndarray[Any, Any]
TESTS = {
    "words": "held-out words, first speaker",
    "syllables": "held-out syllables, second speaker",
    "synthetic": "held-out words, held-out synthetic voices",
}


class Result(NamedTuple):
    """Error rates of a test set of `items` recordings: of syllables with and without their tone, by greedy
    decoding, and of characters after the lexicon (None where there is no text); `whole`: the part of
    recordings whose text is right."""

    items: int
    with_tone: float
    without_tone: float
    characters: float | None
    whole: float | None


class Run(NamedTuple):
    """A training run: its steps, the frames in a step, hours; and what `measure` gave for the second speaker
    after `unseen_step` steps, before it was trained on."""

    steps: int
    frames: int
    hours: float
    unseen_step: int
    unseen: list[Any] | None


def rows_of(file: FeatureFile, kind: str) -> list[int]:
    """The rows of the test part of a kind."""
    return [n for n, item in enumerate(file.items) if item.kind == kind and item.part == "test"]


@no_grad()
def posteriors(
    model: AudioClassifier,
    processor: Wav2Vec2Processor,
    file: FeatureFile,
    rows: Sequence[int],
    chunk: int | None,
) -> list[Array]:
    """The logits [frames, units] of rows. chunk: frames of the encoder in one step, None: all at once."""
    inputs: Any = processor.inputs
    found: dict[int, Array] = {}
    ordered = sorted(rows, key=lambda row: len(file[row]))
    for at in range(0, len(ordered), 32):
        part = ordered[at : at + 32]
        features = [(file[row].astype(np.float32) - inputs.mean) / inputs.std for row in part]
        x = np.zeros((len(part), max(map(len, features)), BINS), np.float32)
        for n, one in enumerate(features):
            x[n, : len(one)] = one
        logits, ends = model.model(
            Tensor(x), [len(one) for one in features], chunk, -1 if chunk is None else 16
        )
        for row, one, end in zip(part, logits.numpy(), ends.tolist(), strict=True):
            found[row] = one[:end]
    return [found[row] for row in rows]


def measure(
    model: AudioClassifier,
    processor: Wav2Vec2Processor,
    file: FeatureFile,
    rows: Sequence[int],
    chunk: int | None = None,
) -> Result:
    """The error rates of rows of a feature file; of characters, if the processor's tokens have a lexicon."""
    tokens = processor.tokens
    errors, lengths, right, texts = np.zeros(3), np.zeros(3), 0, 0
    for row, logits in zip(rows, posteriors(model, processor, file, rows, chunk), strict=True):
        item = file.items[row]
        heard = join_units([tokens.tokens[n] for n in tokens.greedy_ids(logits)])
        said = list(item.syllables)
        pairs: list[tuple[Sequence[str], Sequence[str]]] = [
            (said, heard),
            ([s[:-1] for s in said], [s[:-1] for s in heard]),
        ]
        if item.text and isinstance(tokens, LexiconTokens):
            text = tokens.decode(logits)
            pairs.append((item.text, text))
            texts, right = texts + 1, right + (item.text == text)
        for n, (a, b) in enumerate(pairs):
            errors[n] += edit_distance(a, b)
            lengths[n] += len(a)
    rates = (errors / np.maximum(lengths, 1)).tolist()
    return Result(
        len(rows), rates[0], rates[1], rates[2] if texts else None, right / texts if texts else None
    )


CARD = """---
license: cc-by-sa-4.0
language: zh
---
# wenetspeech_zh: a small recogniser of Mandarin words

It writes isolated Mandarin words and short sequences of words in Chinese characters. **It does not
recognise free speech**: it was trained on single words and syllables of two people, and on synthetic
speech. The name is the one that programs use; the model was not trained on the corpus WenetSpeech.

{parameters:,} parameters: {network}. It reads filter-bank energies (80 bins, every 10 ms) and gives, every
40 ms, log probabilities of a blank, 21 initials and 39 finals with 5 tones. `lexicon.txt` turns syllables
into words. In a stream it works in chunks of 160 ms.

## Error rates

Greedy decoding for syllables; prefix beam search and the lexicon for characters. A character is also wrong
where the model writes another word of the same sound, which is often the case for words of one syllable.

{table}

Settings of the decoder were chosen on {development} words of the training part, which were not trained on.
The row "unseen" is the same run after {unseen_step:,} steps, when it had not yet been trained on the second
speaker. The model has heard two people; expect more errors for other voices and other microphones.

## Data

| what | recordings to train on | licence |
|---|---|---|
| words by Yue Tan, `hsk` of audio-cmn | {words:,} | CC BY-SA |
| syllables by Chen Wang, `syllabs` of audio-cmn | {syllables:,} | CC BY-SA |
| words spoken by espeak-ng in {voices} voices: synthetic, not human | {synthetic:,} | made here |

Held out are a tenth of the words, a quarter of the syllables (by syllable without tone), and {held_out}
voices of espeak-ng. The lexicon has {lexicon:,} words with their counts from jieba 0.42.1 (MIT) and their
pinyin from pypinyin 0.55.0 (MIT).

## Licence

The parameters are derived from recordings under CC BY-SA (no version stated) and are shared under CC BY-SA
4.0, with attribution: H. Lopez, Y. Tan, C. Wang, audio-cmn: audio files of Mandarin words and syllables,
2012 to 2016, https://github.com/hugolpz/audio-cmn. The lexicon is under the MIT licence of its sources.

## Training

    python -m sampan.models.speech_mandarin features FEATURES
    python -m sampan.models.speech_mandarin train FEATURES --out RUN --steps {steps}
    python -m sampan.models.speech_mandarin ship FEATURES --out RUN --to wenetspeech_zh

{steps:,} steps of {seconds:.0f} s of sound took {hours:.1f} hours on one core of a shared machine. Seeds
are fixed. Each recording is stored as it is and in a changed version (speed, room, noise); loudness, tilt
of the spectrum and length of the vocal tract are drawn again each time, and parts are masked (SpecAugment).
"""


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _row(name: str, mode: str, found: Result) -> str:
    rates = (found.with_tone, found.without_tone, found.characters, found.whole)
    return " | ".join([f"| {name}", mode, str(found.items), *map(_percent, rates)]) + " |"


def table(model: AudioClassifier, processor: Wav2Vec2Processor, file: FeatureFile, run: Run) -> str:
    """The error rates of all tests, Markdown."""
    lines = [
        "| test | decoded | recordings | syllable errors | without tone | character errors | words right |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, name in TESTS.items():
        for mode, chunk in (("as a whole", None), ("in chunks of 160 ms", 4)):
            lines.append(_row(name, mode, measure(model, processor, file, rows_of(file, kind), chunk)))
    if run.unseen is not None:
        lines.append(_row("all syllables, second speaker, unseen", "as a whole", Result(*run.unseen)))
    return "\n".join(lines)


def card(model: AudioClassifier, processor: Wav2Vec2Processor, file: FeatureFile, run: Run) -> str:
    """The card of a model, Markdown, with its error rates measured now."""
    tokens: Any = processor.tokens
    trained = [item for item in file.items if item.part == "train"]
    counts = {kind: len({i for i in trained if i.kind == kind}) for kind in TESTS}
    left_out = len(development(file))
    counts["words"] -= left_out
    settings = model.config["encoder"]
    if model.config["model_type"] == "conformer":
        network = f"a Conformer with CTC, {settings['num_layers']} blocks of width {settings['width']}"
    else:
        network = (
            f"{settings['kind'].upper()} with CTC, {settings['num_layers']} layers of {settings['hidden']}"
        )
    return CARD.format(
        parameters=sum(int(np.prod(value.shape)) for value in model.parameters()),
        network=network,
        table=table(model, processor, file, run),
        development=left_out,
        voices=len(VOICES.split()),
        held_out=len(HELD_OUT_VOICES),
        lexicon=len(tokens.lexicon),
        steps=run.steps,
        unseen_step=run.unseen_step,
        seconds=run.frames / 100,
        hours=run.hours,
        **counts,
    )
