"""How good the shipped voice is, on held-out words: copy synthesis by the vocoder beside Griffin-Lim, speed,
and what a recogniser understands of it.

    python benchmarks/speech_synthesis.py                    # needs SAMPAN_DATA with audio_cmn
    python benchmarks/speech_synthesis.py --voice FOLDER --words 100

Real-time factors are seconds of processor time for a second of sound, on one thread.

Copy synthesis: the log mel frames of a recording become sound again. Two distances from the recording,
smaller is better: the log-spectral distance in dB (Rabiner and Juang 1993, 4.5.1) over transforms of 1,024
samples, and the mel-cepstral distortion in dB (Kubichek 1993) over 13 cepstra of 40 mel bands.
"""

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sampan import to_tensor
from sampan.autograd import no_grad
from sampan.datasets import load_recordings
from sampan.models.speech_corpus import read_word
from sampan.speech import (
    AudioClassifier,
    Wav2Vec2Processor,
    available_models,
    griffin_lim,
    load,
    mel_to_amplitude,
    resample,
)
from sampan.speech.error_rates import edit_distance
from sampan.speech.mel import create_dct
from sampan.speech.synthesis import MelSettings, Synthesizer
from sampan.speech.synthesis.sound import level, log_mel_array, trim

Array = np.ndarray[Any, Any]
SPOKEN_DB = -40.0  # a frame counts if its loudest bin is not further under the loudest bin of the recording
FLOOR_DB = -60.0  # under the loudest bin of the recording; what is quieter counts as this


def log_spectral_distance(made: Array, wanted: Array) -> float:
    """dB: the root of the mean square over frequencies, averaged over frames, of two sounds [n]."""
    window = torch.hann_window(1024)
    m, w = (
        torch.stft(torch.from_numpy(x), 1024, 256, window=window, return_complex=True).abs().numpy()
        for x in (made, wanted)
    )
    least = w.max() * 10 ** (FLOOR_DB / 20)
    spoken = w.max(0) > w.max() * 10 ** (SPOKEN_DB / 20)
    decibels = 20 * (np.log10(np.maximum(m, least)) - np.log10(np.maximum(w, least)))
    return float(np.sqrt((decibels[:, spoken] ** 2).mean(0)).mean())


def mel_cepstral_distortion(made: Array, wanted: Array, sample_rate: int) -> float:
    """dB: 10 / ln 10 sqrt(2 sum (c - c')^2) over cepstra 1 to 13, averaged over frames, of two sounds [n]."""
    mel = MelSettings(sample_rate, n_mels=40)
    basis = create_dct(14, 40, dtype="float64").numpy()
    logs = [log_mel_array(mel, x).astype(np.float64) for x in (made, wanted)]
    loudest = logs[1].max(1)
    spoken = loudest > loudest.max() + SPOKEN_DB / 20 * np.log(10)
    m, w = (x[spoken] @ basis for x in logs)
    return float(10 / np.log(10) * np.sqrt(2 * ((m - w)[:, 1:] ** 2).sum(1)).mean())


def by_griffin_lim(frames: Array, mel: MelSettings, iterations: int) -> Array:
    """Samples of log mel frames [frames, n_mels]: mel inversion and fast Griffin-Lim."""
    bands = np.exp(frames.T)
    size = mel_to_amplitude(bands, mel.sample_rate, mel.n_fft, mel.f_min, mel.f_max, iterations=100)
    return griffin_lim(size, mel.hop, iterations=iterations).numpy()


def network(voice: Synthesizer, frames: Array) -> Array:
    """Samples of log mel frames [frames, n_mels] by the vocoder's network alone."""
    with no_grad():
        made: Array = voice.voice.vocoder(to_tensor(frames[None]))[0].numpy()
    return made


def copies(voice: Synthesizer, sounds: list[Array]) -> list[str]:
    """Rows of the table: distance and speed of the vocoder and of Griffin-Lim on these recordings."""
    mel, rows = voice.voice.mel, []
    ways: list[tuple[str, Callable[[Array], Array]]] = [
        ("vocoder and 16 iterations of Griffin-Lim", lambda frames: voice.sound(to_tensor(frames))),
        ("vocoder alone", lambda frames: network(voice, frames)),
        ("mel inversion and Griffin-Lim, 16 iterations", lambda frames: by_griffin_lim(frames, mel, 16)),
        ("mel inversion and Griffin-Lim, 60 iterations", lambda frames: by_griffin_lim(frames, mel, 60)),
    ]
    for name, way in ways:
        spectral, cepstral, ratios = [], [], []
        for sound in sounds:
            frames = log_mel_array(mel, sound)
            begin = time.process_time()
            made = way(frames)
            ratios.append((time.process_time() - begin) / (len(made) / mel.sample_rate))
            wanted = sound[: len(made)]
            spectral.append(log_spectral_distance(made[: len(wanted)], wanted))
            cepstral.append(mel_cepstral_distortion(made[: len(wanted)], wanted, mel.sample_rate))
        figures = f"{np.mean(spectral):.2f} | {np.mean(cepstral):.2f} | {np.median(ratios):.3f}"
        rows.append(f"| {name} | {figures} |")
    return rows


