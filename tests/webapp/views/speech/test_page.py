"""The Speech page without a browser: pieces of sound, uploads, recordings, recognition, figures and both parts. Oracles:
NumPy, SciPy, soundfile, and networks whose answer is set by hand."""

from __future__ import annotations

import gc
import io
import json
import math
import re
import time
import tracemalloc
import wave
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sampan import speech
from studio import i18n
from studio.views.speech import figures, listening, sounds, speak, voice
from studio.views.speech.chunks import MOST_SAMPLES, RATE, Chunks, Refused, Samples
from studio.views.speech.listen import ListenPart
from studio.views.speech.listening import Line, Listening, Playing, Scope
from studio.views.speech.page import SpeechPage
from studio.views.speech.recognition import (
    LONGEST_FRAMES,
    SILENT_FRAMES,
    Look,
    Recogniser,
    streaming_models,
)
from studio.views.speech.upload import MOST_BYTES, read_recording

TOKENS = ["<pad>", "一", "二", "三"]


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(speech.registry, "model_folders", lambda: [tmp_path / "models"])


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., str]:
    """`model(biases)` writes a small network that gives every frame the softmax of `biases`, and returns its name."""

    def make(biases: list[float], name: str = "digits", **encoder: Any) -> str:
        settings = {"input_size": 80, "width": 16, "num_heads": 2, "num_layers": 1, "kernel_size": 3}
        config = {"model_type": "conformer", "vocab_size": 4}
        config["encoder"] = {**settings, "causal": True, "norm": "layer", **encoder}
        made = speech.AudioClassifier.from_config(config)
        linear = made.model.head.linear
        linear.weight.set_value(linear.weight * 0)
        linear.bias.set_value(np.array(biases, np.float32))
        folder = tmp_path / "models" / name
        made.save_pretrained(folder, card="# A card\n<b>bold</b>")
        tokens = speech.CTCTokens({token: n for n, token in enumerate(TOKENS)}, "<pad>", None, None, "")
        speech.Wav2Vec2Processor(speech.inputs.FbankInput(), tokens).save_pretrained(folder)
        return name

    return make


def wav(samples: np.ndarray, rate: int = RATE, channels: int = 1, width: int = 2) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as held:
        held.setparams((channels, width, rate, 0, "NONE", "NONE"))
        whole = np.round(samples * (2 ** (8 * width - 1) - 1)).astype("<i4")
        held.writeframes(whole.view(np.uint8).reshape(-1, 4)[:, :width].tobytes())
    return stream.getvalue()


def tone(seconds: float, hertz: float = 440.0, rate: int = RATE) -> Samples:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.reason


# --- pieces of sound ------------------------------------------------------------------------------------------------


def about(seq: int = 0, run: int = 1, dtype: str = "int16", samples: int = 1600) -> dict[str, Any]:
    return {"kind": "chunk", "run": run, "seq": seq, "dtype": dtype, "samples": samples}


def test_pieces_are_taken_in_order() -> None:
    chunks = Chunks(1)
    given = np.array([-32768, 0, 16384, 32767], "<i2")
    taken = chunks.take(about(samples=4), [memoryview(given.tobytes())])
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, [-1, 0, 0.5, 32767 / 32768])
    floating = np.array([-3, 0.25], "<f4")
    np.testing.assert_array_equal(
        chunks.take(about(1, dtype="float32", samples=2), [floating.tobytes()]), [-1, 0.25]
    )
    assert refused(lambda: chunks.take(about(1), [bytes(3200)])) == "order"  # twice
    assert refused(lambda: chunks.take(about(3), [bytes(3200)])) == "order"  # one is missing
    assert refused(lambda: chunks.take(about(2, run=2), [bytes(3200)])) == "stopped"
    assert chunks.take(about(2), [bytes(3200)]).size == 1600  # what is refused changes nothing


