"""The page "Fleet" without a browser: the planner, and what the server's part shows."""

from __future__ import annotations

import json

import pytest

from sampan.distributed.parameter_server.planner import Costs, plan
from studio.server.fleet import drawn
from studio.views.fleet import planner
from studio.views.fleet.page import FleetPage


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_planner_shows_the_librarys_plan(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = Costs(1e-4, 1e-9, 1e-7)
    monkeypatch.setattr(Costs, "measured", classmethod(lambda cls, rounds: costs))
    page = FleetPage(lang)
    part = page.planner
    assert page.workers.live.path == "fleet/live"
    part.begin()
    part.wait()
    made = plan(10**9, 64, 40_000, "Adam", 256e9, costs=costs, bandwidth=1.25e9)
    assert part.plan == made
    assert f'data-machines="{made.shards}"' in part.result.value
    assert not part.status.value
    first = json.loads(part.plot.figure)["data"]
    at = first[0]["x"].index(made.shards)
    assert first[0]["y"][at] == made.steps_per_second
    assert first[1]["y"][at] > first[0]["y"][at]  # half the bytes
    assert first[2]["x"] == [made.shards] * 2

    part.rule.value, part.half.value = "SGD", True
    part.wait()
    assert part.plan == plan(10**9, 64, 40_000, "SGD", 256e9, half=True, costs=costs, bandwidth=1.25e9)
    part.rows.value = 2
    part.wait()
    assert part.plan.shards == 1


def test_without_ray_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for found, said in ((None, "Ray is not installed"), (object(), "Ray is installed")):
        monkeypatch.setattr(planner, "find_spec", lambda name, found=found: found)
        form = planner.PlannerPart("en").root.children[0]
        assert said in form.children[-1].value


def test_a_curve_has_its_steps_across_and_the_steps_that_were_computed_again() -> None:
    assert drawn([], 10) is None
    curve = drawn([(1, 2.0), (10, 1.0)], 10, 100, 21, [{"at": 8, "again": 3, "seconds": 1, "time": 1}])
    assert curve is not None
    assert curve.points == "10.0,1.9 100.0,11.0"
    assert (curve.high, curve.last, curve.step, curve.gaps) == (2.1, 1.0, 10, ((50.0, 30.0),))
