"""The Speech page in a real browser, whose microphone gives a recording: live text, a microphone that is refused or pulled
out, both languages, phone and dark."""

from __future__ import annotations

import math
import re
import wave
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from sampan import datasets, speech
from studio import i18n
from studio.paths import STATIC
from studio.views.speech import sounds
from studio.views.speech.recognition import streaming_models

pytestmark = pytest.mark.browser

OPENING_MS = 90_000
t = partial(i18n.t, lang="en")
RECOGNISES = bool(streaming_models()) and "audio_cmn" in datasets.available()


def recording() -> np.ndarray:
    """Real words where the data set is, else made vowels."""
    return next(each for each in sounds.sound_sets() if each.kind in ("words", "made")).sounds[0].load()


@pytest.fixture(scope="module")
def browser(launch_chromium: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("sound") / "words.wav"
    with wave.open(str(path), "wb") as held:
        held.setparams((1, 2, 16000, 0, "NONE", "NONE"))
        held.writeframes(np.round(recording() * 32767).astype("<i2").tobytes())
    fake = ("--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={path}")
    chromium = launch_chromium(*fake)
    yield chromium
    chromium.close()


def opened(page: Any, studio_url: str) -> Any:
    """The page, ready; the answer of the server."""
    # The front end reports shifts of the layout that nobody caused.
    page.add_init_script(
        "window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(e => "
        "{ if (!e.hadRecentInput) window.shift += e.value; })).observe({ type: 'layout-shift', buffered: true })"
    )
    answer = page.goto(studio_url + "studio/page/speech", wait_until="commit")
    page.wait_for_selector(".so-record:enabled", timeout=OPENING_MS)
    page.wait_for_function(
        "document.querySelectorAll('.sx-form .mod-primary')[0]?.disabled === false", timeout=OPENING_MS
    )
    return answer


def test_a_microphone_becomes_text(
    new_page: Callable[..., Any], studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    page = new_page(locale="en-US", permissions=["microphone"])
    page.add_init_script(
        "const real = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices);"
        "if (real) navigator.mediaDevices.getUserMedia = async (wanted) => (window.given = await real(wanted));"
    )
    answer = opened(page, studio_url)
    assert "microphone=(self)" in answer.headers["permissions-policy"]
    page.click(".so-record")
    page.wait_for_selector('.so-device[data-state="on"]')
    page.wait_for_function("+document.querySelector('.so-view').dataset.shown > 300", timeout=60_000)
    inked = page.evaluate(
        """() => { const sheet = document.querySelector('.so-view canvas');
        const bytes = sheet.getContext('2d').getImageData(0, 0, sheet.width, sheet.height).data;
        const seen = new Set(); for (let i = 0; i < bytes.length; i += 4) seen.add(bytes[i]); return seen.size; }"""
    )
    assert inked > 50  # the shades of a spectrogram
    if RECOGNISES:
        page.wait_for_selector(".so-text:not([data-lines='0'])", timeout=60_000)
        text = page.locator(".so-lines li").first.inner_text()
        assert re.search(r"[\u4e00-\u9fff]", text)
        page.wait_for_selector(".so-tree")
        assert int(page.locator(".so-heat").get_attribute("data-rows")) >= 2
        page.wait_for_selector('[data-figure="high"]')
        page.wait_for_function("+document.querySelector('.so-text').dataset.lines > 2", timeout=60_000)
    frame = page.locator(".so-view .so-frame").first
    frame.press("ArrowLeft")
    assert "dB" in page.locator(".so-readout").first.inner_text()
    page.get_by_role("heading", name=t("speech.heading.listen"), exact=True).evaluate(
        "it => it.scrollIntoView()"
    )
    screenshot(page, "speech", full_page=False)

    # Pulled out: what a browser does then, end the track and say so.
    page.evaluate("window.given.getAudioTracks()[0].dispatchEvent(new Event('ended'))")
    page.wait_for_selector('.so-device[data-state="idle"]')
    page.wait_for_function(
        "said => document.querySelector('.sx-form [role=alert]')?.innerText.includes(said)",
        arg=t("speech.mic.ended"),
    )
    page.get_by_role("button", name=t("speech.play"), exact=True).click()  # the rest goes on
    # Stopped in the same moment: it plays for two seconds only.
    page.wait_for_function(
        """name => {
            const stop = [...document.querySelectorAll('button')].find(one => one.innerText.trim() === name);
            const plays = document.querySelector('.so-device').dataset.playing === 'true';
            if (!plays || +document.querySelector('.so-view').dataset.frames <= 50 || stop.disabled) return false;
            stop.click();
            return true;
        }""",
        arg=t("speech.stop"),
    )
    page.wait_for_function("document.querySelector('.so-device').dataset.playing === 'false'")
    assert page.evaluate("window.shift") < 0.1
    assert axe(page) == []
    no_sideways(page)


def test_a_refused_microphone_on_a_phone_in_chinese(
    phone: Any, studio_url: str, axe: Callable, no_sideways: Callable, screenshot: Callable
) -> None:
    opened(phone, studio_url)
    phone.click(".so-record")
    phone.wait_for_selector(".sx-form [role=alert]")
    assert i18n.t("speech.mic.denied", "zh") in phone.locator(".sx-form [role=alert]").inner_text()
    assert phone.locator(".so-device").get_attribute("data-state") == "idle"
    phone.get_by_role("button", name=i18n.t("speech.play", "zh"), exact=True).click()
    phone.wait_for_function("+document.querySelector('.so-view').dataset.frames > 50")
    if RECOGNISES:
        phone.wait_for_selector(".so-tree", timeout=60_000)
        phone.wait_for_selector(".so-text:not([data-lines='0'])", timeout=60_000)
    assert axe(phone) == []
    no_sideways(phone)
    screenshot(phone, "speech-phone-zh-dark")


@pytest.mark.parametrize("rate", [48000, 44100, 22050, 8000])
def test_the_resampler_of_the_browser(rate: int, browser: Any) -> None:
    """Against the library's, which is torchaudio's; in pieces of 128, as the audio thread has them."""
    source = (STATIC / "sound_worklet.js").read_text("utf-8")
    stand_ins = "class AudioWorkletProcessor {}; const registerProcessor = () => {}, sampleRate = 1;"
    time = np.arange(rate // 2) / rate
    given = np.sin(2 * math.pi * np.outer([210, 997, 2500], time)).sum(0).astype(np.float32) / 4
    program = f"""(all) => {{ {stand_ins} {source}
        const resampler = new Resampler({rate}, 16000), made = [];
        for (let at = 0; at < all.length; at += 128) made.push(...resampler.feed(all.slice(at, at + 128)));
        return made; }}"""
    page = browser.new_page()
    made = np.array(page.evaluate(program, given.tolist()), np.float32)
    page.close()
    expected = speech.resample(given, rate, 16000, zeros=32).numpy()
    assert 0 <= len(expected) - len(made) < 80  # the taps of the last results have not arrived
    np.testing.assert_allclose(made[200:], expected[200 : len(made)], atol=2e-3)