@pytest.mark.parametrize(
    ("message", "buffers", "reason"),
    [
        (about(dtype="float64"), [bytes(12800)], "dtype"),
        (about(dtype="<script>"), [bytes(3200)], "dtype"),
        (about(), [bytes(3199)], "length"),
        (about(), [], "length"),
        (about(), [bytes(3200), bytes(3200)], "length"),
        (about(samples=0), [b""], "length"),
        (about(samples=MOST_SAMPLES + 1), [bytes(2 * MOST_SAMPLES + 2)], "length"),
        (about() | {"samples": "1600"}, [bytes(3200)], "length"),
        (about(seq=True), [bytes(3200)], "order"),
        (about(dtype="float32", samples=1), [np.float32(math.nan).tobytes()], "nan"),
        (about(dtype="float32", samples=1), [np.float32(-math.inf).tobytes()], "nan"),
        ("chunk", [], "stopped"),
        (None, [], "stopped"),
    ],
)  # fmt: skip
def test_wrong_pieces_are_refused_and_said_in_both_languages(
    message: Any, buffers: list, reason: str
) -> None:
    with pytest.raises(Refused) as caught:
        Chunks(1).take(message, buffers)
    assert caught.value.reason == reason
    if reason != "stopped":  # the page is silent about pieces that were on their way
        for lang in i18n.LANGUAGES:
            assert "{" not in i18n.t(f"speech.chunk.{reason}", lang, **caught.value.values)


# --- uploads --------------------------------------------------------------------------------------------------------


