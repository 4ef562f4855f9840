"""Pictures and players of sound: what is drawn and stored, and what is refused."""

import base64
import io
import re
import wave

import numpy as np
import pytest

from sampan import visual


def test_a_short_wave_is_drawn_sample_by_sample():
    made = visual.waves({"one": [0.0, 0.5, -0.5], "two": [1.0]}, 2.0, "both")
    assert list(made.data[0].x) == [0.0, 0.5, 1.0] and list(made.data[0].y) == [0.0, 0.5, -0.5]
    assert [trace.name for trace in made.data] == ["one", "two"] and made.layout.title.text == "both"


def test_a_long_wave_keeps_its_extremes_and_its_length():
    samples = np.zeros(100_000)
    samples[54_321], samples[77_777] = 3.0, -2.0
    line = visual.waves({"long": samples}, 1000.0).data[0]
    assert len(line.x) <= 8_002 and max(line.y) == 3.0 and min(line.y) == -2.0
    assert abs(line.x[int(np.argmax(line.y))] - 54.3) < 0.1 and abs(line.x[-1] - 100) < 0.1


def test_a_matrix_is_colours_with_a_path_over_it():
    made = visual.heat([[1, 2, 3], [4, 5, 6]], ["a", "b", "c"], ["low", "high"], "m", ("x", "y"), ["low", "high", "high"])  # fmt: skip
    colours, line = made.data
    assert np.array(colours.z).tolist() == [[1, 2, 3], [4, 5, 6]] and list(colours.y) == ["low", "high"]
    assert list(line.x) == ["a", "b", "c"] and list(line.y) == ["low", "high", "high"]
    assert (made.layout.xaxis.title.text, made.layout.yaxis.title.text) == ("x", "y")
    assert list(visual.heat([[1, 2]], path=[0, 0]).data[1].x) == [0, 1]


def test_a_player_holds_the_sound_and_its_name_safely():
    shown = visual.players({"a <b> & 'c'": np.array([0.0, 0.25, -0.5])}, 8000)._repr_html_()
    assert "<b>" not in shown and "a &lt;b&gt; &amp; &#x27;c&#x27;" in shown
    stored = base64.b64decode(re.search(r'base64,([^"]*)"', shown).group(1))
    with wave.open(io.BytesIO(stored)) as held:
        assert (held.getframerate(), held.getnchannels(), held.getsampwidth()) == (8000, 1, 2)
        samples = np.frombuffer(held.readframes(9), "<i2") / 32767
    np.testing.assert_allclose(samples, [0.0, 0.45, -0.9], atol=1e-4)


def test_silence_can_be_played():
    assert "base64" in visual.players({"": np.zeros(4)}, 8000)._repr_html_()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: visual.waves({}, 1), "waves: sounds: expected at least one"),
        (lambda: visual.players({"a": [[0.0]]}, 1), r"players: a: expected samples \[time\]"),
        (lambda: visual.heat([1.0]), "heat: values: expected"),
        (lambda: visual.heat([[1.0]], x=[1, 2]), "heat: x: expected 1 entries, got 2"),
        (lambda: visual.heat([[1.0]], y=[]), "heat: y: expected 1"),
        (lambda: visual.heat([[1.0]], path=[1, 2]), "heat: path: expected 1"),
    ],
    ids=["no sound", "two axes", "one axis", "columns", "rows", "path"],
)
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
