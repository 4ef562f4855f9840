"""The page "Fleet" without a browser: the planner, and what the server's part shows."""

from __future__ import annotations

import json

import pytest

from sampan.distributed.parameter_server.planner import Costs, plan
from studio.server.fleet import drawn
from studio.views.fleet import planner, trial
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
        part = planner.PlannerPart("en")
        assert said in part.root.children[1].children[-1].children[-1].value
        assert ("actors" in [kind for _, kind in part.kind.options]) == (found is not None)


def test_two_real_shards_beside_the_plan() -> None:
    part = planner.PlannerPart("en")
    part.costs, part.kind.value = Costs(1e-4, 1e-9, 1e-7), "in process"
    part.rows.value, part.ids.value, part.dim.value = 5000, 10**7, 4096
    part.try_it()
    part.wait()
    assert 'data-tried="in process"' in part.tried.value
    assert " of 976 in a batch" in part.tried.value  # 4,000,000 numbers at most
    found = trial.tried("in process", 10**8, 8, 5000, "Adam", True, part.costs)
    expected = plan(10**8, 8, 5000, "Adam", half=True, costs=part.costs, bandwidth=1e15, shards=2)
    assert found.planned == expected.steps_per_second
    assert abs(found.different / expected.ids_per_step - 1) < 0.1
    assert found.measured > 0
    part.kind.options = [("nowhere", "nowhere")]
    part.try_it()
    part.wait()
    assert "expected one of in process" in part.tried.value


def test_a_curve_has_its_steps_across_and_the_steps_that_were_computed_again() -> None:
    assert drawn([], 10) is None
    curve = drawn([(1, 2.0), (10, 1.0)], 10, 100, 21, [{"at": 8, "again": 3, "seconds": 1, "time": 1}])
    assert curve is not None
    assert curve.points == "10.0,1.9 100.0,11.0"
    assert (curve.high, curve.last, curve.step, curve.gaps) == (2.1, 1.0, 10, ((50.0, 30.0),))