def by_espeak(word: str, sample_rate: int) -> Array:
    """A word by the program espeak-ng, trimmed and levelled as the recordings are."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "word.wav"
        subprocess.run(["espeak-ng", "-b", "1", "-v", "cmn", "-w", str(path), word], check=True, timeout=30)
        sound, rate = load(path)
        return level(trim(resample(sound[0], rate, sample_rate).numpy(), sample_rate))


def dictionary_reading(word: str) -> list[str]:
    """The syllables of a word by pypinyin, without changes of tone: what the recogniser was trained to
    write."""
    from pypinyin import Style, lazy_pinyin

    return list(lazy_pinyin(word, style=Style.TONE3, neutral_tone_with_five=True))


def understood(name: str, sounds: dict[str, list[tuple[str, Array]]], sample_rate: int) -> list[str]:
    """Rows: the syllable error rate of a recogniser of pinyin, with tones and without, for each kind of
    sound."""
    model, processor = AudioClassifier.from_pretrained(name), Wav2Vec2Processor.from_pretrained(name)
    tokens: Any = processor.tokens  # LexiconTokens: has pinyin
    rows = []
    for kind, said in sounds.items():
        wrong, plain, total = 0, 0, 0
        for word, samples in said:
            sound = resample(to_tensor(samples), sample_rate, processor.sampling_rate).numpy()
            with no_grad():
                logits = model(**processor(sound, return_tensors="pd")).logits[0]
            heard, wanted = tokens.pinyin(logits).split(), dictionary_reading(word)
            wrong += edit_distance(heard, wanted)
            plain += edit_distance([s[:-1] for s in heard], [s[:-1] for s in wanted])
            total += len(wanted)
        rows.append(f"| {kind} | {100 * wrong / total:.1f} % | {100 * plain / total:.1f} % | {len(said)} |")
    return rows


def picture(path: Path, voice: Synthesizer, words: list[tuple[str, Array]]) -> None:
    """A picture of the log mel frames: each recording above the same word by the voice."""
    from PIL import Image

    rows = [[sound for _, sound in words], [voice.speak(word)[0] for word, _ in words]]
    mels = [[np.clip((log_mel_array(voice.voice.mel, x) + 9) / 10, 0, 1) for x in row] for row in rows]
    wide = [max(len(row[n]) for row in mels) for n in range(len(words))]
    bands = [
        np.concatenate(
            [np.pad(m.T[::-1], ((4, 4), (4, w - len(m) + 4))) for m, w in zip(row, wide, strict=True)], 1
        )
        for row in mels
    ]
    grey = (255 * (1 - np.concatenate(bands))).astype(np.uint8)
    Image.fromarray(grey).resize((2 * grey.shape[1], 2 * grey.shape[0])).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--voice", default="mandarin_voice")
    parser.add_argument("--recogniser", default="wenetspeech_zh")
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument(
        "--picture", type=Path, help="only write this picture of frames, of five held-out words"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    voice = Synthesizer.from_pretrained(given.voice)
    rate, padding = voice.sample_rate, np.zeros(voice.sample_rate // 4, np.float32)
    held_out = load_recordings("audio_cmn").test
    held_out = held_out[:: max(len(held_out) // given.words, 1)][: given.words]
    sounds = [(one.label, read_word(one, rate)) for one in held_out]
    if given.picture:
        picture(given.picture, voice, [pair for pair in sounds if len(pair[0]) == 2][:5])
        return
    print("| copy synthesis | log-spectral distance, dB | mel-cepstral distortion, dB | real-time factor |")
    print("|---|---:|---:|---:|")
    print("\n".join(copies(voice, [sound for _, sound in sounds[:: max(len(sounds) // 40, 1)]])), flush=True)
    begin = time.process_time()
    made = [(word, voice.speak(word)[0]) for word, _ in sounds]
    seconds = sum(len(sound) for _, sound in made) / rate
    print(f"\nText to sound: real-time factor {(time.process_time() - begin) / seconds:.3f}.\n")
    if given.recogniser not in available_models():
        print(f"No recogniser {given.recogniser}: no syllable error rates.")
        return
    kinds = {"the recordings": sounds, "this voice": made}
    mel = voice.voice.mel
    kinds["the recordings through the vocoder"] = [
        (word, voice.sound(to_tensor(log_mel_array(mel, sound)))) for word, sound in sounds
    ]
    if shutil.which("espeak-ng"):
        kinds["espeak-ng"] = [(word, by_espeak(word, rate)) for word, _ in sounds]
    padded = {k: [(w, np.concatenate([padding, x, padding])) for w, x in rows] for k, rows in kinds.items()}
    print("| held-out words | syllable error rate | without tones | words |\n|---|---:|---:|---:|")
    print("\n".join(understood(given.recogniser, padded, rate)))


if __name__ == "__main__":
    main()