def test_uploads_of_any_rate_and_form() -> None:
    soundfile = pytest.importorskip("soundfile")
    plain = read_recording(wav(tone(0.5)), "a.wav")
    assert (plain.rate, plain.channels, plain.samples.size) == (RATE, 1, RATE // 2)
    np.testing.assert_allclose(plain.samples, tone(0.5), atol=2 / 32768)
    deep = read_recording(wav(tone(0.5), width=3), "deep.wav")  # 24 bits
    np.testing.assert_allclose(deep.samples, tone(0.5), atol=2 / 2**23)
    both = np.stack([tone(0.5), np.zeros(RATE // 2, np.float32)], 1).reshape(-1)
    stereo = read_recording(wav(both, channels=2), "stereo.wav")
    assert stereo.channels == 2
    np.testing.assert_allclose(stereo.samples, tone(0.5) / 2, atol=2 / 32768)
    for rate in (8000, 44100):
        other = read_recording(wav(tone(0.5, rate=rate), rate), "other.wav")
        assert other.rate == rate and abs(other.samples.size - RATE // 2) <= 1
        np.testing.assert_allclose(other.samples[800:7000], tone(0.5)[800:7000], atol=0.01)
    for kind in ("FLAC", "MP3", "OGG"):
        stream = io.BytesIO()
        soundfile.write(stream, tone(0.5), RATE, format=kind)
        found = read_recording(stream.getvalue(), f"a.{kind.lower()}").samples
        assert np.abs(np.fft.rfft(found[:8000])).argmax() == 220  # 440 Hz in half a second


def test_refused_uploads() -> None:
    soundfile = pytest.importorskip("soundfile")
    whole = wav(tone(1.0))
    assert refused(lambda: read_recording(whole[:-1000], "cut.wav")) == "format"
    assert refused(lambda: read_recording(whole[:30], "head.wav")) == "format"
    assert refused(lambda: read_recording(b"RIFF but no sound", "x.wav")) == "format"
    assert refused(lambda: read_recording(b"\xff\xfb" + bytes(500), "x.mp3")) in ("format", "empty")
    assert refused(lambda: read_recording(b"", "empty.wav")) == "empty"
    assert refused(lambda: read_recording(wav(np.zeros(0)), "none.wav")) == "empty"
    assert refused(lambda: read_recording(bytes(MOST_BYTES + 1), "large.wav")) == "bytes"
    assert refused(lambda: read_recording(wav(tone(0.1), rate=1000), "slow.wav")) == "rate"
    assert refused(lambda: read_recording(wav(tone(0.1), rate=400_000), "fast.wav")) == "rate"
    stream = io.BytesIO()
    soundfile.write(stream, np.zeros(3600 * 4000, np.int16), 4000, format="FLAC")  # an hour
    assert len(stream.getvalue()) < MOST_BYTES
    assert refused(lambda: read_recording(stream.getvalue(), "hour.flac")) == "seconds"
    stream = io.BytesIO()
    bad = np.array([0.0, math.nan] * 500, np.float32)
    soundfile.write(stream, bad, RATE, format="WAV", subtype="FLOAT")
    assert refused(lambda: read_recording(stream.getvalue(), "nan.wav")) == "nan"


# --- recordings -----------------------------------------------------------------------------------------------------


def test_without_data_sets_there_are_made_sounds() -> None:
    (made,) = sounds.sound_sets()
    assert made.kind == "made" and made.card is None
    for sound in made.sounds:
        samples = sound.load()
        assert samples.dtype == np.float32 and 0.2 < np.abs(samples).max() <= 1
    rising = np.array_split(sounds.sweep(), 8)
    peaks = [np.abs(np.fft.rfft(part)).argmax() / len(part) * RATE for part in rising]
    assert peaks == sorted(peaks) and peaks[0] < 200 and peaks[-1] > 4000


@pytest.mark.parametrize("snr", [20, 0])
def test_noise_has_the_chosen_level_and_falls_with_frequency(snr: int) -> None:
    clean = tone(2.0) * np.float32(0.2)
    added = sounds.with_noise(clean, snr) - clean
    assert 10 * np.log10((clean**2).mean() / (added**2).mean()) == pytest.approx(snr, abs=0.1)
    power = np.abs(np.fft.rfft(sounds.noise(1 << 16))) ** 2
    low, high = power[100:200].mean(), power[3200:6400].mean()
    assert 10 * np.log10(low / high) == pytest.approx(10 * np.log10(32), abs=1.5)  # 1 / f
    assert sounds.with_noise(clean, None) is clean
    silence = np.zeros(100, np.float32)
    assert sounds.with_noise(silence, snr) is silence


# --- listening ------------------------------------------------------------------------------------------------------


def test_the_picture_does_not_depend_on_the_pieces() -> None:
    samples = sounds.vowels()
    frames, peaks = Scope().feed(samples)
    assert frames.shape[1] == 80 and frames.max() > 150
    np.testing.assert_array_equal(
        peaks[:, 1] * 160.0, np.round(samples[: len(peaks) * 160].reshape(-1, 160).max(1) * 127) * 160
    )
    scope = Scope()
    cut = [scope.feed(part) for part in np.split(samples, [7, 500, 501, 9000])]
    np.testing.assert_array_equal(np.concatenate([f for f, _ in cut]), frames)
    np.testing.assert_array_equal(np.concatenate([p for _, p in cut]), peaks)


def test_models_that_stream_are_offered(model: Callable[..., str], tmp_path: Path) -> None:
    assert streaming_models() == []
    model([4, 0, 0, 0])
    model([4, 0, 0, 0], "wenetspeech_zh")
    model([4, 0, 0, 0], "both_ways", causal=False)
    (tmp_path / "models" / "broken").mkdir()
    (tmp_path / "models" / "broken" / "config.json").write_text("{")
    assert streaming_models() == ["wenetspeech_zh", "digits"]


def test_a_pause_ends_an_utterance(model: Callable[..., str]) -> None:
    utterance = Recogniser(model([4, 0, 0, 0])).begin()
    spoken = np.log(np.array([[0.01, 0.97, 0.01, 0.01]] * 3, np.float32))
    blank = np.log(np.array([[0.97, 0.01, 0.01, 0.01]], np.float32))
    for row in [blank] * 30:
        utterance.read(SimpleNamespace(numpy=lambda row=row: row))
    assert not utterance.over  # nothing was said yet
    utterance.read(SimpleNamespace(numpy=lambda: spoken))
    for n in range(SILENT_FRAMES):
        assert not utterance.over, n
        utterance.read(SimpleNamespace(numpy=lambda: blank))
    assert utterance.over
    look = utterance.look()
    assert look.best == [1] and look.log_probs.shape == (33 + SILENT_FRAMES, 4)
    path = look.path()
    assert path is not None and (path == 1).sum() >= 1 and set(path[path > 0]) == {1}
    assert utterance.finish() == "一" and utterance.look().best == [1]


def test_a_run_without_a_pause_is_cut(model: Callable[..., str]) -> None:
    run = Listening(Recogniser(model([0, 6, 0, 0]))).start()
    for _ in range(math.ceil(LONGEST_FRAMES * 0.04) + 3):
        while run.waiting > 2:
            time.sleep(0.01)
        run.offer(tone(1.0))
    run.end()
    assert run.join(60) and run.state == "done", run.error
    assert [line.text for line in run.lines] == ["一", "一"]
    assert run.lines[0].at == pytest.approx(LONGEST_FRAMES * 0.04, abs=1.1)


def test_delay_and_text_of_a_recording_in_real_time(model: Callable[..., str]) -> None:
    told: list[tuple[int, int]] = []
    run = Listening(
        Recogniser(model([0, 6, 0, 0])), on_piece=lambda f, p, n: told.append((len(f), len(p)))
    ).start()
    began = time.monotonic()
    playing = Playing(tone(1.25), run)
    playing.start()
    playing.join(20)
    assert time.monotonic() - began >= 1.25
    assert run.join(20) and run.state == "done"
    assert [line.text for line in run.lines] == ["一"] and run.heard == pytest.approx(1.25)
    assert sum(n for n, _ in told) == 1 + (20000 - 400) // 160 and sum(n for _, n in told) == 125
    report = run.delay
    assert report is not None and report.count >= 8
    assert 0 < report.median <= report.high and report.chunk == 0.16 and report.compute > 0


def test_too_fast_and_after_the_end(model: Callable[..., str]) -> None:
    run = Listening(None).start()
    gate = run._lock
    with pytest.raises(Refused, match="fast"):
        for _ in range(100):  # faster than any machine reads
            with gate:
                run._waiting += RATE
            run.offer(tone(1.0))
    run.end()
    assert refused(lambda: run.offer(tone(0.1))) == "stopped"
    assert run.join(20) and run.state == "done"
    assert refused(lambda: run.offer(tone(0.1))) == "stopped"


@pytest.mark.alone
def test_memory_does_not_grow_with_the_sound(model: Callable[..., str]) -> None:
    """After the 30 s that are kept of the probabilities, another minute needs no more memory: its samples alone would
    be 3.8 MB."""
    run = Listening(Recogniser(model([5, 0, 0, 0]))).start()
    piece = tone(1.0) * np.float32(0.01)

    def feed(seconds: int) -> int:
        for _ in range(seconds):
            while run.waiting > 1:
                time.sleep(0.002)
            run.offer(piece)
        while run.waiting:
            time.sleep(0.002)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    first = feed(33)
    later = feed(60)
    tracemalloc.stop()
    run.cancel()
    assert run.join(20)
    assert later - first < 100_000, f"{later - first:,} bytes more"


# --- figures --------------------------------------------------------------------------------------------------------


def look_of(
    probabilities: list[list[float]], hypotheses: list[tuple[list[int], float]], stable: int = 0
) -> Look:
    return Look(np.log(np.array(probabilities, np.float32)), hypotheses, stable)


def test_the_heat_map_holds_probabilities_and_the_path() -> None:
    rows = [[0.9, 0.05, 0.03, 0.02], [0.1, 0.8, 0.05, 0.05], [0.8, 0.1, 0.05, 0.05], [0.1, 0.05, 0.05, 0.8]]
    data, levels = figures.heat(look_of(rows, [([1, 3], -0.5)]), TOKENS, "blank")
    assert data["tokens"] == ["blank", "一", "三"] and data["frames"] == 4
    assert data["path"] == [0, 1, 0, 2]  # blank, 一, blank, 三
    grid = np.frombuffer(levels, np.uint8).reshape(3, 4)
    np.testing.assert_allclose(grid, np.array(rows)[:, [0, 1, 3]].T * 255, atol=0.51)
    empty, nothing = figures.heat(Look(np.zeros((0, 4), np.float32), [], 0), TOKENS, "blank")
    assert empty["tokens"] == [] and empty["frames"] == 0 and nothing == b""


def test_the_tree_has_every_hypothesis() -> None:
    beam = [([1, 2], -1.0), ([1, 3], -2.0), ([1], -3.0), ([1, 2, 1], -3.0)]
    look = look_of([[0.25] * 4], beam, stable=1)
    for lang in i18n.LANGUAGES:
        html = figures.beam_tree(look, ["<pad>", "<b>", "二", "三"], lang)
        assert "<b>" not in html and "&lt;b&gt;" in html
        shares = np.exp([-1, -2, -3, -3]) / np.exp([-1, -2, -3, -3]).sum()
        assert all(f"{100 * share:.1f} %" in html for share in shares)
        assert html.count('class="so-score') == 4 and html.count("so-edge") == 3
    places = re.findall(r'class="so-(?:node|score)[^>]* x="([\d.]+)" y="([\d.]+)"', html)
    assert len(set(places)) == len(places)  # nothing is drawn over something else
    assert "so-tree" not in figures.beam_tree(look_of([[0.25] * 4], []), TOKENS, "en")


def test_the_delay_is_compared_with_its_goal() -> None:
    report = listening.DelayReport(0.2, 0.29, 50, 0.045, 0.16, 0.03)
    assert "290 ms" in figures.delay(report, "en") and "Below the goal" in figures.delay(report, "en")
    late = listening.DelayReport(0.2, 0.31, 50, 0.045, 0.16, 0.3)
    assert "Above the goal" in figures.delay(late, "en") and "高于目标" in figures.delay(late, "zh")


# --- the page -------------------------------------------------------------------------------------------------------


def sent(widget: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict, int]]:
    messages: list[tuple[dict, int]] = []
    monkeypatch.setattr(
        type(widget),
        "send",
        lambda self, content, buffers=None: messages.append((content, len(buffers or ()))),
    )
    return messages


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_without_a_model_the_page_shows_sound(lang: str) -> None:
    page = SpeechPage(lang)
    page.open()
    part = page.listen
    assert "wenetspeech_zh" in part.about_model.value and "mandarin_voice" in page.speak.status.value
    assert not part.device.disabled and not part.play.disabled and page.speak.say.disabled
    assert part.trouble.value == ""
    part.play_sound()
    assert part.playing is not None and part.listening is not None
    part.playing.join(20)
    assert part.listening.join(20) and part.listening.state == "done"
    assert part.listening.heard > 1 and part.text.lines == [] and part.trouble.value == ""


def test_the_microphone_of_a_browser(model: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    model([0, 6, 0, 0])
    part = ListenPart("en")
    part.begin()
    assert "&lt;b&gt;bold" in part.about_model.value
    messages = sent(part.device, monkeypatch)
    say = part._device_said
    say(None, {"kind": "begin", "run": 1}, [])
    run = part.listening
    assert run is not None
    for seq in range(12):
        say(None, about(seq) | {"lost": 2 * (seq == 4)}, [memoryview(np.full(1600, 900, "<i2").tobytes())])
    assert "0.2 s" in part.trouble.value
    say(None, {"kind": "end", "run": 1}, [])
    assert run.join(20) and run.state == "done", run.error
    assert [line["text"] for line in part.text.lines] == ["一"] and part.text.partial == ""
    answered = [content["seq"] for content, _ in messages if content["kind"] == "ack"]
    assert answered == list(range(12))
    assert part.heat.data["frames"] > 20 and "so-tree" in part.tree.value
    say(None, about(12), [bytes(3200)])  # after the end: silence
    assert "0.2 s" in part.trouble.value

    say(None, {"kind": "begin", "run": 2}, [])
    say(None, about(0, run=2, dtype="float64"), [bytes(12800)])
    assert "float64" in part.trouble.value
    assert messages[-1][0] == {"kind": "stop"} and part.listening is not None and part.listening.join(20)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("why", ["denied", "none", "busy", "ended", "insecure", "failed", "<i>"])
def test_troubles_of_the_microphone_are_said(why: str, lang: str) -> None:
    part = ListenPart(lang)
    part._device_said(None, {"kind": "trouble", "why": why, "detail": "<b>"}, [])
    said = i18n.t(f"speech.mic.{why if why != '<i>' else 'failed'}", lang)
    assert said in part.trouble.value and "<b>" not in part.trouble.value and "alert" in part.trouble.value


def test_a_pulled_out_microphone_keeps_what_was_heard(model: Callable[..., str]) -> None:
    model([0, 6, 0, 0])
    part = ListenPart("en")
    part.begin()
    part._device_said(None, {"kind": "begin", "run": 1}, [])
    for seq in range(10):
        part._device_said(None, about(seq), [bytes(3200)])
    part._device_said(None, {"kind": "trouble", "why": "ended", "detail": ""}, [])
    part._device_said(None, {"kind": "end", "run": 1}, [])
    assert part.listening is not None and part.listening.join(20)
    assert [line["text"] for line in part.text.lines] == ["一"]
    assert "disconnected" in part.trouble.value or "silence" in part.trouble.value


def test_uploads_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("soundfile")
    part = ListenPart("en")
    part.begin()
    part.file.name, part.file.content = "<b>cut.wav", wav(tone(1.0))[:-50]
    part._file_said(None, {"ready": True}, [])
    assert "&lt;b&gt;cut.wav" in part.trouble.value and part.file.content == b""
    part._file_said(None, {"too_large": MOST_BYTES + 5}, [])
    assert "20,000,005" in part.trouble.value
    messages = sent(part.device, monkeypatch)
    part.upload(wav(tone(0.3, rate=8000), 8000), "fine.wav")
    assert part.trouble.value == "" and "8000 Hz" in part.said.value
    assert [content["kind"] for content, _ in messages].count("play") == 1
    assert part.listening is not None and part.listening.join(20)
    assert ("Your file: fine.wav", part.sound.value) in part.sound.options


def test_speaking(model: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the voice, which is another module's part: the way from a text to what is heard of it."""
    model([0, 6, 0, 0])
    monkeypatch.setattr(
        speak,
        "load_voice",
        lambda: SimpleNamespace(speak=lambda text, pace: (tone(0.5 / pace, rate=24000), 24000)),
    )
    listen = ListenPart("en")
    part = speak.SpeakPart("en", listen)
    listen.begin()
    part.begin()
    for text, said in (("", "Type"), ("hello", "Chinese"), ("一" * 31, "31 characters")):
        part.text.value = text
        part.speak()
        assert said in part.status.value and part.speaking is None
    messages = sent(listen.device, monkeypatch)
    part.text.value, part.pace.index = "一二", speak.PACES.index(1.0)
    part.speak()
    assert part.speaking is not None and part.speaking.join(20) and part.speaking.state == "done"
    assert part.speaking.samples is not None and part.speaking.samples.size == 8000
    assert ({"kind": "play", "rate": RATE}, 1) in messages
    assert "50.0 % of the characters are wrong" in part.heard.value and "一" in part.heard.value


def test_the_notebook_is_listed_with_the_microphone() -> None:
    path = Path(__file__).parents[4] / "webapp" / "pages" / "speech.ipynb"
    listed = json.loads(path.read_text("utf-8"))["metadata"]["sampan"]
    assert (listed["title"], listed["title_zh"], listed["microphone"]) == ("Speech", "语音", True)
    assert Line(0, "一", 1.0).text == "一" and voice.han("a一, 二!") == "一二"
