"""Delays of text: by hand, by a simulation in small steps, and what is refused."""

import numpy as np
import pytest

from sampan import speech
from sampan.engine.errors import InvalidArgument


def test_the_first_sample_of_a_chunk_waits_longest():
    found = speech.text_delays([0.0, 0.05, 0.16, 0.31], 0.16, 0.045, [0.01, 0.02])
    np.testing.assert_allclose(found, [0.215, 0.165, 0.225, 0.075])


def test_a_slow_computer_is_later_with_every_chunk():
    found = speech.text_delays(np.arange(20) * 0.1, 0.1, 0.0, np.full(20, 0.15))
    np.testing.assert_allclose(np.diff(found), 0.05)


def test_as_a_simulation_in_steps_of_a_millisecond():
    rng = np.random.default_rng(3)
    work = rng.integers(5, 300, 12)  # ms
    finished, busy, waiting = [], 0, []
    for now in range(6000):
        if now % 120 == 0 and now and now // 120 <= 12:
            waiting.append((now + 45, work[now // 120 - 1]))
        if busy and now == busy:
            finished.append(now)
            busy = 0
        if not busy and waiting and waiting[0][0] <= now:
            busy = now + int(waiting.pop(0)[1])
    times = rng.uniform(0, 1.44, 50)
    expected = np.array(finished)[(times / 0.12).astype(int)] / 1000 - times
    np.testing.assert_allclose(speech.text_delays(times, 0.12, 0.045, work / 1000), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([0.2], 0.1, 0.0, [0.1, 0.1]), "times: expected moments of 2 chunks of 0.1 s, got 0.2 to 0.2 s"),
        (([-0.1], 0.1, 0.0, [0.1]), "got -0.1"),
        (([0.0], 0.0, 0.0, [0.1]), "got 0.0, 0.0"),
        (([0.0], 0.1, 0.0, [-0.1]), "-0.1 at least"),
    ],
    ids=["behind the end", "before the beginning", "no chunk", "negative work"],
)
def test_what_is_refused(given, words):
    with pytest.raises(InvalidArgument, match=words):
        speech.text_delays(*given)
