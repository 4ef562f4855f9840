"""How long the processes of a pipeline waited."""

import pytest

from sampan.distributed.pipeline import Report
from sampan.distributed.pipeline.schedule import formula, order, simulate


def report():
    timed = simulate([order(rank, 4, 8) for rank in range(4)], lambda action: 0.001)
    return Report(
        [[each._replace(start=each.start + 5, end=each.end + 5) for each in done] for done in timed], 8
    )


def test_shares_of_a_step():
    found = report()
    assert found.seconds == pytest.approx(0.022)
    assert found.bubble == pytest.approx(3 / 11) == found.formula == formula(4, 8)
    for use in found.stages:
        assert use.busy == pytest.approx(0.016)
        assert use.idle == pytest.approx(0.006)
    assert repr(found).splitlines() == [
        "Pipeline of 4 processes, 8 micro-batches: 22.0 ms, bubble 27.3%, by the formula 27.3%",
        *(f"  process {rank}: computes 16.0 ms, waits 6.0 ms" for rank in range(4)),
    ]


def test_passes_are_replayed_with_the_seconds_of_their_threads():
    slow = report().timed[:]
    slow[1] = [each._replace(end=each.end + 1) for each in slow[1]]  # another program used the processor
    found = Report([[each._replace(cpu=0.003) for each in done] for done in slow], 8)
    assert found.bubble != pytest.approx(found.formula)
    assert found.replayed == pytest.approx(found.formula)


def test_the_figure_has_a_bar_for_each_pass():
    found = report()
    forward, backward = found.figure().data
    assert (forward.name, backward.name) == ("forward", "backward")
    bars = {
        (kind, row, int(text)): (base, base + width)
        for kind, drawn in (("F", forward), ("B", backward))
        for row, text, base, width in zip(drawn.y, drawn.text, drawn.base, drawn.x, strict=True)
    }
    for rank, done in enumerate(found.timed):
        for each in done:
            start, end = bars.pop((each.kind, f"process {rank}", each.micro))
            assert (start, end) == pytest.approx((each.start * 1e3, each.end * 1e3))
    assert not bars
